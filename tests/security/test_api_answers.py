"""Every response has the schema that the OpenAPI document declares, with real rows of all systems."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import settings as django_settings

from tests.api_document import openapi_document
from tests.security.api_world import Operation, World, alice, operations, prepared, real_paths, world
from tests.security.sample_rows import rows_of
from tests.security.schema_check import answer_faults, faults, read_body
from watchbook.base.testing.people import client_of
from watchbook.core.jobs.models import JobRun

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.sql,  # every reading query of the API, on every database
    # ninja warns of answers that are pairs; one day it will not take them any more.
    pytest.mark.filterwarnings("error:Returning tuple:DeprecationWarning"),
]

__all__ = ["alice", "prepared", "world"]

# These have tests of their own: they need a saved item, indexed posts, or return a file of another type.
OWN_TESTS = {
    "/api/v1/library/pages/{page_id}/source",
    "/api/v1/nga/search",
    "/api/v1/nga/threads/{tid}/export",
}
GETS = [operation for operation in operations() if operation.method == "get" and operation.path not in OWN_TESTS]
STARTS = [operation for operation in operations() if 202 in operation.responses]
# What must be asked for, so that a list is not empty.
ASKED = {
    "/api/v1/search": "?q=lantern",
    "/api/v1/library/search": "?q=fil",
    "/api/v1/reddit/metrics": "?days=5",
}
# What must be sent, where an empty body starts nothing.
SENT = {"/api/v1/nga/threads": '{"topic": "45150001"}'}


@pytest.fixture
def whole(world: World, alice: Any) -> World:
    """Alice is an operator as well: there is nothing that she may not read."""
    alice.is_staff = True
    alice.save(update_fields=["is_staff"])
    world.browser = client_of(alice)
    return world


@pytest.mark.parametrize("operation", GETS, ids=str)
def test_read_operation_returns_the_declared_schema(operation: Operation, whole: World) -> None:
    filled = []
    for path in real_paths(operation, whole):
        answer = whole.browser.get(path + ASKED.get(operation.path, ""))
        body = read_body(answer)
        assert answer.status_code == 200, body[:300]
        assert answer_faults(operation, answer, body) == []
        is_json = answer.headers["Content-Type"].startswith("application/json")
        filled.append(not is_json or bool(json.loads(body).get("items", "no list")))
    assert any(filled), "a list without rows proves nothing"


@pytest.mark.parametrize("operation", STARTS, ids=str)
def test_operation_that_starts_a_job_returns_the_run(operation: Operation, whole: World) -> None:
    asked = {"data": SENT.get(operation.path, "{}"), "content_type": "application/json"}
    answer = whole.browser.post(real_paths(operation, whole)[0], **asked)
    assert answer.status_code == 202, answer.content[:300]
    assert answer_faults(operation, answer, answer.content) == []
    run = answer.json()
    assert (run["id"], run["name"], run["state"]) == (*JobRun.objects.values_list("pk", "name").latest("pk"), "queued")
    assert run["url"].startswith(django_settings.PUBLIC_URL)
    assert whole.browser.get(run["url"].removeprefix(django_settings.PUBLIC_URL)).json() == run


def test_member_can_read_the_run_of_an_own_check(world: World, bob: Any) -> None:
    run = world.browser.post(f"/api/v1/sitemaps/monitors/{world.ids['monitor_id'][0]}/check").json()
    path = run["url"].removeprefix(django_settings.PUBLIC_URL)
    assert world.browser.get(path).json() == run
    assert client_of(bob).get(path).status_code == 404


def test_operations_that_start_jobs_are_known() -> None:
    assert {str(operation) for operation in STARTS} == {
        "post /api/v1/jobs/{name}/run",
        "post /api/v1/nga/audit",
        "post /api/v1/nga/crawl",
        "post /api/v1/nga/threads",
        "post /api/v1/nga/threads/{tid}/read",
        "post /api/v1/pages/sites/{site_id}/check",
        "post /api/v1/pages/{page_id}/check",
        "post /api/v1/sitemaps/monitors/{monitor_id}/check",
    }


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({}, ".error is missing"),
        ({"error": {"code": "x"}}, ".error.message is missing"),
        ({"error": {"code": 1, "message": "x"}}, ".error.code: 1 is no string"),
        ({"error": {"code": "x", "message": None}}, ".error.message: None is no string"),
        ({"error": {"code": "x", "message": "x"}, "more": 1}, ".more is not declared"),
        ([], "the answer: [] is no object"),
    ],
)
def test_invalid_response_is_found(value: Any, fault: str) -> None:
    assert list(faults(value, openapi_document()["components"]["schemas"]["Refusal"])) == [fault]


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("yesterday", {"type": "string", "format": "date-time"}),
        ("x", {"type": "string", "format": "uuid"}),
        (True, {"type": "integer"}),
        (1, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ([1, None], {"type": "array", "items": {"type": "integer"}}),
        ({"a": "x"}, {"type": "object", "additionalProperties": {"type": "integer"}}),
        ("c", {"enum": ["a", "b"]}),
        ("1,0", {"type": "string", "pattern": r"^\d+\.\d+$"}),
    ],
)
def test_invalid_value_is_found(value: Any, schema: dict[str, Any]) -> None:
    assert len(list(faults(value, schema))) == 1


def test_system_without_sample_rows_is_named() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"systems/tides/tests/furnish\.py is missing"):
        rows_of("watchbook.systems.tides", None)
