"""Every address of the pages: each role, an outsider, ids of another workspace, and the other release channel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.urls import reverse

from watchbook.base.testing.people import client_of
from watchbook.systems.library import actions, urls
from watchbook.systems.library.tests.test_guard import TROUBLES, dump
from watchbook.systems.library.tests.walk import ALLOWED, KNOWS, make_world, small_zip

# Who may do what is the same on every database; test_guard sends the same writes to all of them.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.portable]

PEOPLE = ("olga", "adam", "sven", "wanda", "rene", "otto", "xaver")
DONE = {200, 201, 302}
# Answers everybody, each with what is his own; or whoever holds the link.
OWN = {"overview", "favourites", "search", "create_workspace", "shared", "shared_file", "clip", "save_address"}


@dataclass
class Ask:
    """A request that works for somebody with the role `need`."""

    name: str
    need: str
    args: tuple[Any, ...] = ()
    body: dict[str, Any] | None = None
    asked: dict[str, str] = field(default_factory=dict)

    @property
    def is_writing(self) -> bool:
        return self.body is not None

    def make(self, client: Any) -> Any:
        address = reverse(f"library:{self.name}", args=self.args, query=self.asked or None)
        return client.post(address, self.body) if self.body is not None else client.get(address)


def asks(world: Any) -> list[Ask]:
    """Reading first: what writes changes what the rest would find."""
    desk = world.desk
    return [*_reading(desk, world), *_writing_pages(desk, world), *_writing_places(desk, world)]


def _reading(desk: Any, world: Any) -> list[Ask]:
    space, page = (desk.space.pk,), (world.page.pk,)
    return [
        Ask("workspace", "workspace_member", (desk.workspace.pk,)),
        Ask("reconciliation", "workspace_admin", (desk.workspace.pk,)),
        Ask("space", "reader", space), Ask("space_tree", "reader", space), Ask("trash", "reader", space),
        Ask("space_settings", "reader", space), Ask("export", "reader", space), Ask("import", "writer", space),
        Ask("targets", "writer", space, asked={"page": str(world.page.pk)}),
        Ask("migrations", "job", space), Ask("migration", "job", (world.over.pk,)),
        Ask("migration_live", "job", (world.over.pk,)),
        Ask("page", "reader", page), Ask("page_tree", "reader", page), Ask("mentions", "reader", page),
        Ask("export_page", "reader", page), Ask("import_report", "reader", (world.brought.pk,)),
        Ask("history", "reader", page),
        Ask("share", "writer", page), Ask("file", "reader", (world.file.pk, "words.txt")),
        Ask("suggest", "reader", page), Ask("suggestions", "writer", page),
        Ask("link_targets", "reader", page, asked={"q": "a"}), Ask("people", "reader", page),
        Ask("purge", "space_admin", (world.trashed.pk,)), Ask("empty_trash", "space_admin", space),
        Ask("recent", "anybody"), Ask("tags", "workspace_member", (desk.workspace.pk,)),
        Ask("tag", "reader", (world.tag.pk,)),
        Ask("restriction", "writer", page), Ask("source", "reader", (world.saved.pk,)),
        Ask("purge_workspace", "trash_owner", (world.aside.gone.pk,)),
        Ask("purge_space", "trash_owner", (world.aside.deleted.pk,)),
    ]  # fmt: skip


def _writing_pages(desk: Any, world: Any) -> list[Ask]:
    space, page = (desk.space.pk,), (world.page.pk,)
    text = {"title": "New", "content": "<p>New</p>", "version": 1}
    return [
        Ask("create", "writer", space, {"title": "x", "node_type": "folder"}),
        Ask("bulk", "writer", space, {"act": "pin", "page": world.page.pk}),
        Ask("import", "writer", space, {"file": SimpleUploadedFile("a.zip", small_zip())}),
        Ask("upload", "writer", page, {"file": SimpleUploadedFile("a.txt", b"words")}),
        Ask("undo_import", "writer", (world.brought.pk,), {}),
        Ask("remove_file", "writer", (world.file.pk,), {}),
        Ask("comments", "reader", page, {"text": "x"}), Ask("reply", "reader", (world.thread.pk,), {"text": "x"}),
        Ask("resolve", "writer", (world.thread.pk,), {}), Ask("here", "reader", page, {}),
        Ask("watch", "reader", page, {"on": "1"}),
        Ask("suggest", "reader", page, {"title": "T", "markdown": "x", "version": "1"}),
        Ask("decide", "writer", (world.suggestion.pk,), {"accept": "0"}),
        Ask("convert", "writer", page, {"markdown": "# x"}),
        Ask("favourite", "reader", page, {"on": "1"}), Ask("pin", "writer", page, {"on": "1"}),
        Ask("rename", "writer", page, {"title": "Other"}), Ask("duplicate", "writer", page, {}),
        Ask("move", "writer", page, {"parent": world.home.pk}), Ask("save", "writer", page, text),
        Ask("merge", "writer", page, {**text, "merged": "1", "shown": "1"}),
        Ask("restore_version", "writer", (world.page.pk, 1), {}), Ask("share", "writer", page, {}),
        Ask("revoke", "writer", (world.link.pk,), {}), Ask("restore", "writer", (world.trashed.pk,), {}),
        Ask("properties", "writer", page, {"status": "approved", "valid_until": "2030-01-31"}),
        Ask("page_tags", "writer", page, {"tags": "harbour, night"}),
        Ask("restriction", "writer", page, {"user": [world.desk.zita.pk]}),
        Ask("template", "writer", page, {"on": "1"}), Ask("source", "writer", (world.saved.pk,), {}),
        Ask("read_source", "writer", (world.saved.pk,), {}),
        Ask("favourites", "reader", (), {"page": world.page.pk, "to": "up"}),
        Ask("tag", "tag", (world.tag.pk,), {"name": "port"}),
        Ask("trash_page", "writer", page, {}),
        Ask("purge", "space_admin", (world.trashed.pk,), {}), Ask("empty_trash", "space_admin", space, {}),
    ]  # fmt: skip


def _writing_places(desk: Any, world: Any) -> list[Ask]:
    ws, space, active, over = (desk.workspace.pk,), (desk.space.pk,), (world.active.pk,), (world.over.pk,)
    zita = {"person": str(desk.zita.pk)}
    aside, shelf = (world.aside.workspace.pk,), (world.aside.space.pk,)
    return [
        Ask("rename_workspace", "workspace_admin", ws, {"name": "x"}),
        Ask("create_space", "workspace_admin", ws, {"name": "x"}),
        Ask("member", "workspace_admin", ws, {"email": "zita@example.com", "role": "member"}),
        Ask("flags", "workspace_admin", ws, {"flag": ["folders_enabled", "sharing_enabled"]}),
        Ask("reconciliation", "workspace_admin", ws, {}),
        Ask("rename_space", "space_admin", space, {"name": "x"}),
        Ask("approved_only", "space_admin", space, {"on": "1"}),
        Ask("space_member", "space_admin", space, {**zita, "role": "writer"}),
        Ask("remove_space_member", "space_admin", space, zita),
        Ask("migration_pause", "job", active, {}), Ask("migration_resume", "job", active, {}),
        Ask("migration_cancel", "job", active, {}), Ask("migration_retry", "job", active, {}),
        Ask("migration_rollback", "job", over, {}), Ask("migrations", "job", (world.empty.pk,), {}),
        Ask("remove_member", "workspace_admin", ws, zita),
        Ask("channel", "workspace_admin", ws, {"channel": "prod"}),
        Ask("archive_workspace", "workspace_owner", aside, {"on": "1"}),
        Ask("delete_workspace", "workspace_owner", aside, {"name": "Aside"}),
        Ask("restore_workspace", "trash_owner", (world.aside.gone.pk,), {}),
        Ask("archive_space", "space_owner", shelf, {"on": "1"}),
        Ask("delete_space", "space_owner", shelf, {"name": "Shelf"}),
        Ask("restore_space", "trash_owner", (world.aside.deleted.pk,), {}),
        Ask("purge_workspace", "trash_owner", (world.aside.gone.pk,), {"name": "Gone"}),
        Ask("purge_space", "trash_owner", (world.aside.deleted.pk,), {"name": "Deleted"}),
    ]  # fmt: skip


@pytest.fixture
def world(desk: Any, clips: None) -> Any:
    return make_world(desk)


def test_every_address_is_walked(world: Any) -> None:
    assert {pattern.name for pattern in urls.urlpatterns} == {ask.name for ask in asks(world)} | OWN


@pytest.mark.parametrize("name", PEOPLE)
def test_each_role_may_what_it_may(world: Any, name: str) -> None:
    wrong = []
    for ask in asks(world):
        client = client_of(world.desk.people[name])
        with transaction.atomic():
            answer = ask.make(client)
            b"".join(answer.streaming_content) if answer.streaming else answer.content
            transaction.set_rollback(True)
        may, knows = name in ALLOWED[ask.need], name in KNOWS[ask.need]
        # What somebody may do can still be refused by the state it finds: a job that is over, a version that is old.
        expected = {*DONE, 409} if may and ask.is_writing else DONE if may else {403} if knows else {404}
        if answer.status_code not in expected:
            wrong.append(f"{ask.name} ({'write' if ask.is_writing else 'read'}): {answer.status_code}, not {expected}")
    assert not wrong, "\n".join(wrong)


def test_anonymous_user_is_redirected_to_sign_in_from_the_library(world: Any) -> None:
    for ask in asks(world):
        answer = ask.make(client_of())
        assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/accounts/login/"), ask.name


@pytest.mark.parametrize("trouble", TROUBLES)
def test_every_writing_address_on_the_other_channel(world: Any, trouble: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(world.desk.olga)
    wrong = []
    with TROUBLES[trouble](monkeypatch):
        before = dump()
        clip = {"kind": "library_test", "id": "1", "space": str(world.desk.space.pk), "parent": "top"}
        saving = Ask("save_address", "writer", (), {**clip, "url": "https://example.org/tide/1"})
        for ask in [*(each for each in asks(world) if each.is_writing), Ask("clip", "writer", (), clip), saving]:
            answer = ask.make(client)
            if answer.status_code != 423:
                wrong.append(f"{ask.name}: {answer.status_code}")
        assert dump() == before
    assert not wrong, "\n".join(wrong)


def test_reading_is_allowed_without_actions(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client = client_of(world.desk.olga)
    monkeypatch.setenv("RELEASE_CHANNEL", "staging")
    for ask in asks(world):
        if not ask.is_writing:
            assert ask.make(client).status_code == 200, ask.name
    assert 'id="editor"' not in client.get(reverse("library:page", args=[world.page.pk])).text


def test_pages_of_another_workspace_are_no_targets(world: Any) -> None:
    """Ids of somebody else's workspace in a form that is one's own."""
    desk = world.desk
    other = actions.create_workspace(desk.xaver, "Elsewhere")
    space = actions.create_space(desk.xaver, other.pk, "His")
    folder = actions.create_page(desk.xaver, space.pk, title="His folder", node_type="folder")
    client = client_of(desk.wanda)
    bulk = reverse("library:bulk", args=[desk.space.pk])
    move = reverse("library:move", args=[world.page.pk])
    before = dump()
    for address, body in (
        (bulk, {"act": "move", "page": world.page.pk, "parent": folder.pk}),
        (bulk, {"act": "move", "page": world.page.pk, "parent": "top", "to": space.pk}),
        (bulk, {"act": "trash", "page": folder.pk}),
        (bulk, {"act": "pin", "page": folder.pk}),
        (move, {"parent": folder.pk}),
        (reverse("library:create", args=[desk.space.pk]), {"title": "x", "node_type": "file", "parent": folder.pk}),
    ):
        assert client.post(address, body).status_code == 404, body
    assert dump() == before
