"""What scripts and workflows outside rely on: these addresses and names stay, whatever is added beside them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api_document import openapi_document

DOCUMENT = openapi_document()
SHAPES = DOCUMENT["components"]["schemas"]

ADDRESSES = """
GET POST            /sitemaps/monitors
GET PATCH DELETE    /sitemaps/monitors/{monitor_id}
POST                /sitemaps/monitors/{monitor_id}/(check|pause|resume|retry)
GET                 /sitemaps/monitors/{monitor_id}/(changes|snapshots)
GET                 /sitemaps/changes/{change_id}
GET                 /sitemaps/snapshots/{snapshot_id}/urls
GET POST            /channels
GET PATCH DELETE    /channels/{channel_id}
POST                /channels/{channel_id}/test
GET                 /deliveries
POST                /deliveries/{delivery_id}/replay
GET                 /nga/(threads|runs|audits)
GET                 /nga/threads/{tid}
GET                 /nga/threads/{tid}/posts
GET                 /nga/posts/{post_id}/revisions
GET                 /nga/runs/{run_id}/threads
GET                 /nga/audits/{audit_id}
GET                 /reddit/(communities|posts|metrics)
GET                 /reddit/communities/{name}
GET                 /reddit/posts/{source_post_id}/versions
POST                /notes/(search|detail|batch)
POST                /notes/workflow/(candidates|acquire|heartbeat|claim|commit|fail|release|recover)
GET                 /notes/(candidates|sources|executions|cookies)
GET POST            /library/workspaces
POST                /library/workspaces/{workspace_id}/members
PATCH               /library/workspaces/{workspace_id}/flags
PUT                 /library/workspaces/{workspace_id}/release-channel
GET                 /library/workspaces/{workspace_id}/reconciliation
GET POST            /library/workspaces/{workspace_id}/spaces
POST                /library/spaces/{space_id}/(members|import|migrations)
GET                 /library/spaces/{space_id}/export
GET POST            /library/spaces/{space_id}/pages
GET PATCH DELETE    /library/pages/{page_id}
GET                 /library/pages/{page_id}/(children|versions)
POST                /library/pages/{page_id}/(move|duplicate|restore|pin|unpin)
POST                /library/pages/{page_id}/versions/{number}/restore
POST                /library/pages/bulk-move
POST                /library/clip
GET                 /library/migrations/{job_id}
POST                /library/migrations/{job_id}/(rollback|pause|resume|cancel|retry)
GET                 /(search|stream|alerts|jobs)
GET POST            /saved-searches
POST                /jobs/{name}/run
"""

GIVEN = {
    "post /sitemaps/monitors": "name sitemap_url check_interval_minutes channel_ids",
    "post /channels": "name channel_type config is_active",
    "post /notes/search": "keyword page page_size",
    "post /notes/detail": "note_id xsec_token xsec_source note_url",
    "post /notes/batch": "items",
    "post /notes/workflow/candidates": "items",
    "post /notes/workflow/acquire": "workflow_name",
    "post /notes/workflow/heartbeat": "execution_id fence",
    "post /notes/workflow/claim": "execution_id fence batch_size",
    "post /notes/workflow/commit": "execution_id fence note_id result",
    "post /notes/workflow/fail": "execution_id fence note_id error",
    "post /notes/workflow/release": "execution_id fence status",
    "post /library/spaces/{space_id}/pages": "parent_page_id node_type title content",
    "patch /library/pages/{page_id}": "title content version",
    "post /library/pages/{page_id}/move": "parent_page_id space_id after_page_id",
    "post /library/pages/bulk-move": "page_ids parent_page_id",
    "post /library/clip": "kind id space_id parent_page_id",
    "post /library/spaces/{space_id}/migrations": "dry_run",
    "get /nga/threads": "order q tag author cursor limit",
    "get /search": "q kind cursor limit",
}
ANSWERED = {
    "post /notes/workflow/acquire": "locked execution_id fence reason",
    "post /notes/workflow/claim": "records locked_count",
    "post /notes/workflow/commit": "action id",
    "post /notes/workflow/fail": "status retry_count",
}
LISTED = {"get /library/spaces/{space_id}/pages": "id parent_page_id node_type title version"}


def addresses() -> list[str]:
    found = []
    for line in ADDRESSES.strip().splitlines():
        *methods, path = line.split()
        head, _, choices = path.partition("(")
        ends = choices.rstrip(")").split("|") if choices else [""]
        found += [f"{method.lower()} {head}{end}" for method in methods for end in ends]
    return found


def operation(name: str) -> Any:
    method, path = name.split()
    return DOCUMENT["paths"][f"/api/v1{path}"][method]


def properties(schema: Any) -> dict[str, Any]:
    found: dict[str, Any] = (SHAPES[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema)["properties"]
    return found


def answer_of(name: str) -> dict[str, Any]:
    return properties(operation(name)["responses"][200]["content"]["application/json"]["schema"])


@pytest.mark.parametrize("name", addresses())
def test_every_promised_path_exists(name: str) -> None:
    assert operation(name)["responses"]


@pytest.mark.parametrize(("name", "words"), GIVEN.items())
def test_every_promised_input_is_accepted(name: str, words: str) -> None:
    facts = operation(name)
    taken = {parameter["name"] for parameter in facts["parameters"]}
    if "requestBody" in facts:
        taken |= set(properties(facts["requestBody"]["content"]["application/json"]["schema"]))
    assert set(words.split()) <= taken


@pytest.mark.parametrize(("name", "words"), ANSWERED.items())
def test_every_promised_field_is_returned(name: str, words: str) -> None:
    assert set(words.split()) <= set(properties(answer_of(name)["data"]))


@pytest.mark.parametrize(("name", "words"), LISTED.items())
def test_every_promised_field_of_an_item_is_returned(name: str, words: str) -> None:
    assert set(words.split()) <= set(properties(answer_of(name)["items"]["items"]))


@pytest.mark.parametrize("name", [name for name in addresses() if name.startswith("get ")])
def test_every_list_uses_the_same_paging(name: str) -> None:
    content = operation(name)["responses"][200]["content"]
    fields = properties(content["application/json"]["schema"]) if "application/json" in content else {}
    if "items" in fields:
        assert "next" in fields
