"""Nothing is dropped without a word: whatever a list in a request or a file leaves out is named in the response."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api_document import openapi_document
from tests.security.api_world import Operation, Prepared, World, alice, operations, prepared, real_path, world
from watchbook.base.testing.people import client_of
from watchbook.core import url_lists
from watchbook.systems.reddit.models import CommunityPool
from watchbook.systems.sitemaps.models import MonitorTask

pytestmark = [pytest.mark.django_db]
__all__ = ["alice", "prepared", "world"]

NOBODY = "00000000-0000-4000-8000-00000000abcd"
# What must stand beside the list so that the request is valid without the strange value.
BESIDE: dict[str, dict[str, Any]] = {
    "post /api/v1/saved-searches": {"name": "x", "query": "lantern"},
    "post /api/v1/sources": {"text": "paper lantern"},
    "post /api/v1/library/pages/bulk-move": {"parent_page_id": None},
    "post /api/v1/reddit/communities": {"name": "r/no_such_place"},
}
RULES = "/api/v1/pages/sites/{site_id}/rules"
for _operation in (f"post {RULES}", f"put {RULES}/{{rule_id}}", f"post {RULES}/preview"):
    BESIDE[_operation] = {"condition": "text contains lantern"}
FILES = {
    "post /api/v1/library/spaces/{space_id}/import": "test_transfer",
    "post /api/v1/library/pages/{page_id}/files": "test_files",
}


def lists() -> list[tuple[Operation, str, Any]]:
    """Return every list that a body of the API can hold: operation, name, and a value that nothing has."""
    found = []
    for operation in operations():
        for name, item in list_items(operation):
            found.append((operation, name, strange(item)))
    return found


def resolved(part: Any) -> Any:
    return openapi_document()["components"]["schemas"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part


def body_of(operation: Operation) -> Any:
    facts = openapi_document()["paths"][operation.path][operation.method]
    content = facts.get("requestBody", {}).get("content", {})
    return resolved(next(iter(content.values()))["schema"]) if content else {}


def list_items(operation: Operation) -> list[tuple[str, Any]]:
    found = []
    for name, part in body_of(operation).get("properties", {}).items():
        found += [
            (name, resolved(one["items"])) for one in (part, *part.get("anyOf", ())) if one.get("type") == "array"
        ]
    return found


def strange(item: Any) -> Any:
    if item.get("type") == "integer":
        return 987654321
    if item.get("format") == "uuid":
        return NOBODY
    if item.get("type") == "object" or "properties" in item:
        return {"note_url": "https://example.com/no-such-note"}
    return "no-such-value"


@pytest.fixture
def whole(world: World, alice: Any) -> World:
    alice.is_staff = True
    alice.save(update_fields=["is_staff"])
    world.browser = client_of(alice)
    return world


@pytest.mark.parametrize(("operation", "name", "value"), lists(), ids=lambda one: str(one)[:60])
def test_strange_value_in_a_list_is_named_in_the_response(
    operation: Operation, name: str, value: Any, whole: World, prepared: Prepared
) -> None:
    body = {**BESIDE.get(str(operation), {}), name: [value]}
    if str(operation) == "post /api/v1/pages/sites":
        body["list_name"] = url_lists.lists_of(prepared.owner)[0].name
    if str(operation) == "post /api/v1/sitemaps/bulk" and name != "ids":
        body["ids"] = [str(MonitorTask.objects.of(prepared.owner).values_list("pk", flat=True)[0])]
    if str(operation) == "post /api/v1/reddit/bulk" and name != "names":
        CommunityPool.objects.get_or_create(name="r/lanterns", defaults={"tier": "high"})
        body["names"] = ["r/lanterns"]
    if str(operation) == "post /api/v1/sitemaps/monitors":
        body |= {"name": "x", "sitemap_url": prepared.site.address("/sitemap.xml?again")}
    path = real_path(operation, whole)
    answer = whole.browser.generic(operation.method.upper(), path, json.dumps(body), "application/json")
    named = value["note_url"] if isinstance(value, dict) else str(value)
    assert named in answer.content.decode() or (answer.status_code >= 400 and name in answer.content.decode()), (
        f"{operation} answers {answer.status_code} and does not name {named}: {answer.content.decode()[:400]}"
    )


def test_every_uploaded_file_has_a_test_of_its_report() -> None:
    uploads = [str(one) for one in operations() if "file" in (one.properties or ()) and is_upload(one)]
    assert sorted(uploads) == sorted(FILES)


def is_upload(operation: Operation) -> bool:
    content = openapi_document()["paths"][operation.path][operation.method]["requestBody"]["content"]
    return "multipart/form-data" in content


def test_walk_has_all_lists(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        print(f"\n{len(lists())} lists in the bodies of {len(operations())} operations")
    assert len(lists()) >= 20
