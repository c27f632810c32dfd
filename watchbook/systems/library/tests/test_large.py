"""A large library: counts and lists that end, and queries that never begin with all pages."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.base.testing.people import client_of
from watchbook.systems.library import actions
from watchbook.systems.library.models import Page, listing, tree
from watchbook.systems.library.store.publish import page_path
from watchbook.systems.library.views import workspaces

pytestmark = pytest.mark.django_db

# Rows of each table, and rows for one value of each column of an index, as ANALYZE counts them.
SIZES = {
    "pages": (
        100_000,
        {
            "pages_recent": "100000 50000 1",
            "pages_changed": "100000 1 1",
            "pages_siblings": "100000 50000 10 1 1",
            "sqlite_autoindex_pages_1": "100000 1",
        },
    ),
    # Most links lead to one page: the index seems to find nothing.
    "page_links": (
        200_000,
        {"page_links_linking": "200000 200000 100000 1", "sqlite_autoindex_page_links_1": "200000 2 2 1"},
    ),
    "spaces": (2, {"sqlite_autoindex_spaces_1": "2 1"}),
}
# Steps of a plan that read all pages or links, or all pages of a space.
READS_ALL = re.compile(
    r"SCAN (pages|page_links)\b|SEARCH pages USING (COVERING )?INDEX \w+ \(space_id=\?\)", re.IGNORECASE
)
IN_ORDER = ("ORDER BY", "LIMIT")


@pytest.fixture
def planner(desk):
    """The planner of SQLite believes that the library is large."""
    if connection.vendor != "sqlite":
        pytest.skip("the plan of SQLite")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        for table, (_rows, indexes) in SIZES.items():
            cursor.execute("DELETE FROM sqlite_stat1 WHERE tbl = %s", [table])
            for index, stat in indexes.items():
                cursor.execute("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (%s, %s, %s)", [table, index, stat])
        cursor.execute("ANALYZE sqlite_schema")
        yield
        cursor.execute("DELETE FROM sqlite_stat1")
        cursor.execute("ANALYZE sqlite_schema")


def link(page):
    return f'<p><a href="{page_path(page.pk)}">it</a></p>'


def whole_reads(client, address):
    """The statements of a page that read all pages or links, each with the step of its plan."""
    client.get(address)
    with CaptureQueriesContext(connection) as caught:
        assert client.get(address).status_code == 200
    found = []
    for sql in [row["sql"] for row in caught.captured_queries if row["sql"].lstrip().startswith("SELECT")]:
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN QUERY PLAN " + sql.replace("%", "%%"))
            steps = [row[3] for row in cursor.fetchall()]
        # What is read in the order of an index and ends after some rows does not read all of them.
        is_cut = " LIMIT " in sql and not any("TEMP B-TREE FOR ORDER BY" in step for step in steps)
        found += [(step, sql) for step in steps if READS_ALL.search(step) and not is_cut]
    return found


def test_no_page_of_the_library_reads_all_pages_or_links(desk, planner):
    folder = desk.folder("A")
    target = desk.file("Target", folder)
    page = desk.file("Page", folder, link(target))
    client = client_of(desk.wanda)
    for address in (
        "/library/",
        f"/library/spaces/{desk.space.pk}/",
        page_path(folder.pk),
        page_path(target.pk),
        page_path(page.pk),
        f"{page_path(page.pk)}link-targets/",
        f"/api/v1/library/pages/{target.pk}/backlinks",
        f"{page_path(target.pk)}mentions/",
        f"{page_path(target.pk)}history/",
        "/library/recent/",
    ):
        assert whole_reads(client, address) == [], address


def test_one_list_of_children_reads_no_other_pages(desk):
    """PostgreSQL plans for all children that a folder has, although the list ends after some of them."""
    if connection.vendor != "postgresql":
        pytest.skip("the plan of PostgreSQL")
    folder = desk.folder("Crowd")
    crowd = [
        Page(space=desk.space, parent_page=folder, title=f"Page {n}", sort_key=key)
        for n, key in enumerate(tree.many_after(None, 3000))
    ]
    Page.objects.bulk_create(crowd)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE pages")
        with CaptureQueriesContext(connection) as caught:
            assert len(actions.list_children(desk.wanda, page_id=folder.pk, limit=100).items) == 100
        assert len(caught) == 3
        for row in caught.captured_queries:
            cursor.execute("EXPLAIN " + row["sql"].replace("%", "%%"))
            steps = [step for (step,) in cursor.fetchall()]
            assert not [step for step in steps if "Seq Scan on pages" in step], steps


def test_overview_counts_pages_up_to_a_number(desk, monkeypatch):
    monkeypatch.setattr(listing, "MOST_COUNTED", 3)
    monkeypatch.setattr(workspaces, "MOST_COUNTED", 3)
    folder = desk.folder("A")
    for title in ("One", "Two"):
        page = desk.file(title, folder)

    def shown():
        found = re.search(r'data-label="Pages">\s*([\d+]+)\s*<', client_of(desk.rene).get("/library/").text)
        return found[1] if found else None

    assert shown() == "3"
    desk.file("Three", folder)
    assert shown() == "3+"
    actions.trash_page(desk.wanda, page.pk)
    assert shown() == "3"


def test_last_save_is_of_the_newest_page_that_is_not_in_the_trash(desk):
    kept = desk.file("Kept", desk.folder("A"))
    actions.trash_page(desk.wanda, desk.file("Newest", kept).pk)
    entry = client_of(desk.rene).get("/library/").context["workspaces"][0]
    assert entry.spaces[0].saved_at == actions.open_page(desk.rene, kept.pk).updated_at


def test_pages_of_many_spaces_are_counted_each_for_itself(desk, monkeypatch):
    monkeypatch.setattr(listing, "SPACES_AT_ONCE", 2)
    other = actions.create_space(desk.olga, desk.workspace.pk, "Other")
    empty = actions.create_space(desk.olga, desk.workspace.pk, "Empty")
    desk.file("One", desk.folder("A"))
    actions.create_page(desk.olga, other.pk, title="B", node_type="folder")
    ids = [desk.space.pk, other.pk, empty.pk]
    assert listing.count_pages(ids) == dict(zip(ids, (2, 1, 0), strict=True))
    assert listing.count_pages([]) == {}


def test_backlinks_are_counted_up_to_a_number_and_all_are_listed(desk, monkeypatch):
    monkeypatch.setattr(actions.links, "FEW", 3)
    folder = desk.folder("A")
    target = desk.file("Target", folder)
    client = client_of(desk.rene)
    for number in range(3):
        desk.file(f"Page {number}", folder, link(target))
    assert not actions.links_of(desk.rene, target).is_count_cut
    for number in range(3, 5):
        desk.file(f"Page {number}", folder, link(target))
    found = actions.links_of(desk.rene, target)
    assert (found.backlink_count, found.is_count_cut) == (3, True)
    assert re.search(r'Linked from\s+<span class="count">3\+</span>', client.get(page_path(target.pk)).text)
    titles, cursor = [], ""
    while cursor is not None:
        answer = client.get(f"/api/v1/library/pages/{target.pk}/backlinks?limit=2&cursor={cursor}").json()
        titles += [item["title"] for item in answer["items"]]
        cursor = answer["next"]
    assert titles == [f"Page {number}" for number in (4, 3, 2, 1, 0)]
