"""Every answer is of the shape that the document declares, asked with real rows of all systems."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import settings as django_settings

from tests.security.api_world import Operation, World, operations, real_paths, world
from tests.security.conforming import answer_faults, document, faults, read_body
from tests.security.furnished import furnish_more
from watchbook.base.testing.people import client_of
from watchbook.core.jobs.models import JobRun

pytestmark = [
    pytest.mark.django_db,
    # ninja warns of answers that are pairs; one day it will not take them any more.
    pytest.mark.filterwarnings("error:Returning tuple:DeprecationWarning"),
]

__all__ = ["world"]

GETS = [operation for operation in operations() if operation.method == "get"]
STARTS = [operation for operation in operations() if 202 in operation.responses]
# What must be asked for, so that a list is not empty.
ASKED = {"/api/v1/search": "?q=lantern", "/api/v1/reddit/metrics": "?days=5"}


@pytest.fixture
def whole(world: World, alice: Any) -> World:
    """Alice is an operator as well: there is nothing that she may not read."""
    alice.is_staff = True
    alice.save(update_fields=["is_staff"])
    furnish_more(alice)
    world.browser = client_of(alice)
    return world


@pytest.mark.parametrize("operation", GETS, ids=str)
def test_what_is_read_is_as_declared(operation: Operation, whole: World) -> None:
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
def test_whatever_starts_work_answers_the_run_and_where_it_is(operation: Operation, whole: World) -> None:
    asked = {"data": "{}", "content_type": "application/json"}
    answer = whole.browser.post(real_paths(operation, whole)[0], **asked)
    assert answer.status_code == 202, answer.content[:300]
    assert answer_faults(operation, answer, answer.content) == []
    run = answer.json()
    assert (run["id"], run["name"], run["state"]) == (*JobRun.objects.values_list("pk", "name").latest("pk"), "queued")
    assert run["url"].startswith(django_settings.PUBLIC_URL)
    assert whole.browser.get(run["url"].removeprefix(django_settings.PUBLIC_URL)).json() == run


def test_a_member_may_look_at_the_run_of_her_own_check(world: World, bob: Any) -> None:
    run = world.browser.post(f"/api/v1/sitemaps/monitors/{world.ids['monitor_id'][0]}/check").json()
    path = run["url"].removeprefix(django_settings.PUBLIC_URL)
    assert world.browser.get(path).json() == run
    assert client_of(bob).get(path).status_code == 404


def test_work_is_started_in_these_places() -> None:
    assert {str(operation) for operation in STARTS} == {
        "post /api/v1/jobs/{name}/run",
        "post /api/v1/nga/audit",
        "post /api/v1/nga/crawl",
        "post /api/v1/nga/threads/{tid}/read",
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
def test_a_wrong_answer_would_be_noticed(value: Any, fault: str) -> None:
    assert list(faults(value, document()["components"]["schemas"]["Refusal"])) == [fault]


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
def test_a_wrong_value_would_be_noticed(value: Any, schema: dict[str, Any]) -> None:
    assert len(list(faults(value, schema))) == 1
