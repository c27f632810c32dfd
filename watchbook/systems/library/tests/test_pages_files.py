"""The pages of files: saving, merging, history, trash, import and export, links and clips."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import client_of
from watchbook.kit.templatetags.kit import when
from watchbook.systems.library import actions
from watchbook.systems.library.models import Page, PageVersion, ShareLink
from watchbook.systems.library.parse.merge import blocks, merge
from watchbook.systems.library.store.publish import digest_of
from watchbook.systems.library.tests.test_pages import tree, url

pytestmark = pytest.mark.django_db

__all__ = ["tree"]


class TestFile:
    def test_save_is_a_version_and_a_late_one_is_refused_with_nothing_lost(self, desk, tree):
        _folder, file = tree
        client = client_of(desk.wanda)
        script = {"headers": {"Accept": "application/json"}}
        first = client.post(url("save", file.pk), {"title": "Tides", "content": "<p>One</p>", "version": 1}, **script)
        assert first.json()["version"] == 2
        assert [f"?new={n}" in first.json()["history"] for n in (1, 2, 3)] == [True, True, False]
        assert first.json()["by"] == f"by {desk.wanda.email}"
        assert when(Page.objects.get(pk=file.pk).updated_at, "short") in first.json()["when"]
        late = client.post(url("save", file.pk), {"title": "Tides", "content": "<p>Two</p>", "version": 1}, **script)
        assert (late.status_code, late.json()["error"]["code"]) == (409, "version_conflict")
        assert Page.objects.get(pk=file.pk).content == "<p>One</p>"

    def test_both_texts_are_shown_beside_each_other_and_merged(self, desk, tree):
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
        assert [piece.is_conflict for piece in page.context["pieces"]] == [False, False, False]
        assert "No conflicts" in page.text
        client.post(url("merge", file.pk), {**asked, "merged": 1, "shown": 3})
        saved = Page.objects.get(pk=file.pk)
        assert saved.content == "<p>First of theirs</p><p>Middle</p><p>Last of mine</p>"
        assert saved.version == 4

    def test_conflict_without_a_choice_keeps_both(self, desk, tree):
        _folder, file = tree
        actions.save_page(desk.sven, file.pk, version=1, content="<p>Theirs</p>")
        values = {"title": "Tides", "content": "<p>Mine</p>", "version": 1, "merged": 1, "shown": 2}
        client_of(desk.wanda).post(url("merge", file.pk), values)
        assert Page.objects.get(pk=file.pk).content == "<p>Theirs</p><p>Mine</p>"

    def test_removal_by_one_writer_is_proposed(self):
        base, shorter = "<p>A</p><p>B</p>", "<p>A</p>"
        for theirs, yours in ((base, shorter), (shorter, base)):
            assert ["".join(part.chosen("both")) for part in merge(base, theirs, yours)] == ["<p>A</p>", ""]
        assert [part.is_conflict for part in merge(base, "<p>X</p>", "<p>Y</p>")] == [True]

    @pytest.mark.parametrize(
        "text", ["", "<p>A</p>", "plain <b>and</b> bold<p>A &amp; B</p><hr>", "<ul><li>1<br>2</li></ul>\n<p>3</p>"]
    )
    def test_joined_blocks_equal_the_text(self, text):
        assert "".join(blocks(text)) == text

    def test_pictures_of_other_sites_are_links(self, desk, tree):
        image = '<p>Map <img src="https://example.org/a.png" alt="Harbour"></p>'
        actions.save_page(desk.wanda, tree[1].pk, version=1, content=image)
        for person in (desk.rene, desk.wanda):
            read = client_of(person).get(url("page", tree[1].pk)).text
            assert '<img src="https' not in read
            assert 'href="https://example.org/a.png"' in read

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

    def test_single_version_has_nothing_to_be_compared_with(self, desk, tree):
        client = client_of(desk.wanda)
        alone = client.get(url("history", tree[1].pk)).text
        assert "Version 1" in alone
        assert 'type="radio"' not in alone
        assert "Compare" not in alone
        actions.save_page(desk.wanda, tree[1].pk, version=1, content="<p>Low water at noon</p>")
        both = client.get(url("history", tree[1].pk)).text
        assert both.count('type="radio"') == 4
        assert "Compare" in both

    def test_way_names_the_workspace_once(self, desk, tree):
        client = client_of(desk.rene)
        for name, pk in (("space", desk.space.pk), ("page", tree[0].pk), ("page", tree[1].pk), ("history", tree[1].pk)):
            crumbs = client.get(url(name, pk)).text.partition('<nav class="crumbs"')[2].partition("</nav>")[0]
            assert crumbs.count(url("workspace", desk.workspace.pk)) == 1, name

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
    def test_moving_to_trash_offers_undo_and_the_trash_page_restores(self, desk, tree):
        folder, file = tree
        client = client_of(desk.wanda)
        page = client.post(url("trash_page", file.pk), follow=True).text
        assert "Tides moved to trash" in page
        assert url("restore", file.pk) in page
        assert "Tides" in client.get(url("trash", desk.space.pk)).text
        client.post(url("restore", file.pk))
        assert Page.objects.get(pk=file.pk).parent_page_id == folder.pk

    def test_page_without_its_folder_is_offered_others(self, desk, tree):
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
    def test_exported_pages_are_imported_unchanged(self, desk, tree):
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
        assert "not a readable zip file" in answer.text
        assert client.post(url("import", desk.space.pk)).status_code == 422

    def test_link_reads_one_page_until_it_is_revoked(self, desk, tree):
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

    def test_item_of_another_system_is_clipped(self, desk, tree, clips):
        client = client_of(desk.wanda)
        asked = {"kind": "library_test", "id": "1"}
        page = client.get(url("clip", **asked)).text
        assert "High water" in page
        answer = client.post(url("clip"), {**asked, "space": desk.space.pk, "parent": tree[0].pk}, follow=True)
        assert "Saved from" in answer.text
        assert Page.objects.get(title="High water").parent_page_id == tree[0].pk
        assert client.get(url("clip", kind="nothing", id="1")).status_code == 404

    def test_skipped_items_are_counted(self, desk, tree, clips):
        client = client_of(desk.wanda)
        items = ["library_test:1", "library_test:gone", *(f"library_test:no-{n}" for n in range(60))]
        shown = client.get("/library/clip/", {"item": items}, headers={"Accept-Language": "en"}).text
        assert "61 items were skipped: they no longer exist, or more than 50 were selected." in squeezed(shown)
        given = {"item": items, "space": desk.space.pk, "parent": tree[0].pk}
        done = client.post("/library/clip/", given, follow=True, headers={"Accept-Language": "en"}).text
        assert "61 items were skipped" in squeezed(done)
        assert "Saved to library." in done

    def test_folder_of_clips_is_offered_once(self, desk, tree, clips):
        client = client_of(desk.wanda)
        asked = {"kind": "library_test", "id": "1"}
        before = client.get(url("clip", **asked)).text
        assert "created if needed" in before
        client.post(url("clip"), {**asked, "space": desk.space.pk, "parent": "top"})
        folder = Page.objects.get(title="Clips")
        after = client.get(url("clip", **asked))
        assert "created if needed" not in after.text
        assert [target.title for target in after.context["targets"]].count("Clips") == 1
        assert after.context["targets"][0].value == str(folder.pk), "ahead of older folders"
        (chosen,) = [part for part in after.text.split("<input")[1:] if " checked" in part.partition(">")[0]]
        assert str(folder.pk) in chosen
