"""The whole API refuses what it does not know: every unknown query parameter and body field is answered by name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api_document import openapi_document
from tests.security.api_world import Operation, World, alice, operations, prepared, real_paths, world
from watchbook.base.testing.people import client_of

pytestmark = [pytest.mark.django_db]
__all__ = ["alice", "prepared", "world"]

OPERATIONS = operations()
WITH_BODY = [operation for operation in OPERATIONS if operation.properties is not None]
STRANGE = "no_such_name"


@pytest.fixture
def whole(world: World, alice: Any) -> World:
    alice.is_staff = True
    alice.save(update_fields=["is_staff"])
    world.browser = client_of(alice)
    return world


def invalid_status(operation: Operation) -> int:
    return 400 if operation.path.startswith("/api/v1/notes/") else 422


def named(answer: Any) -> list[str]:
    return [each["field"] for each in answer.json()["error"]["details"]]


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_unknown_query_parameter_is_refused_by_name(operation: Operation, whole: World) -> None:
    path = real_paths(operation, whole)[0]
    answer = whole.browser.generic(operation.method.upper(), f"{path}?{STRANGE}=1", b"", "application/json")
    assert answer.status_code == invalid_status(operation), answer.content[:300]
    assert named(answer) == [STRANGE]


@pytest.mark.parametrize("operation", WITH_BODY, ids=str)
def test_unknown_body_field_is_refused_by_name(operation: Operation, whole: World) -> None:
    path = real_paths(operation, whole)[0]
    if "file" in (operation.properties or ()):
        answer = whole.browser.post(path, {STRANGE: "1"})
    else:
        answer = whole.browser.generic(operation.method.upper(), path, json.dumps({STRANGE: 1}), "application/json")
    assert answer.status_code == invalid_status(operation), answer.content[:300]
    assert named(answer) == [STRANGE]


def single(operation: Operation) -> list[str]:
    """Return the parameters that are no lists."""
    facts = openapi_document()["paths"][operation.path][operation.method].get("parameters", ())
    found = [one for one in facts if one["in"] == "query"]
    return [one["name"] for one in found if "'array'" not in str(one["schema"])]


@pytest.mark.parametrize("operation", [one for one in OPERATIONS if single(one)], ids=str)
def test_parameter_that_is_given_twice_is_refused_by_name(operation: Operation, whole: World) -> None:
    path, names = real_paths(operation, whole)[0], single(operation)
    query = "&".join(f"{name}=1&{name}=2" for name in names)
    answer = whole.browser.generic(operation.method.upper(), f"{path}?{query}", b"", "application/json")
    assert answer.status_code == invalid_status(operation), answer.content[:300]
    assert sorted(named(answer)) == sorted(names)


def test_field_that_is_given_twice_is_refused_by_name(whole: World) -> None:
    body = b'{"name": "a", "query": "x", "name": "b"}'
    answer = whole.browser.generic("POST", "/api/v1/saved-searches", body, "application/json")
    assert (answer.status_code, named(answer)) == (422, ["name"])


def test_walk_covers_the_whole_document(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{len(OPERATIONS)} operations with a strange parameter, {len(WITH_BODY)} with a strange field")
    assert len(OPERATIONS) > 80
    assert len(WITH_BODY) > 30
