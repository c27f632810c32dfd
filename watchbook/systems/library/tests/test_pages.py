"""The pages of the library: who sees what, what they do, and how many queries they need."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from watchbook.base.testing.environment import NIGHTLY
from watchbook.base.testing.people import client_of
from watchbook.systems.library import actions
from watchbook.systems.library.models import Page

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>\"'&"
# The way to a page is walked level by level; these pages are two levels deep.
MOST_QUERIES = 50


def url(name, *args, **asked):
    return reverse(f"library:{name}", args=args, query=asked or None)


def addresses(desk, folder, file):
    """Every page that reads one space."""
    space = desk.space.pk
    return [
        url("space", space), url("space_tree", space), url("trash", space), url("space_settings", space),
        url("export", space), url("page", folder.pk), url("page", file.pk), url("page_tree", folder.pk),
        url("history", file.pk), url("search", space=str(space), q="High"),
    ]  # fmt: skip


@pytest.fixture
def tree(desk):
    folder = desk.folder("Reports")
    return folder, desk.file("Tides", folder, "<p>High water at noon</p>")


class TestWhoSeesWhat:
    @pytest.mark.parametrize("name", ["olga", "adam", "sven", "wanda", "rene"])
    def test_people_of_the_space_read_every_page(self, desk, tree, name):
        client = client_of(desk.people[name])
        for address in addresses(desk, *tree):
            assert client.get(address).status_code == 200, address

    @pytest.mark.parametrize("name", ["otto", "xaver"])
    def test_other_users_get_not_found(self, desk, tree, name):
        client = client_of(desk.people[name])
        for address in addresses(desk, *tree):
            assert client.get(address).status_code == 404, address
        assert "Space" not in client.get(url("overview")).text.split("<main")[1].replace("workspace", "")
        assert "Tides" not in client.get(url("search", q="water")).text

    def test_reader_is_shown_no_button_that_would_be_refused(self, desk, tree):
        page = client_of(desk.rene).get(url("page", tree[0].pk)).text
        for word in ("data-new=", "data-bulk-act", 'name="act"', "rename-page"):
            assert word not in page
        assert "contenteditable" not in client_of(desk.rene).get(url("page", tree[1].pk)).text

    def test_reader_who_writes_all_the_same_is_refused(self, desk, tree):
        _folder, file = tree
        client = client_of(desk.rene)
        asked = [
            (url("create", desk.space.pk), {"title": "X", "node_type": "folder"}),
            (url("save", file.pk), {"title": "X", "content": "", "version": 1}),
            (url("rename", file.pk), {"title": "X"}), (url("trash_page", file.pk), {}),
            (url("pin", file.pk), {"on": 1}), (url("duplicate", file.pk), {}),
            (url("move", file.pk), {}), (url("share", file.pk), {}),
            (url("bulk", desk.space.pk), {"act": "trash", "page": file.pk}),
        ]  # fmt: skip
        for address, values in asked:
            assert client.post(address, values).status_code == 403, address
        assert Page.objects.live().count() == 2

    def test_only_who_runs_the_workspace_migrates(self, desk, tree):
        for name, status in (("olga", 200), ("adam", 200), ("sven", 403), ("wanda", 403), ("otto", 404)):
            assert client_of(desk.people[name]).get(url("migrations", desk.space.pk)).status_code == status, name


class TestFolder:
    def test_hostile_titles_are_escaped(self, desk, tree):
        desk.file(HOSTILE, tree[0])
        for address in addresses(desk, *tree)[:4]:
            assert "<script>alert" not in client_of(desk.wanda).get(address).text

    def test_only_legal_kinds_are_offered(self, desk, tree):
        client = client_of(desk.wanda)
        top, folder, file = (
            client.get(a).text for a in (url("space", desk.space.pk), *(url("page", p.pk) for p in tree))
        )
        assert ('data-new="folder"' in top, 'data-new="file"' in top) == (True, False)
        assert ('data-new="folder"' in folder, 'data-new="file"' in folder) == (True, True)
        assert 'data-new="file"' in file
        actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": False})
        top = client.get(url("space", desk.space.pk)).text
        assert ('data-new="folder"' in top, 'data-new="file"' in top) == (False, True)

    def test_illegal_place_is_refused_with_its_reason(self, desk, tree):
        answer = client_of(desk.wanda).post(url("create", desk.space.pk), {"title": "X", "node_type": "file"})
        assert answer.status_code == 409
        assert "the top level holds only folders" in answer.text

    def test_pins_come_first_and_every_row_is_there(self, desk, tree):
        folder, _file = tree
        last = desk.file("Zebra", folder)
        actions.pin_page(desk.wanda, last.pk, pinned=True)
        page = client_of(desk.wanda).get(url("page", folder.pk)).text
        assert 'class="pin"' in page
        body = page[page.index("<tbody>") :]
        assert body.index("Zebra") < body.index("Tides")

    def test_long_folders_are_paged(self, desk, tree):
        folder, _file = tree
        for number in range(105):
            desk.file(f"Leaf {number:03}", folder)
        client = client_of(desk.wanda)
        page = client.get(url("page", folder.pk))
        assert page.text.count('name="page"') == 100
        following = client.get(url("page", folder.pk, cursor=page.context["next"]))
        assert following.text.count('name="page"') == 6

    def test_bulk_moves_pins_and_trashes(self, desk, tree):
        folder, file = tree
        other = desk.folder("Other")
        client = client_of(desk.wanda)
        address = url("bulk", desk.space.pk)
        client.post(address, {"act": "move", "page": [file.pk], "parent": other.pk})
        assert Page.objects.get(pk=file.pk).parent_page_id == other.pk
        client.post(address, {"act": "pin", "page": [file.pk, folder.pk]})
        assert [row.is_pinned for row in Page.objects.with_type().filter(pk__in=[file.pk, folder.pk])] == [True, True]
        client.post(address, {"act": "trash", "page": [other.pk, folder.pk]})
        assert Page.objects.live().count() == 0
        assert client.post(address, {"act": "trash"}).status_code == 422
        assert client.post(address, {"act": "trash", "page": "nonsense"}).status_code == 422

    def test_targets_say_why_they_cannot_be_chosen(self, desk, tree):
        folder, file = tree
        client = client_of(desk.wanda)
        page = client.get(url("targets", desk.space.pk, page=str(file.pk))).text
        assert "the top level holds only folders" in page
        assert "already here" in page
        page = client.get(url("targets", desk.space.pk, page=str(folder.pk), part="list")).text
        assert "is one of the pages to move" in page
        assert "Reports" in client.get(url("targets", desk.space.pk, page=str(file.pk), part="list", q="repo")).text

    def test_queries_do_not_grow_with_the_pages(self, desk, tree):
        folder, file = tree
        desk.file("Below", file)
        client = client_of(desk.wanda)
        shown = [url("space", desk.space.pk), url("page", folder.pk), url("page", file.pk), url("page_tree", folder.pk)]
        before = [queries(client, address) for address in shown]
        for number in range(60 if NIGHTLY else 20):
            leaf = desk.file(f"Leaf {number:02}", folder)
            desk.folder(f"Branch {number:02}", folder)
            desk.file("Inside", leaf)
            desk.folder(f"Top {number:02}")
            desk.file(f"Below {number:02}", file)
        after = [queries(client, address) for address in shown]
        assert after == before
        assert max(after) <= MOST_QUERIES

    def test_list_of_workspaces_needs_the_same_few(self, desk, tree):
        client = client_of(desk.olga)
        before = queries(client, url("overview"))
        for number in range(5):
            made = actions.create_workspace(desk.olga, f"More {number}")
            actions.create_space(desk.olga, made.pk, "One")
        assert queries(client, url("overview")) == before


def queries(client, address):
    client.get(address)
    with CaptureQueriesContext(connection) as seen:
        assert client.get(address).status_code == 200
    return len(seen)
