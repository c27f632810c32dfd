"""Tags, templates, favourites in their own order, recent changes, and search with filters."""

from __future__ import annotations

import pytest
from django.utils.timezone import localtime

from watchbook.base.testing.people import client_of
from watchbook.systems.library import actions, filters
from watchbook.systems.library.errors import Conflict, NotAllowed, NotFound, Wrong
from watchbook.systems.library.models import Page, PageTag, Tag

pytestmark = [pytest.mark.django_db, pytest.mark.sql]


@pytest.fixture
def home(desk):
    return desk.folder("Home")


def titles(found) -> list[str]:
    return [each.page.title for each in found.items]


def search(desk, user=None, **given):
    user = user or desk.wanda
    return filters.search(user, filters.read(user, **given))


class TestTags:
    def test_spellings_are_one_tag_and_unused_ones_go(self, desk, home):
        one, two = desk.file("One", home), desk.file("Two", home)
        actions.set_tags(desk.wanda, one.pk, ["Harbour", " #harbour ", "夜班"])
        actions.set_tags(desk.wanda, two.pk, ["HARBOUR"])
        assert [(tag.name, tag.page_count) for tag in actions.list_tags(desk.rene, desk.workspace.pk)] == [
            ("Harbour", 2), ("夜班", 1)
        ]  # fmt: skip
        actions.set_tags(desk.wanda, one.pk, [])
        assert [tag.name for tag in Tag.objects.all()] == ["Harbour"]
        with pytest.raises(Wrong):
            actions.set_tags(desk.wanda, one.pk, [f"t{n}" for n in range(21)])

    def test_rename_and_merge_change_all_pages(self, desk, home):
        pages = [desk.file(name, home) for name in ("One", "Two", "Three")]
        for page, names in zip(pages, (["a"], ["a", "b"], ["b"]), strict=True):
            actions.set_tags(desk.wanda, page.pk, names)
        first, second = Tag.objects.order_by("folded")
        with pytest.raises(NotAllowed):
            actions.rename_tag(desk.wanda, first.pk, "c")
        with pytest.raises(Conflict) as refused:
            actions.rename_tag(desk.olga, first.pk, "B")
        assert refused.value.code == "tag_exists"
        assert actions.rename_tag(desk.olga, first.pk, "c").name == "c"
        assert actions.merge_tags(desk.olga, first.pk, second.pk) == 2
        assert {page.title for page in actions.tagged_pages(desk.rene, second.pk)} == {"One", "Two", "Three"}
        assert PageTag.objects.count() == 3
        with pytest.raises(NotFound):
            actions.tag_for(desk.xaver, second.pk)

    def test_pages_in_another_workspace_get_its_tags(self, desk, home):
        page = desk.file("One", home)
        actions.set_tags(desk.wanda, page.pk, ["harbour"])
        other = actions.create_workspace(desk.wanda, "Other")
        space = actions.create_space(desk.wanda, other.pk, "Space")
        folder = actions.create_page(desk.wanda, space.pk, title="Folder", node_type="folder")
        actions.move_page(desk.wanda, page.pk, parent_page_id=folder.pk, space_id=space.pk)
        assert [tag.workspace_id for tag in Tag.objects.all()] == [other.pk]
        assert [tag.name for tag in actions.tags_of(page)] == ["harbour"]

    def test_pages_of_tags(self, desk, home):
        page = desk.file("One", home)
        tag = actions.set_tags(desk.wanda, page.pk, ["harbour"])[0]
        client = client_of(desk.olga)
        assert "harbour" in client.get(f"/library/workspaces/{desk.workspace.pk}/tags/").content.decode()
        client.post(f"/library/tags/{tag.pk}/", {"name": "port"})
        assert "port" in client.get(f"/library/pages/{page.pk}/").content.decode()
        client_of(desk.wanda).post(f"/library/pages/{page.pk}/tags/", {"tags": "sea，夜班, "})
        assert [tag.name for tag in actions.tags_of(page)] == ["sea", "夜班"]


class TestTemplates:
    def test_new_page_has_text_and_tags_of_the_template(self, desk, home):
        model = desk.file("Report", home, "<h2>Findings</h2>")
        actions.set_tags(desk.wanda, model.pk, ["report"])
        with pytest.raises(Wrong):
            actions.create_page(desk.wanda, desk.space.pk, title="New", parent_page_id=home.pk, template_id=model.pk)
        actions.set_template(desk.wanda, model.pk, on=True)
        answer = client_of(desk.wanda).post(
            f"/library/spaces/{desk.space.pk}/new/",
            {"title": "June", "node_type": "file", "parent": home.pk, "template": model.pk},
        )
        made = Page.objects.get(title="June")
        assert answer["Location"] == f"/library/pages/{made.pk}/"
        assert made.content == "<h2>Findings</h2>"
        assert [tag.name for tag in actions.tags_of(made)] == ["report"]
        with pytest.raises(Wrong):
            actions.set_template(desk.wanda, home.pk, on=True)

    def test_hidden_template_is_not_offered(self, desk, home):
        model = desk.file("Report", home, "<h2>Findings</h2>")
        actions.set_template(desk.wanda, model.pk, on=True)
        actions.restrict_page(desk.sven, model.pk, user_ids=[], group_ids=[])
        assert actions.list_templates(desk.wanda, desk.workspace.pk) == []
        with pytest.raises(NotFound):
            actions.create_page(desk.wanda, desk.space.pk, title="New", parent_page_id=home.pk, template_id=model.pk)


def test_favourites_keep_the_order_of_the_user(desk, home, later):
    pages = []
    for name in ("One", "Two", "Three"):
        pages.append(desk.file(name, home))
        actions.set_favourite(desk.rene, pages[-1].pk, kept=True)
        later(minutes=1)

    def order() -> list[str]:
        return [page.title for page in actions.list_favourites(desk.rene)]

    assert order() == ["Three", "Two", "One"]
    client_of(desk.rene).post("/library/favourites/", {"page": pages[0].pk, "to": "up"})
    assert order() == ["Three", "One", "Two"]
    actions.order_favourites(desk.rene, [pages[1].pk])
    assert order() == ["Two", "Three", "One"]
    new = desk.file("New", home)
    actions.set_favourite(desk.rene, new.pk, kept=True)
    assert order() == ["New", "Two", "Three", "One"]
    with pytest.raises(NotFound):
        actions.order_favourites(desk.zita, [new.pk])


def test_recent_pages_are_the_last_changed_first(desk, home, later):
    first = desk.file("First", home)
    later(minutes=1)
    desk.file("Second", home)
    later(minutes=1)
    actions.save_page(desk.wanda, first.pk, version=1, content="<p>x</p>")
    answer = client_of(desk.rene).get("/api/v1/library/recent").json()
    assert [item["title"] for item in answer["items"]] == ["First", "Second"]
    assert client_of(desk.xaver).get("/api/v1/library/recent").json()["items"] == []


class TestSearch:
    def test_last_word_is_a_beginning_and_hits_have_their_path(self, desk, home):
        folder = desk.folder("Winter", home)
        desk.file("Timetable", folder, "<p>the ferries leave at 22:40</p>")
        found = search(desk, q="ferr")
        assert titles(found) == ["Timetable"]
        assert [crumb.title for crumb in found.items[0].path] == ["Home", "Winter"]
        assert titles(search(desk, q='"ferr"')) == []
        assert titles(search(desk, q="ferr leave")) == []

    def test_filters_narrow_words_and_work_alone(self, desk, home, later):
        old = desk.file("Old ferry", home)
        actions.set_tags(desk.wanda, old.pk, ["harbour"])
        later(days=3)
        new = actions.create_page(desk.sven, desk.space.pk, title="New ferry", parent_page_id=home.pk)
        tag, day = Tag.objects.get(), f"{localtime(new.updated_at):%Y-%m-%d}"
        assert titles(search(desk, q="ferry")) == ["New ferry", "Old ferry"]
        assert titles(search(desk, q="ferry", tag=str(tag.pk))) == ["Old ferry"]
        assert titles(search(desk, tag=str(tag.pk))) == ["Old ferry"]
        assert titles(search(desk, q="ferry", author=desk.sven.email)) == ["New ferry"]
        assert titles(search(desk, q="ferry", since=day)) == ["New ferry"]
        assert titles(search(desk, q="ferry", until=f"{localtime(old.updated_at):%Y-%m-%d}")) == ["Old ferry"]
        assert titles(search(desk, q="ferry", space=str(desk.space.pk))) == ["New ferry", "Old ferry"]
        assert titles(search(desk)) == []

    def test_wrong_filters_are_refused_by_name(self, desk, home):
        for name, value in (("tag", "x"), ("author", "nobody@example.com"), ("since", "soon"), ("space", "1")):
            answer = client_of(desk.wanda).get("/api/v1/library/search", {"q": "x", name: value})
            assert answer.status_code == 422
            assert answer.json()["error"]["details"][0]["field"] == name
            assert client_of(desk.wanda).get("/library/search/", {"q": "x", name: value}).status_code == 422

    def test_pages_of_results_miss_and_repeat_nothing(self, desk, home, later):
        for number in range(25):
            page = desk.file(f"Ferry {number}", home)
            if number % 5 == 0:
                actions.set_tags(desk.wanda, page.pk, ["fifth"])
        tag = Tag.objects.get()
        for given in ({"q": "ferr"}, {"space": str(desk.space.pk)}, {"q": "ferr", "tag": str(tag.pk)}):
            asked, seen, cursor = filters.read(desk.wanda, **given), [], ""
            while True:
                found = filters.search(desk.wanda, asked, cursor=cursor, limit=4)
                seen += titles(found)
                cursor = found.next
                if not cursor:
                    break
            wanted = 5 if "tag" in given else 25 + ("space" in given)
            assert len(seen) == len(set(seen)) == wanted, given
