from __future__ import annotations

import json

import pytest

from watchbook.base.testing.people import client_of
from watchbook.systems.notes import actions
from watchbook.systems.notes.models import Candidate
from watchbook.systems.notes.tests.conftest import Program
from watchbook.systems.notes.tests.data import add_candidates, commit, held, holder

pytestmark = pytest.mark.django_db

POSTS = (
    "search", "detail", "batch", "workflow/candidates", "workflow/acquire", "workflow/heartbeat", "workflow/claim",
    "workflow/commit", "workflow/fail", "workflow/release", "workflow/report", "workflow/recover",
)  # fmt: skip
LISTS = ("candidates", "sources", "executions", "cookies")


@pytest.mark.parametrize("path", POSTS)
def test_working_needs_the_scope_notes_or_an_operator(path, alice, matrix):
    for scopes in (("read", "write"), ("read",)):
        program = Program(alice, *scopes)
        answer = program.post(path)
        assert (program.status, answer["success"], answer["error"]["code"]) == (403, False, "NOT_ALLOWED")
    statuses = matrix.statuses("POST", f"/api/v1/notes/{path}", {})
    assert statuses["anonymous"] == 401
    assert {statuses[name] for name in ("alice", "bob", "charlie")} == {403}
    assert statuses["operator"] not in (401, 403)


@pytest.mark.parametrize("path", LISTS)
def test_lists_are_for_members_and_the_pool_for_operators(path, matrix):
    statuses = matrix.statuses("GET", f"/api/v1/notes/{path}")
    members = 403 if path == "cookies" else 200
    assert statuses == {"anonymous": 401, "alice": members, "bob": members, "charlie": members, "operator": 200}


def test_core_error_has_the_envelope(client):
    answer = client.post("/api/v1/notes/search", {}, content_type="application/json")
    body = answer.json()
    assert answer.status_code == 401
    assert set(body) == {"success", "data", "error", "meta"}
    assert body["meta"]["request_id"]
    missing = client.get("/api/v1/notes/no-such-door").json()
    assert missing["error"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize("path", POSTS[:-1])
@pytest.mark.parametrize(
    "body", ["", "{", "[]", '"x"', '{"a": NaN}', "[" * 500, '{"items": {}, "keyword": 5, "page": "x"}']
)
def test_wrong_body_is_400_in_the_envelope(n8n, path, body):
    answer = n8n.post(path, body)
    assert (n8n.status, answer["success"], answer["error"]["code"]) == (400, False, "INVALID_INPUT")
    assert answer["error"]["retryable"] is False


@pytest.mark.parametrize(
    "body",
    [{"keyword": ""}, {"keyword": "x" * 201}, {"keyword": "a", "page": 0}, {"keyword": "a", "page": 101},
     {"keyword": "a", "page_size": 51}, {"keyword": "a", "page": True}, {"keyword": "a", "timeout_seconds": 61}],
)  # fmt: skip
def test_search_is_bounded(n8n, platform, pool, body):
    pool()
    n8n.post("search", body)
    assert n8n.status == 400
    assert platform.ledger.reads == []


def test_search_answers_cards_without_their_authors(n8n, platform, pool):
    pool()
    entry = platform.add("Lantern")
    answer = n8n.post("search", {"keyword": "Lantern", "page": 1, "page_size": 20})
    [card] = answer["data"]["items"]
    assert card["note_id"] == entry.note_id
    assert card["xsec_token"] == entry.token
    assert card["author_id"] != entry.author_id
    assert card["author_name"] == "R**"
    assert answer["data"]["has_more"] is False


def test_detail_takes_an_address(n8n, platform, pool):
    pool()
    entry = platform.add("Lantern")
    answer = n8n.post(
        "detail", {"note_url": f"https://www.example.com/explore/{entry.note_id}?xsec_token={entry.token}"}
    )
    assert answer["data"]["title"] == "Lantern"
    assert answer["data"]["counts"]["collected"] == {"value": 12000, "exact": False, "raw": "1.2万"}


def test_empty_pool_returns_503_not_retryable(n8n, platform):
    answer = n8n.post("detail", {"note_id": "abc"})
    assert (n8n.status, answer["error"]["code"], answer["error"]["retryable"]) == (503, "COOKIE_EXHAUSTED", False)


def test_without_a_key_the_rest_continues(n8n, platform, pool, monkeypatch):
    pool()
    monkeypatch.delenv("COOKIE_MASTER_KEY")
    answer = n8n.post("detail", {"note_id": "abc"})
    assert "COOKIE_MASTER_KEY" in answer["error"]["message"]
    assert n8n.get("cookies")["success"] is True
    assert n8n.post("workflow/acquire", {"workflow_name": "x"})["data"]["locked"] is True


def test_lists_are_paged_and_never_show_a_cookie(n8n, platform, pool):
    pool("one")
    pool("two")
    ids = add_candidates(5)
    mine = holder()
    actions.claim(held(mine))
    commit(mine, ids[0])
    first = n8n.get("candidates", limit=3)
    rest = n8n.get("candidates", limit=3, cursor=first["next"])
    assert [row["note_id"] for row in first["items"] + rest["items"]] == ids[::-1]
    assert rest["next"] is None
    assert n8n.get("candidates", status="collected")["items"][0]["note_id"] == ids[0]
    assert n8n.get("sources")["items"][0]["idempotency_key"] == f"{ids[0]}_v1"
    assert n8n.get("executions")["items"][0]["execution_id"] == mine.execution_id
    shown = n8n.get("cookies")
    assert [row["cookie_name"] for row in shown["items"]] == ["one", "two"]
    assert "cookie_encrypted" not in json.dumps(shown)
    assert "made-up" not in json.dumps(shown)


def test_unknown_status_filter_is_refused(n8n):
    add_candidates(1)
    answer = n8n.get("candidates", status="colected")
    assert (answer["success"], answer["error"]["code"]) == (False, "INVALID_INPUT")
    assert "collected" in json.dumps(answer["error"]["details"])


def test_operator_may_use_the_api_from_a_page(operator):
    client = client_of(operator, csrf=True)
    answer = client.post("/api/v1/notes/workflow/recover", "{}", content_type="application/json")
    assert answer.status_code == 403, "not without the CSRF token"
    assert Candidate.objects.count() == 0


def test_documentation_names_every_body(client, operator):
    client.force_login(operator)
    schema = client.get("/api/openapi.json").json()
    for path in POSTS[:-1]:
        found = schema["paths"][f"/api/v1/notes/{path}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert found["properties"], path
