"""The matrix, moves, order, trash: one person at a time."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base.testing.environment import NIGHTLY
from watchbook.systems.library import access, actions
from watchbook.systems.library.errors import Cycle, Hierarchy, NoAllowedParent, NotFound
from watchbook.systems.library.models import Page, PageNodeMeta, Space
from watchbook.systems.library.models.tree import children

pytestmark = pytest.mark.django_db


def titles(desk, page=None, **asked):
    found = actions.list_children(desk.rene, space_id=desk.space.pk, page_id=page.pk if page else None, **asked)
    return [one.title for one in found.items]


@pytest.mark.parametrize(
    ("parent", "child", "is_allowed"),
    [
        (None, "folder", True),
        (None, "file", False),
        ("folder", "folder", True),
        ("folder", "file", True),
        ("file", "folder", False),
        ("file", "file", True),
    ],
)
def test_matrix_holds_for_create_move_and_duplicate(desk, parent, child, is_allowed):
    home = desk.folder("Home")
    above = None if parent is None else desk.page("Above", parent, home)
    moved = desk.page("Moved", child, home)
    for act in (
        lambda: desk.page("New", child, above),
        lambda: actions.move_page(desk.wanda, moved.pk, parent_page_id=above.pk if above else None),
        lambda: actions.bulk_move(desk.wanda, [moved.pk], parent_page_id=above.pk if above else None),
    ):
        if is_allowed:
            act()
        else:
            with pytest.raises(Hierarchy):
                act()


def test_disabled_folders_allow_pages_at_the_top_level(desk):
    actions.set_flags(desk.olga, desk.workspace.pk, {"folders_enabled": False})
    page = desk.file("Old style")
    assert page.parent_page_id is None
    with pytest.raises(Exception, match="disabled"):
        desk.folder("New style")
    child = desk.file("Below", page)
    actions.move_page(desk.wanda, child.pk, parent_page_id=None)


def test_page_cannot_go_below_itself(desk):
    top = desk.folder("Top")
    deep = desk.folder("Deep", desk.folder("Mid", top))
    for target in (top, deep):
        with pytest.raises(Cycle):
            actions.move_page(desk.wanda, top.pk, parent_page_id=target.pk)


def test_moving_a_subtree_writes_one_page_row(desk):
    top, other = desk.folder("Top"), desk.folder("Other")
    for n in range(20):
        desk.file(f"File {n}", top)
    with CaptureQueriesContext(connection) as queries:
        actions.move_page(desk.wanda, top.pk, parent_page_id=other.pk)
    writes = [q["sql"] for q in queries if q["sql"].startswith("UPDATE") and "pages" in q["sql"].split("SET")[0]]
    assert len(writes) == 1


def test_siblings_keep_the_given_order(desk):
    home = desk.folder("Home")
    a, b, c = (desk.file(name, home) for name in "abc")
    actions.move_page(desk.wanda, c.pk, parent_page_id=home.pk, after_page_id=a.pk)
    assert titles(desk, home) == ["a", "c", "b"]
    actions.move_page(desk.wanda, b.pk, parent_page_id=home.pk, before_page_id=a.pk)
    assert titles(desk, home) == ["b", "a", "c"]


def test_one_gap_can_take_any_number(desk):
    home = desk.folder("Home")
    first, last = desk.file("first", home), desk.file("last", home)
    for n in range(260 if NIGHTLY else 80):
        page = first if n % 2 else last
        other = last if n % 2 else first
        actions.move_page(desk.wanda, page.pk, parent_page_id=home.pk, after_page_id=other.pk)
        new = desk.file(f"{n}", home)
        actions.move_page(desk.wanda, new.pk, parent_page_id=home.pk, before_page_id=page.pk)
    keys = list(Page.objects.below(desk.space.pk, home.pk).values_list("sort_key", flat=True))
    assert len(set(keys)) == len(keys)
    assert max(map(len, keys)) <= 41


def test_equal_keys_still_make_room_between_them(desk):
    home = desk.folder("Home")
    pages = [desk.file(name, home) for name in "abc"]
    Page.objects.filter(parent_page=home).update(sort_key="i5")
    order = list(Page.objects.below(desk.space.pk, home.pk).in_order())
    new = desk.file("new", home)
    actions.move_page(desk.wanda, new.pk, parent_page_id=home.pk, after_page_id=order[0].pk)
    assert titles(desk, home) == [order[0].title, "new", order[1].title, order[2].title]
    assert len(pages) == 3


def test_pins_come_first_and_pages_of_the_list_lose_no_page(desk):
    home = desk.folder("Home")
    made = [desk.file(f"{n:02}", home) for n in range(25)]
    for n in (20, 7, 3):
        actions.pin_page(desk.wanda, made[n].pk, pinned=True)
    assert titles(desk, home)[:4] == ["03", "07", "20", "00"]
    for order in ("custom", "updated", "title"):
        seen, cursor = [], ""
        while True:
            piece = actions.list_children(desk.rene, page_id=home.pk, cursor=cursor, limit=4, order=order)
            seen += [page.title for page in piece.items]
            cursor = piece.next
            if not cursor:
                break
        assert sorted(seen) == [f"{n:02}" for n in range(25)]
        assert seen[:3] == ["03", "07", "20"]


def test_plain_query_and_narrowed_query_list_the_same(desk, later):
    """Where nothing is hidden a list is read with plain SQL; what it returns is what the ORM returns."""
    home = desk.folder("Home")
    made = [desk.page(f"页 {n % 5}", "folder" if n % 3 else "file", home) for n in range(12)]
    for n in (2, 4, 8):
        later(minutes=1)
        actions.pin_page(desk.wanda, made[n].pk, pinned=True)
    actions.trash_page(desk.wanda, desk.file("Below", made[4]).pk)
    desk.file("Below", made[1])
    columns = [field.attname for field in Page._meta.concrete_fields if field.attname != "content"]
    columns += ["node_type", "is_pinned", "pinned_at", "has_children"]
    for parent in (home.pk, None):
        for order in ("custom", "updated", "title"):
            cursor = ""
            while True:
                ways = [
                    children(desk.space.pk, parent, narrow=narrow, cursor=cursor, limit=5, order=order)
                    for narrow in (None, lambda rows: rows)
                ]
                plain, narrowed = ([[getattr(row, name) for name in columns] for row in one.items] for one in ways)
                assert plain == narrowed
                assert ways[0].next == ways[1].next
                cursor = ways[0].next
                if not cursor:
                    break
    assert ways[0].items[0].content == "", "loaded when it is asked for"


def test_short_way_to_a_list_opens_to_those_who_can_open_the_page(desk):
    home = desk.folder("Home")
    trashed = desk.folder("Gone", home)
    actions.trash_page(desk.wanda, trashed.pk)

    def openers(page: Page) -> set[str]:
        return {name for name in desk.people if access.open_space_of(desk.people[name], page.pk) == desk.space.pk}

    readers = {"olga", "adam", "sven", "wanda", "rene", "zita"}
    assert openers(home) == readers
    assert openers(trashed) == set()
    inner = desk.folder("Inner", home)
    actions.restrict_page(desk.sven, inner.pk, user_ids=[], group_ids=[])
    assert openers(home) == set(), "asks the long way, which knows what is hidden"
    assert [page.title for page in actions.list_children(desk.rene, page_id=home.pk).items] == []
    assert [page.title for page in actions.list_children(desk.sven, page_id=home.pk).items] == ["Inner"]
    actions.unrestrict_page(desk.sven, inner.pk)
    actions.set_approved_only(desk.sven, desk.space.pk, on=True)
    assert openers(home) == set()
    actions.set_approved_only(desk.sven, desk.space.pk, on=False)
    assert openers(home) == readers
    actions.delete_space(desk.olga, desk.space.pk, name=desk.space.name)
    assert openers(home) == set()


def test_way_to_a_page_begins_at_the_top(desk):
    top = desk.folder("Top")
    deep = desk.file("Deep", desk.folder("Mid", top))
    assert [crumb.title for crumb in actions.breadcrumb(desk.rene, deep.pk)] == ["Top", "Mid", "Deep"]


def test_restore_brings_back_exactly_one_batch(desk):
    top = desk.folder("Top")
    early, late = desk.file("early", top), desk.file("late", top)
    actions.trash_page(desk.wanda, early.pk)
    actions.trash_page(desk.wanda, top.pk)
    with pytest.raises(NotFound):
        actions.open_page(desk.wanda, late.pk)
    actions.restore_page(desk.wanda, top.pk)
    assert titles(desk, top) == ["late"]
    actions.restore_page(desk.wanda, early.pk)
    assert titles(desk, top) == ["early", "late"]


def test_page_without_its_parent_is_offered_others(desk):
    gone, kept = desk.folder("Gone"), desk.folder("Kept")
    page = desk.file("page", gone)
    actions.trash_page(desk.wanda, page.pk)
    actions.trash_page(desk.wanda, gone.pk)
    with pytest.raises(NoAllowedParent) as refused:
        actions.restore_page(desk.wanda, page.pk)
    assert [target["title"] for target in refused.value.details["targets"]] == ["Kept"]
    actions.restore_page(desk.wanda, page.pk, parent_page_id=kept.pk)
    assert titles(desk, kept) == ["page"]


def test_folder_without_its_parent_is_restored_at_the_top_level(desk):
    gone = desk.folder("Gone")
    inner = desk.folder("Inner", gone)
    actions.trash_page(desk.wanda, inner.pk)
    actions.trash_page(desk.wanda, gone.pk)
    assert actions.restore_page(desk.wanda, inner.pk).parent_page_id is None


def test_bulk_move_keeps_a_subtree_whole(desk):
    home, top = desk.folder("Home"), desk.folder("Top")
    child = desk.folder("Child", top)
    leaf = desk.file("Leaf", child)
    moved = actions.bulk_move(desk.wanda, [leaf.pk, child.pk, top.pk], parent_page_id=home.pk)
    assert [page.title for page in moved] == ["Top"]
    assert [crumb.title for crumb in actions.breadcrumb(desk.rene, leaf.pk)] == ["Home", "Top", "Child", "Leaf"]


def test_copy_has_the_whole_subtree_and_its_own_history(desk):
    top = desk.folder("Top")
    desk.file("Inner", desk.file("File", top, "<p>words</p>"))
    copy = actions.duplicate_page(desk.wanda, top.pk)
    assert copy.title == "Top (copy)"
    assert [page.title for page in actions.list_children(desk.rene, page_id=copy.pk).items] == ["File"]
    assert Page.objects.filter(content="<p>words</p>").count() == 2
    assert PageNodeMeta.objects.count() == Page.objects.count()


def test_move_to_another_space_takes_every_row_along(desk):
    other = actions.create_space(desk.olga, desk.workspace.pk, "Other")
    home = desk.folder("Home")
    page = desk.file("Page", home)
    binned = desk.file("Binned", home)
    actions.trash_page(desk.wanda, binned.pk)
    with pytest.raises(NotFound):
        actions.move_page(desk.wanda, home.pk, parent_page_id=None, space_id=other.pk)
    actions.move_page(desk.olga, home.pk, parent_page_id=None, space_id=other.pk)
    assert set(Page.objects.live().values_list("space_id", flat=True)) == {other.pk}
    assert PageNodeMeta.objects.get(page=page).space_id == other.pk
    with pytest.raises(NoAllowedParent):
        actions.restore_page(desk.wanda, binned.pk)


def test_every_structural_write_is_counted(desk):
    before = Space.objects.get(pk=desk.space.pk).tree_version
    page = desk.file("Page", desk.folder("Home"))
    actions.save_page(desk.wanda, page.pk, version=1, content="<p>x</p>")
    assert Space.objects.get(pk=desk.space.pk).tree_version == before + 2
