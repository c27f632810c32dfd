"""Every refusal looks the same; bodies are read strictly; answers carry tags; the documentation is local."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from watchbook.base.testing.people import client_of
from watchbook.core.accounts.models import User

pytestmark = [pytest.mark.django_db, pytest.mark.urls("watchbook.core.api.tests.desk")]

JSON = "application/json"
THINGS = "/api/v1/desk/things"


@pytest.fixture
def program(alice: User, with_token: Any) -> Client:
    client: Client = with_token(alice)
    client.raise_request_exception = False
    return client


@pytest.mark.parametrize(
    ("what", "status", "code"),
    [
        ("missing", 404, "not_found"), ("row", 404, "not_found"), ("conflict", 409, "version_conflict"),
        ("locked", 423, "wrong_release_channel"), ("model", 422, "invalid"), ("bug", 500, "internal"),
        ("unforeseen-key", 500, "internal"), ("full", 503, "unavailable"),
    ],
)  # fmt: skip
def test_refusal_is_an_envelope(what: str, status: int, code: str, program: Client) -> None:
    answer = program.get(f"/api/v1/desk/raise/{what}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert "secret" not in answer.content.decode()
    assert "Traceback" not in answer.content.decode()


def test_database_that_fails_is_a_pause(program: Client) -> None:
    answer = program.get("/api/v1/desk/raise/full")
    assert answer.headers["Retry-After"] == "5"
    assert answer.json()["error"]["details"]["request_id"]


def test_details_are_kept(program: Client) -> None:
    assert program.get("/api/v1/desk/raise/conflict").json()["error"]["details"] == {"version": 3}
    assert program.get("/api/v1/desk/raise/bug").json()["error"]["details"]["request_id"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/api/nothing",
        "/api/v2/x/y",
        "/api/v1/desk/who/",
        "/api/%00",
        "/api/v1/desk/raise/a/b",
    ],
)
def test_unknown_address_is_404_in_json_for_everybody(path: str, program: Client, alice: User) -> None:
    for client in (Client(), program, client_of(alice)):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_wrong_method_is_405(program: Client) -> None:
    answer = program.delete(THINGS)
    assert (answer.status_code, answer.json()["error"]["code"], answer["Allow"]) == (405, "method_not_allowed", "POST")


def test_system_may_bring_its_own_envelope(program: Client) -> None:
    assert program.get("/api/v1/own/fail").json() == {"success": False, "error": {"code": "E1", "status": 422}}
    assert Client().get("/api/v1/own/fail").json() == {
        "success": False,
        "error": {"code": "not_signed_in", "status": 401},
    }


@pytest.mark.parametrize(
    "body",
    [
        "", "{", "[]", "null", '"x"', "12", "{}", '{"name": 3}', '{"name": "x", "size": "many"}',
        '{"name": "x", "size": 1.5}',
        '{"name": "x", "size": NaN}', '{"name": "x", "size": Infinity}', '{"name": "x", "more": {"a": 1e999}}',
        "[" * 100_000, '{"name": "x", "more": ' + '{"a":' * 500 + "1" + "}" * 500 + "}",
        '{"name": "x", "size": ' + "9" * 5000 + "}",
        "\ufeff{}", "{}{}", "a" * 1000,
    ],
)  # fmt: skip
def test_body_that_is_not_right_is_422(body: str, program: Client) -> None:
    answer = program.post(THINGS, body.encode(), JSON)
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] in {"invalid", "invalid_json"}


def test_bytes_that_are_not_utf8_are_422(program: Client) -> None:
    assert program.post(THINGS, b'{"name": "\xff\xfe"}', JSON).status_code == 422


def test_field_that_is_wrong_is_named_and_its_value_is_not_echoed(program: Client) -> None:
    answer = program.post(THINGS, {"size": "sentinel-value"}, JSON)
    assert {detail["field"] for detail in answer.json()["error"]["details"]} == {"name", "size"}
    assert "sentinel-value" not in answer.content.decode()


def test_text_is_made_fit_for_every_database(program: Client) -> None:
    answer = program.post(THINGS, b'{"name": "a \\u000bb\\ud800c", "more": {"k": ["two \\u0001words"]}}', JSON)
    assert answer.json() == {"made": "a b\ufffdc", "more": {"k": ["two words"]}}
    refused = program.post(THINGS, b'{"name": "a\\u0000b", "more": {"k\\u0000": 1, "l": ["\\u0001x"]}}', JSON)
    assert [each["field"] for each in refused.json()["error"]["details"]] == ["name", "more.k", "more.l.0"]


def test_large_body_is_413(program: Client) -> None:
    answer = program.post(THINGS, json.dumps({"name": "x" * (5 * 1024 * 1024)}), JSON)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    assert program.post(THINGS, b"{}", JSON, CONTENT_LENGTH="99999999999").status_code == 413


def test_answer_that_did_not_change_is_304(program: Client) -> None:
    first = program.get("/api/v1/desk/who")
    tag = first["ETag"]
    for held in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = program.get("/api/v1/desk/who", HTTP_IF_NONE_MATCH=held)
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", tag)
    assert program.get("/api/v1/desk/who", HTTP_IF_NONE_MATCH='"other"').status_code == 200
    assert "ETag" not in program.post(THINGS, {"name": "x"}, JSON)
    assert "ETag" not in program.get("/api/v1/desk/raise/missing")


def test_every_answer_has_a_request_id(program: Client) -> None:
    assert program.get("/api/v1/desk/who", HTTP_X_REQUEST_ID="abc-1")["X-Request-ID"] == "abc-1"
    assert program.get("/api/nothing")["X-Request-ID"]


def test_schema_is_for_sessions_and_tokens(alice: User, program: Client) -> None:
    assert Client().get("/api/openapi.json").status_code == 401
    assert client_of(alice).get("/api/openapi.json").status_code == 200
    schema = program.get("/api/openapi.json").json()
    assert "/api/v1/desk/who" in schema["paths"]
    assert schema["components"]["securitySchemes"]
