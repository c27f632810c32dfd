"""Restricted pages and approved versions on every way by which a page can be read."""

from __future__ import annotations

import io
import zipfile

import pytest

from watchbook.base.testing.people import client_of
from watchbook.core.jobs.runner import run_now
from watchbook.core.notify.models import Delivery
from watchbook.core.people import groups
from watchbook.core.search.find import find
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.library import access, actions
from watchbook.systems.library.errors import Conflict, NoAllowedParent, NotFound, Wrong
from watchbook.systems.library.models import Page, PageGuard, PageOrigin
from watchbook.systems.library.store.publish import page_id_of

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
API = "/api/v1/library"


def found_words(user, words: str) -> set[str]:
    return {page_id_of(hit.object_id) for hit in find(words, scopes=access.scopes_of(user), kinds=["page"]).items}


def reads(user, page: Page, words: str, desk) -> set[str]:
    """The ways by which the user meets the page, or words of its text, each tried for real."""
    client, met = client_of(user), set()
    pk, space = str(page.pk), str(page.space_id)

    def api(path: str) -> str:
        answer = client.get(API + path)
        return answer.content.decode() if answer.status_code == 200 else ""

    ways = {
        "page": client.get(f"/library/pages/{pk}/").content.decode(),
        "history": client.get(f"/library/pages/{pk}/history/").content.decode(),
        "tree": client.get(f"/library/pages/{page.parent_page_id}/tree/").content.decode(),
        "folder": client.get(f"/library/pages/{page.parent_page_id}/").content.decode(),
        "recent": client.get("/library/recent/").content.decode(),
        "search": client.get("/library/search/", {"q": words}).content.decode().partition("hits")[2],
        "everywhere": client.get("/search/", {"q": words}).content.decode().partition("hits")[2],
        "activity": client.get("/api/v1/stream").content.decode(),
        "picker": client.get(f"/library/pages/{desk.other.pk}/link-targets/", {"q": "pier"}).content.decode(),
        "backlinks": api(f"/pages/{desk.other.pk}/backlinks"),
        "favourites": api("/favourites"),
        "api page": api(f"/pages/{pk}"),
        "api pages": api(f"/spaces/{space}/pages"),
        "api children": api(f"/pages/{page.parent_page_id}/children"),
        "api search": api(f"/search?q={words}"),
        "api recent": api("/recent"),
        "api versions": api(f"/pages/{pk}/versions"),
        "api tag": api(f"/tags/{desk.tag.pk}/pages"),
        "api templates": api(f"/workspaces/{page.space.workspace_id}/templates"),
        "targets": client.get(f"/library/spaces/{space}/targets/?part=list&q=pier").content.decode(),
    }
    met |= {name for name, text in ways.items() if page.title in text}
    answer = client.get(f"{API}/spaces/{space}/export")
    if answer.status_code == 200:
        with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as archive:
            text = "".join(archive.read(name).decode() for name in archive.namelist())
        met |= {"export"} if words in text else set()
    if client.get(f"/library/files/{desk.attachment.pk}/x.txt").status_code == 200:
        met.add("file")
    if any(row.pk == user.pk for row in access.readers_of(page)):
        met.add("notified")
    return met


@pytest.fixture
def harbour(desk):
    """A page in a folder, met by every way there is."""
    home = desk.folder("Home")
    desk.other = desk.file("Other", home, "<p>nothing</p>")
    link = f'<a href="/library/pages/{desk.other.pk}/">other</a>'
    page = desk.file("Pier four", home, f"<p>lighthouse {link}</p>")
    desk.attachment = actions.upload(desk.wanda, page.pk, [b"words"], "x.txt")
    content = f'{page.content}<p><a href="/library/files/{desk.attachment.pk}/x.txt">x</a></p>'
    actions.save_page(desk.wanda, page.pk, version=1, content=content)
    desk.tag = actions.set_tags(desk.wanda, page.pk, ["harbour"])[0]
    actions.set_template(desk.wanda, page.pk, on=True)
    for person in (desk.wanda, desk.rene, desk.zita, desk.olga):
        actions.set_favourite(person, page.pk, kept=True)
    return Page.objects.get(pk=page.pk)


def test_restricted_page_appears_nowhere(desk, harbour):
    before = {name: reads(desk.people[name], harbour, "lighthouse", desk) for name in ("olga", "wanda", "rene", "zita")}
    assert before["rene"] == before["zita"]
    assert before["wanda"] >= before["rene"] | {"picker", "targets"} - {"targets"}
    assert len(before["rene"]) >= 20, before["rene"]
    actions.restrict_page(desk.wanda, harbour.pk, user_ids=[desk.rene.pk], group_ids=[])
    for name in ("olga", "wanda", "rene"):
        assert reads(desk.people[name], harbour, "lighthouse", desk) == before[name], name
    assert reads(desk.zita, harbour, "lighthouse", desk) == set()
    actions.unrestrict_page(desk.wanda, harbour.pk)
    assert reads(desk.zita, harbour, "lighthouse", desk) == before["zita"]


def test_group_opens_a_restricted_page(desk, harbour):
    group = groups.create("Pilots", actor=desk.olga)
    actions.restrict_page(desk.wanda, harbour.pk, user_ids=[], group_ids=[group.pk])
    with pytest.raises(NotFound):
        actions.open_page(desk.zita, harbour.pk)
    groups.add_member(group, desk.zita, actor=desk.olga)
    assert actions.open_page(desk.zita, harbour.pk)
    # A grant gives no role: who is in no space of the page stays outside.
    groups.add_member(group, desk.otto, actor=desk.olga)
    with pytest.raises(NotFound):
        actions.open_page(desk.otto, harbour.pk)
    with pytest.raises(Wrong):
        actions.restrict_page(desk.wanda, harbour.pk, user_ids=[desk.xaver.pk], group_ids=[])


class TestRestrictionsFollowTheTree:
    def visible(self, user, *pages) -> list[bool]:
        ids = set(access.readable(user).values_list("pk", flat=True))
        assert ids == {pk for pk in Page.objects.values_list("pk", flat=True) if self.opens(user, pk)}
        return [page.pk in ids for page in pages]

    def opens(self, user, pk) -> bool:
        for trashed in (False, True):
            try:
                return bool(access.page_for(user, pk, trashed=trashed))
            except NotFound:
                continue
        return False

    def test_pages_below_are_covered_however_they_come_there(self, desk):
        secret, home = desk.folder("Secret"), desk.folder("Home")
        old = desk.file("Old", secret, "<p>lantern</p>")
        actions.restrict_page(desk.wanda, secret.pk, user_ids=[desk.rene.pk], group_ids=[])
        new, moved = desk.file("New", secret), desk.folder("Moved", home)
        below = desk.file("Below", moved, "<p>lantern</p>")
        actions.move_page(desk.wanda, moved.pk, parent_page_id=secret.pk)
        copy = actions.duplicate_page(desk.wanda, old.pk)
        assert self.visible(desk.zita, old, new, moved, below, copy) == [False] * 5
        assert self.visible(desk.rene, old, new, moved, below, copy) == [True] * 5
        assert found_words(desk.zita, "lantern") == set()
        actions.move_page(desk.wanda, moved.pk, parent_page_id=home.pk)
        assert self.visible(desk.zita, moved, below) == [True, True]
        assert found_words(desk.zita, "lantern") == {str(below.pk)}

    def test_inner_restriction_needs_both_grants(self, desk):
        outer = desk.folder("Outer")
        inner = desk.folder("Inner", outer)
        page = desk.file("Page", inner, "<p>lantern</p>")
        actions.restrict_page(desk.wanda, inner.pk, user_ids=[desk.rene.pk, desk.zita.pk], group_ids=[])
        actions.restrict_page(desk.wanda, outer.pk, user_ids=[desk.rene.pk], group_ids=[])
        assert self.visible(desk.zita, outer, inner, page) == [False] * 3
        assert self.visible(desk.rene, outer, inner, page) == [True] * 3
        assert found_words(desk.rene, "lantern") == {str(page.pk)} != found_words(desk.zita, "lantern")
        actions.unrestrict_page(desk.wanda, outer.pk)
        assert self.visible(desk.zita, outer, inner, page) == [True] * 3

    def test_trash_restore_and_another_space_keep_it_hidden(self, desk):
        secret, home = desk.folder("Secret"), desk.folder("Home")
        page = desk.file("Page", secret, "<p>lantern</p>")
        actions.trash_page(desk.wanda, page.pk)
        actions.restrict_page(desk.wanda, secret.pk, user_ids=[], group_ids=[])
        assert self.visible(desk.zita, page) == [False]
        assert not actions.list_trash(desk.zita, desk.space.pk).exists()
        actions.restore_page(desk.wanda, page.pk)
        assert self.visible(desk.zita, page) == [False]
        actions.trash_page(desk.wanda, page.pk)
        other = actions.create_space(desk.olga, desk.workspace.pk, "Other")
        for person, role in ((desk.wanda, "writer"), (desk.zita, "reader")):
            actions.set_space_member(desk.olga, other.pk, person=person, role=role)
        actions.move_page(desk.wanda, secret.pk, parent_page_id=None, space_id=other.pk)
        assert self.visible(desk.zita, secret, page, home) == [False, False, True]
        assert found_words(desk.zita, "lantern") == set()

    def test_copy_leaves_out_what_the_user_cannot_open(self, desk):
        home = desk.folder("Home")
        hidden = desk.folder("Hidden", home)
        desk.file("Page", hidden)
        actions.restrict_page(desk.sven, hidden.pk, user_ids=[], group_ids=[])
        copy = actions.duplicate_page(desk.wanda, home.pk)
        assert not Page.objects.filter(parent_page=copy).exists()
        whole = actions.duplicate_page(desk.sven, home.pk)
        inner = Page.objects.get(parent_page=whole)
        assert self.visible(desk.zita, whole, inner) == [True, False]

    def test_only_editors_with_access_change_it_and_links_are_refused(self, desk):
        page = desk.file("Page", desk.folder("Home"))
        _link, token = actions.share_page(desk.wanda, page.pk)
        actions.restrict_page(desk.sven, page.pk, user_ids=[], group_ids=[])
        with pytest.raises(NotFound):
            actions.open_share(token)
        for act in (actions.unrestrict_page, actions.restriction_of, actions.trash_page):
            with pytest.raises(NotFound):
                act(desk.wanda, page.pk)
        with pytest.raises(Conflict) as refused:
            actions.share_page(desk.sven, page.pk)
        assert refused.value.code == "restricted"
        actions.unrestrict_page(desk.sven, page.pk)
        assert actions.open_share(token).pk == page.pk
        assert not PageGuard.objects.exists()


def test_viewers_get_the_approved_version_everywhere(desk, harbour):
    actions.share_page(desk.wanda, harbour.pk)
    actions.set_properties(desk.wanda, harbour.pk, {"status": "approved"})
    actions.set_approved_only(desk.sven, harbour.space_id, on=True)
    run_now("library.index", {"space_id": str(harbour.space_id)})
    actions.save_page(desk.wanda, harbour.pk, version=2, title="Unapproved title", content="<p>foghorn</p>")
    later = Page.objects.get(pk=harbour.pk)
    assert actions.properties_of(desk.wanda, harbour.pk).status == "draft"
    assert reads(desk.rene, later, "foghorn", desk) <= {"notified", "file"}
    met = reads(desk.rene, harbour, "lighthouse", desk)
    assert met >= {"page", "tree", "folder", "search", "everywhere", "export", "api page", "api search", "file"}, met
    assert reads(desk.wanda, later, "foghorn", desk) >= {"page", "search", "everywhere", "export", "api page", "recent"}
    assert found_words(desk.wanda, "lighthouse") == set()
    with pytest.raises(NotFound):
        actions.open_version(desk.rene, harbour.pk, 3)
    actions.set_properties(desk.wanda, harbour.pk, {"status": "approved"})
    assert reads(desk.rene, later, "foghorn", desk) >= {"page", "search", "activity"}
    assert found_words(desk.rene, "lighthouse") == set()


def test_page_without_an_approved_version_is_not_there_for_viewers(desk, harbour):
    _link, token = actions.share_page(desk.wanda, harbour.pk)
    before = reads(desk.rene, harbour, "lighthouse", desk)
    actions.set_approved_only(desk.sven, harbour.space_id, on=True)
    assert reads(desk.rene, harbour, "lighthouse", desk) <= {"notified"}
    with pytest.raises(NotFound):
        actions.open_share(token)
    assert StreamEntry.objects.filter(object_id=str(harbour.pk), scope=f"drafts:{harbour.space_id}").exists()
    actions.set_approved_only(desk.sven, harbour.space_id, on=False)
    assert reads(desk.rene, harbour, "lighthouse", desk) == before
    assert actions.open_share(token)


def test_shared_page_shows_the_approved_version(desk, harbour):
    _link, token = actions.share_page(desk.wanda, harbour.pk)
    actions.set_properties(desk.wanda, harbour.pk, {"status": "approved"})
    actions.set_approved_only(desk.sven, harbour.space_id, on=True)
    actions.save_page(desk.wanda, harbour.pk, version=2, content="<p>foghorn</p>")
    shown = client_of(None).get(f"/library/shared/{token}/").content.decode()
    assert "lighthouse" in shown
    assert "foghorn" not in shown
    assert actions.open_shared(token, desk.attachment.pk)
    actions.set_properties(desk.wanda, harbour.pk, {"withdraw": True})
    assert client_of(None).get(f"/library/shared/{token}/").status_code == 404


def test_approved_autosave_is_not_joined(desk):
    page = desk.file("Page", desk.folder("Home"), "<p>a</p>")
    actions.save_page(desk.wanda, page.pk, version=1, content="<p>b</p>", autosave=True)
    actions.set_properties(desk.wanda, page.pk, {"status": "approved"})
    actions.save_page(desk.wanda, page.pk, version=2, content="<p>c</p>", autosave=True)
    assert [version.number for version in actions.list_versions(desk.wanda, page.pk)] == [3, 2, 1]


def test_owner_is_notified_once_when_a_page_is_no_longer_valid(desk, later):
    page = desk.file("Page", desk.folder("Home"))
    actions.set_properties(desk.wanda, page.pk, {"owner_id": desk.rene.pk, "valid_until": "2026-01-01"})
    for _time in range(2):
        run_now("library.remind_owners")
    assert Delivery.objects.filter(kind="expired", channel__user=desk.rene).count() == 1
    with pytest.raises(Wrong):
        actions.set_properties(desk.wanda, page.pk, {"owner_id": desk.xaver.pk})
    with pytest.raises(Wrong):
        actions.set_properties(desk.wanda, page.pk, {"status": "perfect"})


def test_lists_cost_the_same_with_many_restrictions(desk, django_assert_max_num_queries):
    home = desk.folder("Home")
    for number in range(12):
        page = desk.file(f"{number}", home)
        actions.restrict_page(desk.wanda, page.pk, user_ids=[desk.rene.pk] if number % 2 else [], group_ids=[])
    with django_assert_max_num_queries(16):
        assert len(actions.list_children(desk.rene, page_id=home.pk).items) == 6


def test_viewer_reads_no_unapproved_version_by_merging(desk, harbour):
    actions.set_properties(desk.wanda, harbour.pk, {"status": "approved"})
    actions.set_approved_only(desk.sven, harbour.space_id, on=True)
    actions.save_page(desk.wanda, harbour.pk, version=2, content="<p>foghorn</p>")
    given = {"title": "Mine", "content": "<p>other words</p>", "version": "3"}
    answer = client_of(desk.rene).post(f"/library/pages/{harbour.pk}/merge/", given)
    assert answer.status_code == 403
    assert "foghorn" not in answer.content.decode()
    assert client_of(desk.wanda).post(f"/library/pages/{harbour.pk}/merge/", given).status_code == 200


class TestWhatIsHiddenStaysHidden:
    @pytest.fixture
    def secret(self, desk):
        """A page in Home that only Sven, the admin of the space, can open."""
        desk.home = desk.folder("Home")
        secret = desk.folder("Secret", desk.home)
        desk.inner = desk.file("Inner", secret, "<p>lantern</p>")
        actions.restrict_page(desk.sven, secret.pk, user_ids=[], group_ids=[])
        return secret

    def test_editor_takes_no_hidden_page_to_another_space(self, desk, secret):
        own = actions.create_space(desk.olga, desk.workspace.pk, "Own")
        actions.set_space_member(desk.olga, own.pk, person=desk.wanda, role="admin")
        with pytest.raises(Conflict) as refused:
            actions.move_page(desk.wanda, desk.home.pk, parent_page_id=None, space_id=own.pk)
        assert refused.value.code == "hidden_pages"
        with pytest.raises(Conflict):
            actions.bulk_move(desk.wanda, [desk.home.pk], parent_page_id=None, space_id=own.pk)
        assert actions.move_page(desk.olga, desk.home.pk, parent_page_id=None, space_id=own.pk).space_id == own.pk

    def test_nothing_is_put_below_a_page_that_the_user_cannot_open(self, desk, secret, clips, tmp_path):
        page = desk.file("Page", desk.home)
        gone = desk.file("Gone", desk.home)
        actions.trash_page(desk.wanda, gone.pk)
        path = tmp_path / "a.md"
        path.write_text("words")
        space = desk.space.pk
        acts = (
            lambda: actions.bulk_move(desk.wanda, [page.pk], parent_page_id=secret.pk, space_id=space),
            lambda: actions.duplicate_page(desk.wanda, page.pk, parent_page_id=secret.pk),
            lambda: actions.restore_page(desk.wanda, gone.pk, parent_page_id=secret.pk),
            lambda: actions.import_file(desk.wanda, space, path, "a.md", parent_page_id=secret.pk),
            lambda: actions.plan_import(desk.wanda, space, path, "a.md", parent_page_id=secret.pk),
            lambda: actions.clip(
                desk.wanda, kind="library_test", object_id="1", space_id=space, parent_page_id=secret.pk
            ),
        )
        for act in acts:
            with pytest.raises(NotFound):
                act()
        assert [child.pk for child in Page.objects.filter(parent_page=secret)] == [desk.inner.pk]

    def test_restore_offers_no_hidden_folder(self, desk, secret):
        page = desk.file("Page", desk.folder("Old"))
        actions.trash_page(desk.wanda, page.pk)
        actions.trash_page(desk.wanda, page.parent_page_id)
        with pytest.raises(NoAllowedParent) as refused:
            actions.restore_page(desk.wanda, page.pk)
        assert [each["title"] for each in refused.value.details["targets"]] == ["Home"]

    def test_deleting_a_restricted_folder_opens_nothing_that_stays_in_the_trash(self, desk, secret):
        actions.trash_page(desk.sven, desk.inner.pk)
        actions.trash_page(desk.sven, secret.pk)
        actions.purge_page(desk.sven, secret.pk)
        run_now("library.empty_trash")
        assert not Page.objects.filter(pk=secret.pk).exists()
        assert not actions.list_trash(desk.zita, desk.space.pk).exists()
        with pytest.raises(NotFound):
            actions.open_trashed(desk.wanda, desk.inner.pk)
        assert actions.open_trashed(desk.sven, desk.inner.pk)


def test_viewer_compares_the_source_of_a_clip_with_the_approved_version(desk, clips):
    page = actions.clip(desk.wanda, kind="library_test", object_id="1", space_id=desk.space.pk)
    actions.save_page(desk.wanda, page.pk, version=1, content="<p>lighthouse</p>")
    actions.set_properties(desk.wanda, page.pk, {"status": "approved"})
    actions.set_approved_only(desk.sven, desk.space.pk, on=True)
    actions.save_page(desk.wanda, page.pk, version=2, content="<p>foghorn</p>")
    PageOrigin.objects.update(page_version=3)
    _state, shown = actions.compare_source(desk.rene, page.pk)
    assert "lighthouse" in str(shown)
    assert "foghorn" not in str(shown)
    assert "foghorn" in str(actions.compare_source(desk.wanda, page.pk)[1])
