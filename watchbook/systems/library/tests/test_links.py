"""Links by id: they survive moves and renames, broken ones are marked, and they never lead to another page."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watchbook.base.testing.environment import examples
from watchbook.base.testing.people import client_of
from watchbook.core.stream.clip import Address, find_address
from watchbook.systems.library import actions
from watchbook.systems.library.errors import Problem
from watchbook.systems.library.models import Page, PageLink, Space
from watchbook.systems.library.parse.html import clean
from watchbook.systems.library.parse.links import with_ids, without_ids
from watchbook.systems.library.store.publish import page_path

pytestmark = pytest.mark.django_db


def link(page: Page, anchor: str = "") -> str:
    return f'<p>See <a href="{page_path(page.pk)}{anchor}">it</a></p>'


def open_text(user, page: Page) -> str:
    return client_of(user).get(page_path(page.pk)).text


def test_address_decides_the_page_and_the_own_host_is_ignored():
    pk = "01234567-89ab-4def-8123-456789abcdef"
    other = pk.replace("0", "9", 1)
    given_text = f'<a href="https://desk.example/library/pages/{pk}/#h-x" data-page="{other}">a</a>'
    kept = with_ids(clean(given_text), "https://desk.example")
    assert f'href="/library/pages/{pk}/#h-x" data-page="{pk}"' in kept
    assert with_ids(clean(kept)) == kept
    assert "data-" not in without_ids(kept)
    assert "data-page" not in with_ids(clean(f'<a href="https://example.org/" data-page="{pk}">a</a>'))


def test_links_survive_rename_and_move_and_are_marked_when_broken(desk):
    folder, other = desk.folder("A"), desk.folder("B")
    target = desk.file("Target", folder)
    page = desk.file("Page", folder, link(target, "#h-part"))
    actions.save_page(desk.wanda, target.pk, version=1, title="Another name")
    actions.move_page(desk.wanda, target.pk, parent_page_id=other.pk)
    text = open_text(desk.rene, page)
    assert f'href="{page_path(target.pk)}#h-part"' in text
    assert "broken-link" not in text
    assert "Page</a>" in open_text(desk.rene, target), "the linking page is in the rail"
    actions.trash_page(desk.wanda, target.pk)
    assert "broken-link" in open_text(desk.rene, page)
    assert "1 broken link" in open_text(desk.rene, page)
    actions.restore_page(desk.wanda, target.pk)
    assert "broken-link" not in open_text(desk.rene, page)


def test_backlinks_show_only_what_the_reader_may_see(desk):
    target = desk.file("Target", desk.folder("A"))
    hidden = actions.create_space(desk.olga, desk.workspace.pk, "Hidden")
    folder = actions.create_page(desk.olga, hidden.pk, title="F", node_type="folder")
    secret = actions.create_page(
        desk.olga, hidden.pk, title="Secret plan", parent_page_id=folder.pk, content=link(target)
    )
    desk.file("Open", target, link(target) + link(secret))
    assert {page.title for page in actions.list_backlinks(desk.rene, target.pk)} == {"Open"}
    assert {page.title for page in actions.list_backlinks(desk.olga, target.pk)} == {"Open", "Secret plan"}
    assert "Secret plan" not in open_text(desk.rene, target)
    page = Page.objects.get(title="Open")
    assert actions.links_of(desk.rene, page).broken == [str(secret.pk)]
    assert actions.links_of(desk.olga, page).broken == []
    listed = client_of(desk.rene).get(f"/api/v1/library/pages/{target.pk}/backlinks").json()
    assert [item["title"] for item in listed["items"]] == ["Open"]


def test_links_of_the_text_are_brought_up_to_date(desk):
    one, two = desk.file("One", desk.folder("A")), desk.file("Two", desk.folder("B"))
    page = desk.file("Page", one, link(one))
    actions.save_page(desk.wanda, page.pk, version=1, content=link(two) + link(two, "#h-x"))
    assert set(PageLink.objects.filter(page=page).values_list("kind", "key")) == {("page", str(two.pk))}
    actions.restore_version(desk.wanda, page.pk, 1)
    assert set(PageLink.objects.filter(page=page).values_list("kind", "key")) == {("page", str(one.pk))}


def test_version_of_a_page_is_a_link_of_its_own(desk):
    target = desk.file("Target", desk.folder("A"), "<p>one</p>")
    address = f"{page_path(target.pk)}history/?old=1&amp;new=1"
    page = desk.file("Page", target, f'<p><a href="{address}">then</a></p>')
    item = actions.links_of(desk.rene, page).items[0]
    assert (item.kind, item.key, item.title) == ("page_version", f"{target.pk}:1", "Target")
    actions.trash_page(desk.wanda, page.pk)


def test_item_of_a_source_is_kept_by_kind_and_id_and_named_in_the_rail(desk, clips):
    assert find_address("/nowhere/at/all/") is None
    assert find_address("https://example.org/library/") is None
    page = desk.file("Page", desk.folder("A"), '<p><a href="/tides/items/7/">high tide</a></p>')
    assert not PageLink.objects.filter(page=page).exists(), "no page of this server"
    PageLink.objects.create(page=page, kind="library_test", key="1")
    PageLink.objects.create(page=page, kind="library_test", key="gone")
    items = {item.key: item.title for item in actions.links_of(desk.rene, page).items}
    assert items["1"]
    assert items["gone"] == ""
    assert "no longer available" in open_text(desk.rene, page)


def test_addresses_of_all_sources_name_their_items():
    from watchbook.core import registry

    asked = {
        "notes": Address("note", {"note_id": "abc"}),
        "reddit": Address("post", {"post_id": "t3x"}),
        "sitemaps": Address("change", {"change_id": "01234567-89ab-4def-8123-456789abcdef"}),
        "nga": Address("topic", {"tid": 404}),
    }
    found = {slug: registry.load(registry.source(slug).address)(address) for slug, address in asked.items()}
    assert found["nga"] is None, "not archived"
    assert {slug: pair[1] for slug, pair in found.items() if pair} == {
        "notes": "abc", "reddit": "t3x", "sitemaps": "01234567-89ab-4def-8123-456789abcdef",
    }  # fmt: skip


def test_unlinked_mentions_are_found_when_asked_for(desk):
    folder = desk.folder("A")
    target = desk.file("Harbour Light", folder)
    desk.file("Linked", folder, f"<p>The Harbour Light.</p>{link(target)}")
    desk.file("Named", folder, "<p>They saw the harbour light at night.</p>")
    desk.file("Apart", folder, "<p>Light in the harbour.</p>")
    found = actions.unlinked_mentions(desk.rene, target.pk)
    assert [hit.title for hit in found] == ["Named"]
    shown = client_of(desk.rene).get(f"{page_path(target.pk)}mentions/", headers={"HX-Request": "true"}).text
    assert "Named" in shown
    assert "<html" not in shown


def test_queries_do_not_grow_with_the_links(desk):
    folder = desk.folder("A")
    target = desk.file("Target", folder)
    costs = []
    for count in (2, 40):
        for number in range(count):
            desk.file(f"{count} {number}", folder, link(target))
        with CaptureQueriesContext(connection) as asked:
            assert actions.links_of(desk.rene, target).backlink_count >= count
        costs.append(len(asked))
    assert costs[0] == costs[1] <= 9, costs


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["move", "rename", "trash", "restore", "swap"]), st.integers(0, 5), st.integers(0, 5)
    ),
    max_size=14,
)  # fmt: skip


@settings(max_examples=examples(6), deadline=None, suppress_health_check=list(HealthCheck))
@given(ACTS)
def test_links_never_lead_to_another_page(transactional_db_for_examples, acts):
    """Whatever happens to the pages: each link opens the page it was made for, or is marked as broken."""
    desk = transactional_db_for_examples
    space = actions.create_space(desk.olga, desk.workspace.pk, "Random")
    folders = [actions.create_page(desk.olga, space.pk, title=f"F{n}", node_type="folder") for n in range(2)]
    pages = [_page(desk, space, folders[n % 2], f"P{n}") for n in range(6)]
    words = {page.pk: f"unique{number}" for number, page in enumerate(pages)}
    for page in pages:
        text = "".join(f'<p>{words[other.pk]} <a href="{page_path(other.pk)}">x</a></p>' for other in pages)
        actions.save_page(desk.olga, page.pk, version=1, content=f"<p>I am {words[page.pk]}</p>{text}")
    for act, first, second in acts:
        _do(desk, act, pages[first], pages[second], folders[second % 2])
    live = {page.pk for page in Page.objects.live().filter(space=space)}
    for page in Page.objects.live().filter(pk__in=words):
        broken = set(actions.links_of(desk.olga, page).broken)
        for word, href in re.findall(r'<p>(unique\d) <a href="([^"]*)"', page.content):
            target = re.search(r"[0-9a-f-]{36}", href)[0]
            found = Page.objects.get(pk=target)
            assert f"<p>I am {word}</p>" in found.content
            assert (target in broken) == (found.pk not in live)


def _page(desk, space: Space, folder: Page, title: str) -> Page:
    return actions.create_page(desk.olga, space.pk, title=title, parent_page_id=folder.pk)


def _do(desk, act: str, page: Page, other: Page, folder: Page) -> None:
    now = Page.objects.get(pk=page.pk)
    try:
        if act == "move":
            actions.move_page(desk.olga, page.pk, parent_page_id=folder.pk)
        elif act == "swap":
            actions.move_page(desk.olga, page.pk, parent_page_id=other.pk)
        elif act == "rename":
            actions.save_page(desk.olga, page.pk, version=now.version, title=other.title)
        elif act == "trash":
            actions.trash_page(desk.olga, page.pk)
        else:
            actions.restore_page(desk.olga, page.pk, parent_page_id=folder.pk)
    except Problem:
        pass  # in the trash, below itself: refused, nothing changed


@pytest.fixture
def transactional_db_for_examples(desk):
    return desk
