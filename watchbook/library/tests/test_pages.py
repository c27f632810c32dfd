"""The pages of the library: who sees what, what they do, and how many queries they need."""

from __future__ import annotations

import zipfile
from io import BytesIO
from types import SimpleNamespace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from watchbook.base.testing.people import client_of
from watchbook.core.jobs.runner import run_now
from watchbook.library import actions
from watchbook.library.card import card
from watchbook.library.models import FolderMigrationJob, JobStatus, Page, PageVersion, ShareLink
from watchbook.library.store.sharing import digest_of
from watchbook.library.views.merge import blocks, pieces_of

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>\"'&"
# The way to a page is walked level by level; these pages are two levels deep.
MOST_QUERIES = 45


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
    def test_to_everybody_else_it_is_not_there(self, desk, tree, name):
        client = client_of(desk.people[name])
        for address in addresses(desk, *tree):
            assert client.get(address).status_code == 404, address
        assert "Space" not in client.get(url("shelves")).text.split("<main")[1].replace("workspace", "")
        assert "Tides" not in client.get(url("search", q="water")).text

    def test_a_reader_is_shown_no_button_that_would_be_refused(self, desk, tree):
        page = client_of(desk.rene).get(url("page", tree[0].pk)).text
        for word in ("data-new=", "data-bulk-act", 'name="act"', "rename-page"):
            assert word not in page
        assert "contenteditable" not in client_of(desk.rene).get(url("page", tree[1].pk)).text

    def test_a_reader_who_writes_all_the_same_is_refused(self, desk, tree):
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
    def test_hostile_titles_are_words(self, desk, tree):
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

    def test_an_illegal_place_is_refused_with_its_reason(self, desk, tree):
        answer = client_of(desk.wanda).post(url("create", desk.space.pk), {"title": "X", "node_type": "file"})
        assert answer.status_code == 409
        assert "the top level holds folders" in answer.text

    def test_pins_come_first_and_every_row_is_there(self, desk, tree):
        folder, _file = tree
        last = desk.file("Zebra", folder)
        actions.pin_page(desk.wanda, last.pk, pinned=True)
        page = client_of(desk.wanda).get(url("page", folder.pk)).text
        assert 'class="pin"' in page
        body = page[page.index("<tbody>") :]
        assert body.index("Zebra") < body.index("Tides")

    def test_long_folders_come_in_pieces(self, desk, tree):
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
        assert "the top level takes folders only" in page
        assert "already here" in page
        page = client.get(url("targets", desk.space.pk, page=str(folder.pk), part="list")).text
        assert "is being moved itself" in page
        assert "Reports" in client.get(url("targets", desk.space.pk, page=str(file.pk), part="list", q="repo")).text

    def test_queries_do_not_grow_with_the_pages(self, desk, tree):
        folder, file = tree
        desk.file("Below", file)
        client = client_of(desk.wanda)
        shown = [url("space", desk.space.pk), url("page", folder.pk), url("page", file.pk), url("page_tree", folder.pk)]
        before = [queries(client, address) for address in shown]
        for number in range(60):
            leaf = desk.file(f"Leaf {number:02}", folder)
            desk.folder(f"Branch {number:02}", folder)
            desk.file("Inside", leaf)
            desk.folder(f"Top {number:02}")
            desk.file(f"Below {number:02}", file)
        after = [queries(client, address) for address in shown]
        assert after == before
        assert max(after) <= MOST_QUERIES

    def test_the_list_of_workspaces_needs_the_same_few(self, desk, tree):
        client = client_of(desk.olga)
        before = queries(client, url("shelves"))
        for number in range(5):
            made = actions.create_workspace(desk.olga, f"More {number}")
            actions.create_space(desk.olga, made.pk, "One")
        assert queries(client, url("shelves")) == before


def queries(client, address):
    client.get(address)
    with CaptureQueriesContext(connection) as seen:
        assert client.get(address).status_code == 200
    return len(seen)


class TestFile:
    def test_a_save_is_a_version_and_a_late_one_is_refused_with_nothing_lost(self, desk, tree):
        _folder, file = tree
        client = client_of(desk.wanda)
        script = {"headers": {"Accept": "application/json"}}
        first = client.post(url("save", file.pk), {"title": "Tides", "content": "<p>One</p>", "version": 1}, **script)
        assert first.json()["version"] == 2
        late = client.post(url("save", file.pk), {"title": "Tides", "content": "<p>Two</p>", "version": 1}, **script)
        assert (late.status_code, late.json()["error"]["code"]) == (409, "version_conflict")
        assert Page.objects.get(pk=file.pk).content == "<p>One</p>"

    def test_both_texts_stand_side_by_side_and_are_put_together(self, desk, tree):
        _folder, file = tree
        base = "<p>First</p><p>Middle</p><p>Last</p>"
        actions.save_page(desk.wanda, file.pk, version=1, content=base)
        theirs = "<p>First of theirs</p><p>Middle</p><p>Last</p>"
        actions.save_page(desk.sven, file.pk, version=2, content=theirs)
        yours = "<p>First</p><p>Middle</p><p>Last of mine</p>"
        client = client_of(desk.wanda)
        asked = {"title": "Tides", "content": yours, "version": 2}
        page = client.post(url("merge", file.pk), asked)
        assert "First of theirs" in page.text
        assert "Last of mine" in page.text
        assert [piece.proposed for piece in page.context["pieces"]] == ["theirs", "", "yours"]
        chosen = {f"piece-{piece.number}": piece.proposed for piece in page.context["pieces"] if not piece.is_same}
        client.post(url("merge", file.pk), {**asked, **chosen, "merged": 1, "shown": 3})
        saved = Page.objects.get(pk=file.pk)
        assert saved.content == "<p>First of theirs</p><p>Middle</p><p>Last of mine</p>"
        assert saved.version == 4

    def test_a_place_without_a_choice_keeps_both(self, desk, tree):
        _folder, file = tree
        actions.save_page(desk.sven, file.pk, version=1, content="<p>Theirs</p>")
        values = {"title": "Tides", "content": "<p>Mine</p>", "version": 1, "merged": 1, "shown": 2}
        client_of(desk.wanda).post(url("merge", file.pk), values)
        assert Page.objects.get(pk=file.pk).content == "<p>Theirs</p><p>Mine</p>"

    def test_what_one_of_them_took_away_is_proposed_to_stay_away(self):
        base, longer = "<p>A</p><p>B</p>", "<p>A</p>"
        assert [piece.proposed for piece in pieces_of(base, longer, base)] == ["", "yours"]
        assert [piece.proposed for piece in pieces_of(longer, base, base)] == ["", "theirs"]
        assert [piece.proposed for piece in pieces_of("<p>X</p>", "<p>Y</p>", base)] == ["both"]

    @pytest.mark.parametrize(
        "text", ["", "<p>A</p>", "plain <b>and</b> bold<p>A &amp; B</p><hr>", "<ul><li>1<br>2</li></ul>\n<p>3</p>"]
    )
    def test_blocks_joined_are_the_text_again(self, text):
        assert "".join(blocks(text)) == text

    def test_pictures_of_other_sites_are_links(self, desk, tree):
        image = '<p>Map <img src="https://example.org/a.png" alt="Harbour"></p>'
        actions.save_page(desk.wanda, tree[1].pk, version=1, content=image)
        read = client_of(desk.rene).get(url("page", tree[1].pk)).text
        assert '<img src="https' not in read
        assert 'href="https://example.org/a.png"' in read
        assert 'data-src="https://example.org/a.png"' in client_of(desk.wanda).get(url("page", tree[1].pk)).text

    def test_history_shows_the_difference_and_restores(self, desk, tree):
        _folder, file = tree
        actions.save_page(desk.wanda, file.pk, version=1, content="<p>Low water at noon</p>")
        client = client_of(desk.wanda)
        page = client.get(url("history", file.pk)).text
        assert "<del>High</del><ins>Low</ins>" in page
        client.post(url("restore_version", file.pk, 1))
        assert Page.objects.get(pk=file.pk).content == "<p>High water at noon</p>"
        assert PageVersion.objects.filter(page=file).count() == 3
        assert client.get(url("history", file.pk, old="9", new="99")).status_code == 404

    def test_moves_by_drag_answer_with_the_way_back(self, desk, tree):
        folder, file = tree
        other = desk.folder("Other")
        client = client_of(desk.wanda)
        script = {"headers": {"Accept": "application/json"}}
        told = client.post(url("move", file.pk), {"parent": other.pk}, **script).json()
        assert Page.objects.get(pk=file.pk).parent_page_id == other.pk
        client.post(told["undo"])
        assert Page.objects.get(pk=file.pk).parent_page_id == folder.pk
        refused = client.post(url("move", folder.pk), {"parent": file.pk}, **script)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "cycle")

    def test_favourites_are_one_persons_own(self, desk, tree):
        client_of(desk.rene).post(url("favourite", tree[1].pk), {"on": 1})
        assert "Tides" in client_of(desk.rene).get(url("favourites")).text
        assert "Tides" not in client_of(desk.zita).get(url("favourites")).text


class TestTrash:
    def test_trash_offers_to_take_it_back_and_the_trash_page_does(self, desk, tree):
        folder, file = tree
        client = client_of(desk.wanda)
        page = client.post(url("trash_page", file.pk), follow=True).text
        assert "Tides is in the trash" in page
        assert url("restore", file.pk) in page
        assert "Tides" in client.get(url("trash", desk.space.pk)).text
        client.post(url("restore", file.pk))
        assert Page.objects.get(pk=file.pk).parent_page_id == folder.pk

    def test_a_file_whose_folder_is_gone_is_offered_others(self, desk, tree):
        folder, file = tree
        other = desk.folder("Other")
        actions.trash_page(desk.wanda, file.pk)
        actions.trash_page(desk.wanda, folder.pk)
        client = client_of(desk.wanda)
        answer = client.post(url("restore", file.pk))
        assert answer.status_code == 409
        assert f'value="{other.pk}"' in answer.text
        client.post(url("restore", file.pk), {"parent": other.pk})
        assert Page.objects.get(pk=file.pk).parent_page_id == other.pk


class TestInAndOut:
    def test_what_goes_out_comes_in_again(self, desk, tree):
        client = client_of(desk.wanda)
        out = b"".join(client.get(url("export", desk.space.pk)).streaming_content)
        assert "Reports/Tides.md" in zipfile.ZipFile(BytesIO(out)).namelist()
        other = actions.create_space(desk.olga, desk.workspace.pk, "Second")
        file = SimpleUploadedFile("space.zip", out)
        client_of(desk.olga).post(url("import", other.pk), {"file": file})
        assert [page.title for page in Page.objects.filter(space=other).order_by("title")] == ["Reports", "Tides"]

    def test_what_cannot_be_read_says_so(self, desk):
        client = client_of(desk.wanda)
        answer = client.post(url("import", desk.space.pk), {"file": SimpleUploadedFile("a.zip", b"nonsense")})
        assert answer.status_code == 422
        assert "not a zip file" in answer.text
        assert client.post(url("import", desk.space.pk)).status_code == 422

    def test_a_link_reads_one_page_until_it_is_revoked(self, desk, tree):
        client = client_of(desk.wanda)
        page = client.post(url("share", tree[1].pk), {"days": "7"})
        address = page.context["address"]
        path = "/library/shared/" + address.split("/library/shared/")[1]
        visitor = client_of()
        assert "High water at noon" in visitor.get(path).text
        assert address not in client.get(url("share", tree[1].pk)).text
        link = ShareLink.objects.get(token_digest=digest_of(path.split("/")[-2]))
        client.post(url("revoke", link.pk))
        assert visitor.get(path).status_code == 404

    def test_an_item_of_another_system_is_filed(self, desk, tree, clips):
        client = client_of(desk.wanda)
        asked = {"kind": "library_test", "id": "1"}
        page = client.get(url("clip", **asked)).text
        assert "High water" in page
        answer = client.post(url("clip"), {**asked, "space": desk.space.pk, "parent": tree[0].pk}, follow=True)
        assert "Clipped from" in answer.text
        assert Page.objects.get(title="High water").parent_page_id == tree[0].pk
        assert client.get(url("clip", kind="nothing", id="1")).status_code == 404


class TestPlaces:
    def test_nothing_yet_says_what_to_do(self, desk):
        client = client_of(desk.xaver)
        assert "Make your first workspace" in client.get(url("shelves")).text
        page = client.post(url("create_workspace"), {"name": "Mine", "space": "Notes"}, follow=True).text
        assert "This space is empty" in page

    def test_the_home_page_tells_of_what_one_may_read(self, desk, tree):
        newcomer, reader = (card(SimpleNamespace(user=user)) for user in (desk.xaver, desk.rene))
        assert (newcomer.number, "Make your first workspace" in newcomer.hint) == (None, True)
        assert (reader.number, [fact.value for fact in reader.facts[1:]]) == (2, ["1", "2"])
        assert "Library" in client_of(desk.rene).get("/").text

    def test_people_flags_and_names(self, desk):
        client, ws = client_of(desk.olga), desk.workspace
        client.post(url("member", ws.pk), {"email": "xaver@example.com", "role": "member"})
        client.post(url("space_member", desk.space.pk), {"person": desk.xaver.pk, "role": "reader"})
        assert client_of(desk.xaver).get(url("space", desk.space.pk)).status_code == 200
        client.post(url("remove_space_member", desk.space.pk), {"person": desk.xaver.pk})
        assert client_of(desk.xaver).get(url("space", desk.space.pk)).status_code == 404
        client.post(url("remove_member", ws.pk), {"person": desk.xaver.pk})
        assert client_of(desk.xaver).get(url("workspace", ws.pk)).status_code == 404
        client.post(url("flags", ws.pk), {"flag": ["folders_enabled"]})
        assert ws.flags() == {"folders_enabled": True, "sharing_enabled": False}
        client.post(url("rename_workspace", ws.pk), {"name": "Harbour"})
        client.post(url("rename_space", desk.space.pk), {"name": "Quay"})
        assert "Quay" in client.get(url("shelves")).text
        assert client_of(desk.wanda).post(url("flags", ws.pk)).status_code == 403

    def test_another_channel_is_said_and_nothing_is_offered(self, desk, tree):
        client = client_of(desk.olga)
        client.post(url("channel", desk.workspace.pk), {"channel": "staging"})
        page = client.get(url("page", tree[1].pk)).text
        assert "This workspace belongs to the staging deployment" in page
        assert "contenteditable" not in page
        answer = client.post(url("rename", tree[1].pk), {"title": "X"})
        assert answer.status_code == 423
        assert "can only be read here" in answer.text

    def test_the_books_are_compared_and_kept(self, desk, tree):
        client = client_of(desk.olga)
        assert "Not compared yet" in client.get(url("reconciliation", desk.workspace.pk)).text
        page = client.post(url("reconciliation", desk.workspace.pk), follow=True).text
        assert "All agree" in page


class TestMigration:
    def test_plan_start_progress_and_rollback(self, desk):
        actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": False})
        files = [desk.file(f"Old {number}") for number in range(3)]
        client = client_of(desk.olga)
        assert "Switch them on first" in client.get(url("migrations", desk.space.pk)).text
        actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": True})
        page = client.get(url("migrations", desk.space.pk)).text
        assert "3 files would be moved" in page
        assert not FolderMigrationJob.objects.exists()
        client.post(url("migrations", desk.space.pk))
        job = FolderMigrationJob.objects.get()
        assert "hx-get" in client.get(url("migration", job.pk)).text
        client.post(url("migration_pause", job.pk))
        assert "Paused" in client.get(url("migration", job.pk)).text
        client.post(url("migration_resume", job.pk))
        run_now("library.migrate", args={"job_id": str(job.pk)})
        live = client.get(url("migration_live", job.pk))
        assert live.headers["HX-Refresh"] == "true"
        job.refresh_from_db()
        assert job.status == JobStatus.SUCCESS
        client.post(url("migration_rollback", job.pk))
        run_now("library.rollback", args={"job_id": str(job.pk)})
        assert {Page.objects.get(pk=file.pk).parent_page_id for file in files} == {None}
        assert "Rolled back" in client.get(url("migration", job.pk)).text
        assert client.get(url("migration", job.pk, status="rolled_back")).text.count('<th scope="row"><a') == 3
        assert client.post(url("migration_pause", job.pk)).status_code == 409
