"""Who gets in: tokens and sessions, scopes, CSRF, pace."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client, override_settings

from watchbook.base import clock
from watchbook.base.testing.people import client_of
from watchbook.core.accounts import tokens
from watchbook.core.accounts.models import ApiToken, User
from watchbook.core.api import auth

pytestmark = [pytest.mark.django_db, pytest.mark.urls("watchbook.core.api.tests.desk")]

JSON = "application/json"


def test_token_brings_its_owner(alice: User, with_token: Any) -> None:
    assert with_token(alice).get("/api/v1/desk/who").json() == {"email": "alice@example.com"}


def test_without_a_token_the_answer_is_401_in_json(client: Client) -> None:
    for method in ("get", "post", "put", "delete", "patch"):
        answer = getattr(client, method)("/api/v1/desk/things")
        assert answer.status_code in {401, 405}
        assert set(answer.json()["error"]) >= {"code", "message"}
    answer = client.get("/api/v1/desk/who")
    assert (answer.status_code, answer["WWW-Authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        "Bearer wb_short",
        "Bearer " + "é" * 54,
        "Bearer " + "x" * 100_000,
        "wb_" + "a" * 51,
        "Bearer wb_\x00",
    ],
)
def test_wrong_header_is_401_even_with_a_session(header: str, alice: User) -> None:
    client = client_of(alice)
    assert client.get("/api/v1/desk/who", HTTP_AUTHORIZATION=header).status_code == 401


def test_token_in_the_query_is_ignored(alice: User, client: Client) -> None:
    _token, plain = tokens.make(alice, ["read"])
    for name in ("token", "access_token", "key"):
        assert client.get("/api/v1/desk/who", {name: plain}).status_code == 401


def test_revoked_expired_and_feed_tokens_are_401(alice: User, with_token: Any) -> None:
    client = with_token(alice)
    ApiToken.objects.update(expires_at=clock.ago(seconds=1))
    assert client.get("/api/v1/desk/who").status_code == 401
    ApiToken.objects.update(expires_at=None, purpose="feed")
    assert client.get("/api/v1/desk/who").status_code == 401
    ApiToken.objects.update(purpose="api", revoked_at=clock.now())
    assert client.get("/api/v1/desk/who").status_code == 401


@pytest.mark.parametrize(
    ("scopes", "expected"),
    [
        (["read"], (200, 403, 403, 403, 403)),
        (["write"], (403, 200, 403, 403, 403)),
        (["read", "write"], (200, 200, 403, 403, 403)),
        (["notes"], (403, 403, 200, 403, 403)),
        (["read", "staff"], (200, 403, 403, 200, 403)),
        (["staff"], (403, 403, 403, 403, 403)),
        (["read", "write", "staff", "notes"], (200, 200, 200, 200, 200)),
    ],
)
def test_scopes(scopes: list[str], expected: tuple[int, ...], operator: User, with_token: Any) -> None:
    client = with_token(operator, *scopes)
    answers = (
        client.get("/api/v1/desk/who"),
        client.post("/api/v1/desk/things", {"name": "x"}, JSON),
        client.post("/api/v1/desk/notes"),
        client.get("/api/v1/desk/staff"),
        client.post("/api/v1/desk/staff"),
    )
    assert tuple(answer.status_code for answer in answers) == expected


def test_wildcard_in_a_row_opens_nothing(alice: User, with_token: Any) -> None:
    client = with_token(alice)
    ApiToken.objects.update(scopes=["*", "read *", "all"])
    assert client.get("/api/v1/desk/who").status_code == 403


def test_demoted_operator_loses_the_staff_endpoints_immediately(operator: User, with_token: Any) -> None:
    client = with_token(operator, "read", "staff")
    assert client.get("/api/v1/desk/staff").status_code == 200
    User.objects.update(is_staff=False)
    assert client.get("/api/v1/desk/staff").status_code == 403


def test_session_reads_and_needs_csrf_to_change(alice: User) -> None:
    client = client_of(alice, csrf=True)
    assert client.get("/api/v1/desk/who").status_code == 200
    refused = client.post("/api/v1/desk/things", {"name": "x"}, JSON)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "csrf")
    with override_settings(ROOT_URLCONF="watchbook.project.urls"):  # its bar leads to rooms that this desk has not
        assert client.get("/api/docs").status_code == 200
    token = client.cookies["watchbook_csrf"].value
    taken = client.post("/api/v1/desk/things", {"name": "x"}, JSON, HTTP_X_CSRFTOKEN=token)
    assert taken.status_code == 200


def test_member_session_is_no_staff(alice: User, operator: User) -> None:
    assert client_of(alice).get("/api/v1/desk/staff").status_code == 403
    assert client_of(operator).get("/api/v1/desk/staff").status_code == 200


def test_pace_is_per_token(alice: User, bob: User, with_token: Any, monkeypatch: Any, noon: Any) -> None:
    monkeypatch.setenv("WATCHBOOK_API_PER_MINUTE", "5")
    client, other = with_token(alice), with_token(bob)
    assert [client.get("/api/v1/desk/who").status_code for _ in range(7)] == [200] * 5 + [429] * 2
    refused = client.get("/api/v1/desk/who")
    assert refused.json()["error"]["code"] == "too_many_requests"
    assert 1 <= int(refused["Retry-After"]) <= 60
    assert other.get("/api/v1/desk/who").status_code == 200
    from datetime import timedelta

    with clock.set_to(noon + timedelta(minutes=1)):
        assert client.get("/api/v1/desk/who").status_code == 200


def test_pace_survives_a_restart(alice: User, with_token: Any, monkeypatch: Any, noon: Any) -> None:
    monkeypatch.setenv("WATCHBOOK_API_PER_MINUTE", "5")
    client = with_token(alice)
    for _ in range(5):
        client.get("/api/v1/desk/who")
    auth.forget_all()
    assert client.get("/api/v1/desk/who").status_code == 429


def test_pace_costs_no_write_per_request(noon: Any, django_assert_max_num_queries: Any, alice: User) -> None:
    auth.enforce_rate_limit("somebody")
    with django_assert_max_num_queries(0):
        for _ in range(29):
            auth.enforce_rate_limit("somebody")


def test_pace_never_grants_more_than_the_limit(noon: Any, monkeypatch: Any, alice: User) -> None:
    monkeypatch.setenv("WATCHBOOK_API_PER_MINUTE", "50")
    granted = 0
    for n in range(80):
        if n % 7 == 0:
            auth.forget_all()  # another process, with an empty hand
        try:
            auth.enforce_rate_limit("somebody")
            granted += 1
        except auth.TooMany:
            pass
    assert 0 < granted <= 50
