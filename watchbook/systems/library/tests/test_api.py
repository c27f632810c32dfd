"""Shapes and codes that programs rely on."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from watchbook.base.testing.people import client_of
from watchbook.core.jobs.runner import run_now
from watchbook.systems.library import actions
from watchbook.systems.library.models import Page

pytestmark = pytest.mark.django_db

BASE = "/api/v1/library"


@pytest.fixture
def api(desk):
    return Caller(client_of(desk.olga))


class Caller:
    def __init__(self, client) -> None:
        self.client = client

    def __call__(self, method: str, path: str, body=None, status: int = 200):
        given = {"data": json.dumps(body), "content_type": "application/json"} if body is not None else {}
        if body is None and method != "get":
            given = {"data": b"", "content_type": "application/json"}
        answer = getattr(self.client, method)(BASE + path, **given)
        assert answer.status_code == status, answer.content
        return answer.json() if answer.content else None


def test_whole_day(api, desk):
    ws = api("post", "/workspaces", {"name": "Day"}, 201)
    assert ws["role"] == "owner"
    assert ws["flags"] == {"folders_enabled": True, "sharing_enabled": True}
    assert ws["release_channel"] == "prod"
    space = api("post", f"/workspaces/{ws['id']}/spaces", {"name": "Space"}, 201)
    pages = f"/spaces/{space['id']}/pages"
    refused = api("post", pages, {"title": "File", "node_type": "file"}, 409)
    assert refused["error"]["code"] == "hierarchy"
    folder = api("post", pages, {"title": "Folder", "node_type": "folder"}, 201)
    page = api(
        "post", pages, {"title": "File", "parent_page_id": folder["id"], "content": "<p>a</p><script>x</script>"}, 201
    )
    assert (page["node_type"], page["version"], page["content"]) == ("file", 1, "<p>a</p>")
    listed = api("get", f"{pages}?limit=1")
    assert set(listed["items"][0]) == {"id", "parent_page_id", "node_type", "title", "version"}
    assert len(api("get", f"{pages}?limit=1&cursor={listed['next']}")["items"]) == 1
    one = f"/pages/{page['id']}"
    assert api("patch", one, {"title": "x"}, 422)["error"]["details"][0]["field"] == "version"
    saved = api("patch", one, {"title": "New", "content": "<p>b</p>", "version": 1})
    assert (saved["title"], saved["content"], saved["version"]) == ("New", "<p>b</p>", 2)
    clash = api("patch", one, {"content": "<p>c</p>", "version": 1}, 409)["error"]
    assert clash["code"] == "version_conflict"
    assert clash["details"]["current"]["content"] == "<p>b</p>"
    assert clash["details"]["yours"]["content"] == "<p>c</p>"
    cycle = api("post", f"/pages/{folder['id']}/move", {"parent_page_id": folder["id"]}, 409)
    assert cycle["error"]["code"] == "cycle"
    assert [v["number"] for v in api("get", f"{one}/versions")["items"]] == [2, 1]
    assert api("post", f"{one}/versions/1/restore")["content"] == "<p>a</p>"
    assert api("post", f"{one}/pin")["is_pinned"] is True
    children = api("get", f"/pages/{folder['id']}/children")["items"]
    assert [(child["title"], child["has_children"]) for child in children] == [("File", False)]
    api("delete", one, status=204)
    api("get", one, status=404)
    assert api("post", f"{one}/restore")["deleted_at"] is None
    assert [crumb["title"] for crumb in api("get", one)["breadcrumb"]] == ["Folder", "File"]


def test_migration_by_api(api, desk):
    ws, space = desk.workspace.pk, desk.space.pk
    api("patch", f"/workspaces/{ws}/flags", {"folders_enabled": False})
    for n in range(3):
        api("post", f"/spaces/{space}/pages", {"title": f"{n}"}, 201)
    assert api("post", f"/spaces/{space}/migrations", {}, 409)["error"]["code"] == "folders_disabled"
    api("patch", f"/workspaces/{ws}/flags", {"folders_enabled": True})
    plan = api("post", f"/spaces/{space}/migrations", {"dry_run": True})
    assert plan["total_count"] == len(plan["items"]) == 3
    job = api("post", f"/spaces/{space}/migrations", {"dry_run": False}, 201)
    assert (job["status"], job["total_count"]) == ("pending", 3)
    assert api("post", f"/spaces/{space}/migrations", {}, 409)["error"]["code"] == "job_active"
    run_now("library.migrate", {"job_id": job["id"]})
    job = api("get", f"/migrations/{job['id']}")
    assert (job["status"], job["success_count"], job["failed_count"]) == ("success", 3, 0)
    assert job["reconciliation"]["ok"] is True
    first = api("get", f"/migrations/{job['id']}/items?limit=2")
    assert len(first["items"]) == 2
    assert len(api("get", f"/migrations/{job['id']}/items?cursor={first['next']}")["items"]) == 1
    assert api("get", f"/workspaces/{ws}/reconciliation")["ok"] is True
    api("post", f"/migrations/{job['id']}/rollback")
    run_now("library.rollback", {"job_id": job["id"]})
    assert api("get", f"/migrations/{job['id']}")["status"] == "rolled_back"
    assert Page.objects.below(space, None).files().count() == 3


def test_files_by_api(api, desk):
    upload = SimpleUploadedFile("notes.md", b"# Hello\n\nworld")
    answer = api.client.post(f"{BASE}/spaces/{desk.space.pk}/import", {"file": upload})
    assert answer.status_code == 201, answer.content
    assert answer.json()["page_count"] == 2
    sent = api.client.get(f"{BASE}/spaces/{desk.space.pk}/export")
    body = b"".join(sent.streaming_content)
    assert body[:2] == b"PK"
    again = SimpleUploadedFile("again.zip", body)
    folder = Page.objects.get(title="notes", parent_page=None)
    answer = api.client.post(f"{BASE}/spaces/{desk.space.pk}/import", {"file": again, "parent_page_id": str(folder.pk)})
    assert answer.status_code == 201, answer.content
    assert Page.objects.filter(content="<h1>Hello</h1><p>world</p>").count() == 2


def test_list_costs_the_same_for_few_and_many(desk, django_assert_max_num_queries):
    home = desk.folder("Home")
    for n in range(30):
        desk.file(f"{n}", home)
    with django_assert_max_num_queries(8):
        assert len(actions.list_children(desk.rene, page_id=home.pk).items) == 30


@pytest.mark.parametrize("path", ["children?order=odd", "children?cursor=x", "children?cursor=WyJhIl0"])
def test_odd_questions_are_refused(api, desk, path):
    folder = desk.folder("Home")
    api("get", f"/pages/{folder.pk}/{path}", status=422)
