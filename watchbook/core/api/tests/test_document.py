"""The document of the API: refusals beside answers, one shape per name; and answers that are held to it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from ninja import Router

from watchbook.core.accounts.models import User
from watchbook.core.api.schemas import Answer
from watchbook.core.api.shell import Shell
from watchbook.core.api.tests import desk

pytestmark = [pytest.mark.django_db, pytest.mark.urls("watchbook.core.api.tests.desk")]


def document() -> Any:
    return desk.api.get_openapi_schema(path_prefix="/api/")


def shape_at(path: str, method: str, status: int) -> str:
    answer = document()["paths"][path][method]["responses"][status]
    reference: str = answer["content"]["application/json"]["schema"]["$ref"]
    return reference.rpartition("/")[2]


def test_refusals_stand_beside_the_answer() -> None:
    answers = document()["paths"]["/api/v1/desk/named/{extra}"]["get"]["responses"]
    assert list(answers) == [200, 401, 403, 404, 409, 422, 429]
    assert shape_at("/api/v1/desk/named/{extra}", "get", 200) == "Named"
    assert {shape_at("/api/v1/desk/named/{extra}", "get", status) for status in list(answers)[1:]} == {"Refusal"}


def test_every_operation_declares_that_it_refuses_unknown_input() -> None:
    paths = document()["paths"]
    assert list(paths["/api/v1/desk/who"]["get"]["responses"]) == [200, 401, 403, 422, 429]
    assert list(paths["/api/v1/desk/things"]["post"]["responses"]) == [200, 401, 403, 413, 422, 429]


def test_system_with_an_envelope_of_its_own_declares_that() -> None:
    assert shape_at("/api/v1/own/fail", "get", 401) == "OwnRefusal"


def test_key_that_is_not_declared_is_a_mistake_of_ours(alice: User, with_token: Any) -> None:
    client: Client = with_token(alice)
    client.raise_request_exception = False
    assert client.get("/api/v1/desk/named/no").json() == {"name": "x"}
    answer = client.get("/api/v1/desk/named/more")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")


def test_no_two_shapes_have_one_name() -> None:
    router = Router()
    for number, kind in enumerate((int, str)):
        shape = type("Same", (Answer,), {"__annotations__": {"value": kind}})
        router.get(f"/{number}", response=shape)(lambda request: None)
    api = Shell(urls_namespace="two-shapes")
    api.add_router("", router)
    with pytest.raises(TypeError, match="are called Same"):
        api.get_openapi_schema(path_prefix="/api/")
