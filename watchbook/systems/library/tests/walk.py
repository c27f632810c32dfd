"""Every endpoint of the library with a call that works, and the least role that may make it.

A route that is not named here fails `test_every_route_is_walked`.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass, field
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from watchbook.base.testing.people import client_of
from watchbook.core.api.shell import build_api
from watchbook.systems.library import actions
from watchbook.systems.library.models import Attachment, FolderMigrationJob, Page, PageImport, Space, Workspace
from watchbook.systems.library.tests.conftest import Desk, make_space, make_workspace

BASE = "/api/v1/library"
# Who has at least this role; everybody else named in KNOWS is refused with 403, the rest with 404.
ALLOWED = {
    "anybody": {"olga", "adam", "sven", "wanda", "rene", "otto", "xaver"},
    "workspace_member": {"olga", "adam", "sven", "wanda", "rene", "otto"},
    "workspace_admin": {"olga", "adam"},
    "reader": {"olga", "adam", "sven", "wanda", "rene"},
    "writer": {"olga", "adam", "sven", "wanda"},
    "space_admin": {"olga", "adam", "sven"},
    "job": {"olga", "adam"},
    "workspace_owner": {"olga"},
    "space_owner": {"olga"},
    "trash_owner": {"olga"},
    # Who runs the workspace renames tags; who reads a page with the tag knows it.
    "tag": {"olga", "adam"},
}
KNOWS = {**ALLOWED, "workspace_admin": ALLOWED["workspace_member"]}
KNOWS["workspace_owner"] = ALLOWED["workspace_member"]
KNOWS |= dict.fromkeys(("writer", "space_admin", "job", "space_owner", "tag"), ALLOWED["reader"])


@dataclass
class Call:
    method: str
    route: str
    need: str
    body: Any = None
    where: dict[str, Any] = field(default_factory=dict)
    is_upload: bool = False
    query: str = ""

    @property
    def url(self) -> str:
        path = self.route
        for name, value in self.where.items():
            path = path.replace("{" + name + "}", str(value))
        return BASE + path + self.query

    def make(self, client: Client) -> Any:
        act = getattr(client, self.method)
        if self.is_upload:
            return act(self.url, {"file": SimpleUploadedFile("notes.zip", small_zip())})
        if self.body is not None:
            return act(self.url, self.body, content_type="application/json")
        return act(self.url) if self.method == "get" else act(self.url, b"", content_type="application/json")


def small_zip() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("Folder/Page.md", "# Hello\n")
    return made.getvalue()


@dataclass
class Aside:
    """A second workspace with the same people: in use, with one space archived and one in the trash; and one gone."""

    workspace: Workspace
    space: Space
    archived: Space
    deleted: Space
    gone: Workspace


def make_aside(desk: Desk) -> Aside:
    made, gone = (make_workspace(desk.people, name) for name in ("Aside", "Gone"))
    spaces = [make_space(desk.people, made, name) for name in ("Shelf", "Dusty", "Deleted")]
    actions.archive_space(desk.olga, spaces[1].pk)
    actions.delete_space(desk.olga, spaces[2].pk, name="Deleted")
    actions.delete_workspace(desk.olga, gone.pk, name="Gone")
    return Aside(made, *spaces, gone)


@dataclass
class World:
    """A desk with something of everything."""

    desk: Desk
    home: Page
    page: Page
    trashed: Page
    link: Any
    active: FolderMigrationJob
    over: FolderMigrationJob
    empty: Space
    aside: Aside
    file: Attachment
    thread: Any
    suggestion: Any
    brought: PageImport
    tag: Any
    other_tag: Any
    saved: Page
    clip: tuple[str, str] = ("library_test", "1")


def make_world(desk: Desk) -> World:
    home = desk.folder("Home")
    page = desk.file("Page", home, "<p>one</p>")
    actions.save_page(desk.wanda, page.pk, version=1, content="<p>two</p>")
    file = actions.upload(desk.wanda, home.pk, [b"words"], "words.txt")
    trashed = desk.file("Trashed", home)
    actions.trash_page(desk.wanda, trashed.pk)
    link, _token = actions.share_page(desk.wanda, page.pk)
    spaces = [actions.create_space(desk.olga, desk.workspace.pk, name) for name in ("Active", "Over", "Empty")]
    for name, role in (("sven", "admin"), ("wanda", "writer"), ("rene", "reader")):
        for space in spaces:
            actions.set_space_member(desk.olga, space.pk, person=desk.people[name], role=role)
    for space in spaces:
        desk.old_file(space=space)
    active, over = (actions.start_migration(desk.olga, space.pk) for space in spaces[:2])
    actions.cancel_migration(desk.olga, over.pk)
    thread = actions.add_comment(desk.olga, page.pk, words="One").thread
    suggestion = actions.suggest_edit(desk.zita, page.pk, version=1, title="T", content="<p>x</p>")
    tag, other_tag = actions.set_tags(desk.wanda, page.pk, ["harbour", "tides"])
    for name in sorted(ALLOWED["reader"]):
        actions.set_favourite(desk.people[name], page.pk, kept=True)
    made = (spaces[2], make_aside(desk), file, thread, suggestion, _brought(desk), tag, other_tag)
    made = (*made, actions.clip(desk.wanda, kind="library_test", object_id="1", space_id=desk.space.pk))
    return World(desk, home, page, trashed, link, active, over, *made)


def _brought(desk: Desk) -> PageImport:
    facts = {"skipped": [], "unresolved": [], "decoded": [], "converted": {}, "tops": []}
    counts = dict.fromkeys(
        ("skipped_count", "unresolved_count", "pages", "folders", "pictures", "attachments", "links"), 0
    )
    return PageImport.objects.create(
        space=desk.space, name="notes.zip", format="markdown", state="done", report={**facts, **counts}
    )


def calls(world: World) -> list[Call]:
    """One call for every route, in a state in which it succeeds."""
    ws, space = {"workspace_id": world.desk.workspace.pk}, {"space_id": world.desk.space.pk}
    page, home = {"page_id": world.page.pk}, world.home.pk
    active, over = {"job_id": world.active.pk}, {"job_id": world.over.pk}
    thread = {"thread_id": world.thread.pk}
    aside, shelf = {"workspace_id": world.aside.workspace.pk}, {"space_id": world.aside.space.pk}
    file = {"file_id": world.file.pk}
    zita = {"user_id": world.desk.zita.pk}
    a_page = {"title": "New", "parent_page_id": str(home)}
    clip = {"kind": world.clip[0], "id": world.clip[1], **{k: str(v) for k, v in space.items()}}
    return [
        Call("get", "/workspaces", "anybody"),
        Call("post", "/workspaces", "anybody", {"name": "Mine"}),
        Call("get", "/workspaces/{workspace_id}", "workspace_member", where=ws),
        Call("patch", "/workspaces/{workspace_id}", "workspace_admin", {"name": "New"}, ws),
        Call("get", "/workspaces/{workspace_id}/members", "workspace_member", where=ws),
        Call("post", "/workspaces/{workspace_id}/members", "workspace_admin",
             {"email": "xaver@example.com", "role": "member"}, ws),
        Call("delete", "/workspaces/{workspace_id}/members/{user_id}", "workspace_admin", where={**ws, **zita}),
        Call("patch", "/workspaces/{workspace_id}/flags", "workspace_admin", {"folders_enabled": False}, ws),
        Call("put", "/workspaces/{workspace_id}/release-channel", "workspace_admin",
             {"release_channel": "staging"}, ws),
        Call("get", "/workspaces/{workspace_id}/reconciliation", "workspace_admin", where=ws),
        Call("post", "/workspaces/{workspace_id}/reconciliation", "workspace_admin", where=ws),
        Call("get", "/workspaces/{workspace_id}/spaces", "workspace_member", where=ws),
        Call("post", "/workspaces/{workspace_id}/spaces", "workspace_admin", {"name": "New"}, ws),
        Call("post", "/workspaces/{workspace_id}/archive", "workspace_owner", where=aside),
        Call("post", "/workspaces/{workspace_id}/unarchive", "workspace_owner", where=aside),
        Call("delete", "/workspaces/{workspace_id}", "workspace_owner", where=aside, query="?name=Aside"),
        Call("post", "/workspaces/{workspace_id}/restore", "trash_owner",
             where={"workspace_id": world.aside.gone.pk}),
        Call("post", "/workspaces/{workspace_id}/purge", "trash_owner", {"name": "Gone"},
             {"workspace_id": world.aside.gone.pk}),
        Call("post", "/spaces/{space_id}/archive", "space_owner", where=shelf),
        Call("post", "/spaces/{space_id}/unarchive", "space_owner", where={"space_id": world.aside.archived.pk}),
        Call("delete", "/spaces/{space_id}", "space_owner", where=shelf, query="?name=Shelf"),
        Call("post", "/spaces/{space_id}/restore", "trash_owner", where={"space_id": world.aside.deleted.pk}),
        Call("post", "/spaces/{space_id}/purge", "trash_owner", {"name": "Deleted"},
             {"space_id": world.aside.deleted.pk}),
        Call("delete", "/spaces/{space_id}/trash", "space_admin", where=space),
        Call("post", "/pages/{page_id}/purge", "space_admin", where={"page_id": world.trashed.pk}),
        Call("get", "/spaces/{space_id}", "reader", where=space),
        Call("patch", "/spaces/{space_id}", "space_admin", {"name": "New"}, space),
        Call("get", "/spaces/{space_id}/members", "reader", where=space),
        Call("post", "/spaces/{space_id}/members", "space_admin",
             {"email": "otto@example.com", "role": "reader"}, space),
        Call("delete", "/spaces/{space_id}/members/{user_id}", "space_admin", where={**space, **zita}),
        Call("get", "/spaces/{space_id}/pages", "reader", where=space),
        Call("post", "/spaces/{space_id}/pages", "writer", a_page, space),
        Call("get", "/spaces/{space_id}/children", "reader", where=space),
        Call("get", "/spaces/{space_id}/trash", "reader", where=space),
        Call("post", "/spaces/{space_id}/import", "writer", where=space, is_upload=True),
        Call("get", "/spaces/{space_id}/export", "reader", where=space),
        Call("get", "/pages/{page_id}", "reader", where=page),
        Call("patch", "/pages/{page_id}", "writer",
             {"version": 2, "title": "Renamed", "content": "<p>three</p>"}, page),
        Call("delete", "/pages/{page_id}", "writer", where=page),
        Call("get", "/pages/{page_id}/children", "reader", where=page),
        Call("post", "/pages/{page_id}/move", "writer", {"parent_page_id": str(home)}, page),
        Call("post", "/pages/{page_id}/duplicate", "writer", where=page),
        Call("post", "/pages/{page_id}/restore", "writer", where={"page_id": world.trashed.pk}),
        Call("post", "/pages/{page_id}/pin", "writer", where=page),
        Call("post", "/pages/{page_id}/unpin", "writer", where=page),
        Call("post", "/pages/{page_id}/favourite", "reader", where=page),
        Call("post", "/pages/{page_id}/unfavourite", "reader", where=page),
        Call("get", "/favourites", "anybody"),
        Call("put", "/favourites/order", "reader", {"page_ids": [str(world.page.pk)]}),
        Call("get", "/recent", "anybody"),
        Call("get", "/search", "reader", query=f"?q=pag&space={world.desk.space.pk}"),
        Call("patch", "/spaces/{space_id}/settings", "space_admin", {"approved_only": True}, space),
        Call("get", "/pages/{page_id}/properties", "reader", where=page),
        Call("patch", "/pages/{page_id}/properties", "writer",
             {"status": "approved", "valid_until": "2030-01-31"}, page),
        Call("get", "/pages/{page_id}/restriction", "writer", where=page),
        Call("put", "/pages/{page_id}/restriction", "writer", {"user_ids": [], "group_ids": []}, page),
        Call("delete", "/pages/{page_id}/restriction", "writer", where=page),
        Call("get", "/pages/{page_id}/source", "reader", where={"page_id": world.saved.pk}),
        Call("post", "/pages/{page_id}/source/read", "writer", where={"page_id": world.saved.pk}),
        Call("post", "/pages/{page_id}/source/update", "writer", where={"page_id": world.saved.pk}),
        Call("get", "/pages/{page_id}/tags", "reader", where=page),
        Call("put", "/pages/{page_id}/tags", "writer", {"tags": ["harbour", "night"]}, page),
        Call("get", "/workspaces/{workspace_id}/tags", "workspace_member", where=ws),
        Call("get", "/tags/{tag_id}/pages", "reader", where={"tag_id": world.tag.pk}),
        Call("patch", "/tags/{tag_id}", "tag", {"name": "port"}, {"tag_id": world.tag.pk}),
        Call("post", "/tags/{tag_id}/merge", "tag", {"into": str(world.other_tag.pk)}, {"tag_id": world.tag.pk}),
        Call("get", "/workspaces/{workspace_id}/templates", "workspace_member", where=ws),
        Call("put", "/pages/{page_id}/template", "writer", where=page),
        Call("delete", "/pages/{page_id}/template", "writer", where=page),
        Call("get", "/pages/{page_id}/backlinks", "reader", where=page),
        Call("get", "/pages/{page_id}/export", "reader", where=page),
        Call("get", "/pages/{page_id}/versions", "reader", where=page),
        Call("get", "/pages/{page_id}/versions/{number}", "reader", where={**page, "number": 1}),
        Call("get", "/pages/{page_id}/versions/{number}/changes", "reader", where={**page, "number": 2}),
        Call("post", "/pages/{page_id}/versions/{number}/restore", "writer", where={**page, "number": 1}),
        Call("get", "/pages/{page_id}/comments", "reader", where=page),
        Call("post", "/pages/{page_id}/comments", "reader", {"text": "x", "quote": "two"}, page),
        Call("post", "/threads/{thread_id}/replies", "reader", {"text": "x"}, thread),
        Call("post", "/threads/{thread_id}/resolve", "writer", where=thread),
        Call("post", "/threads/{thread_id}/reopen", "writer", where=thread),
        Call("put", "/pages/{page_id}/watch", "reader", where=page),
        Call("delete", "/pages/{page_id}/watch", "reader", where=page),
        Call("get", "/pages/{page_id}/shares", "writer", where=page),
        Call("post", "/pages/{page_id}/shares", "writer", where=page),
        Call("delete", "/shares/{link_id}", "writer", where={"link_id": world.link.pk}),
        Call("post", "/pages/{page_id}/files", "writer", where=page, is_upload=True),
        Call("get", "/pages/{page_id}/files", "reader", where=page),
        Call("get", "/files/{file_id}", "reader", where=file),
        Call("get", "/files/{file_id}/content", "reader", where=file),
        Call("delete", "/files/{file_id}", "writer", where=file),
        Call("post", "/pages/bulk-move", "writer", {"page_ids": [str(world.page.pk)], "parent_page_id": str(home)}),
        Call("post", "/pages/bulk-trash", "writer", {"page_ids": [str(world.page.pk)]}),
        Call("post", "/clip", "writer", clip),
        Call("post", "/save", "writer", {"url": "https://example.org/tide/1", "space_id": clip["space_id"]}),
        Call("post", "/spaces/{space_id}/migrations", "job", {"dry_run": False}, {"space_id": world.empty.pk}),
        Call("get", "/spaces/{space_id}/migrations", "job", where=space),
        Call("get", "/migrations/{job_id}", "job", where=active),
        Call("get", "/migrations/{job_id}/items", "job", where=active),
        Call("post", "/migrations/{job_id}/pause", "job", where=active),
        Call("post", "/migrations/{job_id}/resume", "job", where=active),
        Call("post", "/migrations/{job_id}/cancel", "job", where=active),
        Call("post", "/migrations/{job_id}/retry", "job", where=over),
        Call("post", "/migrations/{job_id}/rollback", "job", where=over),
    ]  # fmt: skip


def routes() -> set[tuple[str, str]]:
    """(method, path) of every endpoint of the library, as the API itself names them."""
    paths = build_api().get_openapi_schema(path_prefix="")["paths"]
    found = set()
    for path, methods in paths.items():
        if path.startswith("/v1/library/"):
            found |= {(method, path.removeprefix("/v1/library")) for method in methods}
    return found


def expected(call: Call, name: str) -> set[int]:
    if name == "anonymous":
        return {401}
    if name in ALLOWED[call.need]:
        return {200, 201, 204}
    return {403} if name in KNOWS[call.need] else {404}


def client_for(world: World, name: str) -> Client:
    return client_of(world.desk.people.get(name))
