from __future__ import annotations

import json

import pytest
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.test import Client, RequestFactory
from django.utils import translation

from watchbook.base.testing.people import client_of
from watchbook.kit import errors

HANDLERS = {
    errors.bad_request: 400,
    errors.not_allowed: 403,
    errors.csrf_failure: 403,
    errors.not_found: 404,
    errors.server_error: 500,
}


def ask(handler, path="/somewhere"):
    request = RequestFactory().get(path)
    request.request_id = "9f2c61d0"
    return handler(request)


@pytest.mark.parametrize(("handler", "status"), HANDLERS.items())
def test_error_says_what_happened_what_it_means_and_what_to_do(handler, status):
    answer = ask(handler)
    assert answer.status_code == status
    assert answer.text.count("<p>") >= 2
    assert "9f2c61d0" in answer.text


@pytest.mark.parametrize(("handler", "status"), HANDLERS.items())
def test_program_gets_the_envelope(handler, status):
    answer = ask(handler, "/api/v1/nothing")
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/json"
    told = json.loads(answer.content)["error"]
    assert told["request_id"] == "9f2c61d0"
    assert told["code"]
    assert told["message"]


def test_server_error_needs_neither_database_nor_session():
    class Broken:
        def __getattr__(self, name):
            raise AssertionError(f"asked for {name}")

    request = RequestFactory().get("/x")
    request.user = request.session = Broken()
    with connection.execute_wrapper(lambda *_: pytest.fail("a query was made")):
        assert errors.server_error(request).status_code == 500


def test_error_is_written_in_the_readers_language():
    with translation.override("zh-hans"):
        assert '<html lang="zh-Hans">' in ask(errors.server_error).text
        assert "服务器错误" in ask(errors.server_error).text


def test_reason_of_a_refusal_is_not_shown():
    request = RequestFactory().get("/x")
    assert "secret reason" not in errors.not_allowed(request, PermissionDenied("secret reason")).text


@pytest.mark.django_db
@pytest.mark.usefixtures("systems")
def test_unknown_address_keeps_the_menu_for_a_reader(alice):
    client = Client()
    client.force_login(alice)
    answer = client.get("/nothing/here/", headers={"Accept-Language": "en"})
    assert answer.status_code == 404
    assert 'class="topbar"' in answer.text
    assert "Page not found" in answer.text
    assert "or use the search" in answer.text


@pytest.mark.django_db
def test_stranger_at_an_unknown_address_is_not_sent_to_a_search(client):
    answer = client.get("/nothing/here/", headers={"Accept-Language": "en"})
    assert answer.status_code == 404
    assert "Check the address, or sign in." in answer.text
    assert "search" not in answer.text


@pytest.mark.django_db
def test_error_page_does_not_repeat_an_address_that_may_hold_a_key(alice):
    for client in (Client(), client_of(alice)):
        answer = client.get("/library/shared/made-up-key-of-nobody/?token=another-made-up-key")
        assert answer.status_code == 404
        assert b"made-up-key" not in answer.content


@pytest.mark.django_db
def test_wrong_host_is_a_bad_request():
    answer = Client().get("/keys/", headers={"Host": "evil.example"})
    assert answer.status_code == 400
    assert "evil.example" not in answer.text
