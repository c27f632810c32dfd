"""What must be forgotten is gone everywhere: rows, versions, search blocks, activity, outbox, audit log and caches.

Each source keeps an item with a made-up word that a saved search notified; then the item is forgotten in the way of its
source, and the word is looked for in the file of the database.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from standins.reddit import RedditSite
from standins.sitemap_site import SitemapSite
from watchbook.base import clock
from watchbook.core.jobs import runner
from watchbook.core.notify import actions as channels
from watchbook.core.notify.models import Delivery
from watchbook.core.search import saved
from watchbook.systems.library import actions as library_actions
from watchbook.systems.library.tests.conftest import make_desk
from watchbook.systems.notes import actions as notes_actions
from watchbook.systems.notes.tests.data import add_candidates, held, holder
from watchbook.systems.pages import actions as pages_actions
from watchbook.systems.pages.models import Page, Site
from watchbook.systems.pages.tests.conftest import Desk
from watchbook.systems.reddit import actions as reddit_actions
from watchbook.systems.reddit.tests.conftest import Scanner, point_at
from watchbook.systems.sitemaps import actions as sitemaps_actions
from watchbook.systems.sitemaps.tests.conftest import Watch, trust

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif("connection.vendor != 'sqlite'", reason="reads SQLite's file"),
]

WORD = "zanzibarquux"
World = Iterator[tuple[Callable[[], object], Any]]


@contextlib.contextmanager
def reddit_author(owner: Any, patch: pytest.MonkeyPatch) -> World:
    """Posts of an author, by the operator."""
    with RedditSite() as site:
        site.rate_budget = 1_000_000
        point_at(patch, site)
        scanner = Scanner(site)
        site.world.hold_time(scanner.now)
        scanner.add("lanterns")
        scanner.world.post("lanterns", f"About {WORD}", f"More {WORD}", author="vanishing")
        scanner.crawl("lanterns")
        yield lambda: reddit_actions.erase_posts(author="vanishing", actor=owner, reason="asked"), scanner.now


@contextlib.contextmanager
def note(owner: Any, patch: pytest.MonkeyPatch) -> World:
    """One note, by the operator."""
    [one] = add_candidates(1, title=f"About {WORD}")
    mine = holder()
    notes_actions.claim(held(mine))
    notes_actions.commit({**held(mine), "note_id": one, "result": {"title": f"About {WORD}", "content": WORD}})
    notes_actions.release({**held(mine), "status": "completed"})
    yield lambda: notes_actions.delete_note(one), clock.now()


@contextlib.contextmanager
def library_page(owner: Any, patch: pytest.MonkeyPatch) -> World:
    """A page with versions, deleted permanently by an admin of its space."""
    desk = make_desk()
    library_actions.set_member(desk.olga, desk.workspace.pk, person=owner, role="admin")
    page = desk.file(f"About {WORD}", desk.folder("Home"), f"<p>{WORD}</p>")
    library_actions.save_page(desk.wanda, page.pk, version=1, content=f"<p>more {WORD}</p>")

    def forget() -> None:
        library_actions.trash_page(desk.wanda, page.pk)
        library_actions.purge_page(desk.sven, page.pk)
        runner.run_now("library.empty_trash")

    yield forget, clock.now()


@contextlib.contextmanager
def web_page(owner: Any, patch: pytest.MonkeyPatch) -> World:
    """A watched address with two versions."""
    with SitemapSite() as site:
        trust(patch, site.netloc)
        desk = Desk(owner, site)
        page = desk.watch("/piers/4", title=f"About {WORD}", paragraphs=[f"One {WORD}."])
        desk.read()
        site.write("/piers/4", title=f"More about {WORD}", paragraphs=[f"Another {WORD}."])
        desk.read()
        yield lambda: pages_actions.delete_page(Page.objects.get(pk=page.pk)), desk.now


@contextlib.contextmanager
def website(owner: Any, patch: pytest.MonkeyPatch) -> World:
    """A website with its pages, after the cleanup of the night."""
    with web_page(owner, patch) as (_forget, now):
        site = Site.objects.get()

        def forget() -> None:
            pages_actions.delete_site(site, owner)
            runner.run_now("pages.forget")

        yield forget, now


@contextlib.contextmanager
def monitor(owner: Any, patch: pytest.MonkeyPatch) -> World:
    """A monitor with its snapshots and changes, after the time in which it can be restored."""
    with SitemapSite() as site:
        trust(patch, site.netloc)
        site.add("/a")
        watch = Watch(owner, site)
        made = channels.create(owner, name="m", channel_type="email", given={"email": "m@example.com"})
        sitemaps_actions.set_channels(watch.monitor, [made.channel])
        watch.check()
        site.add(f"/{WORD}")
        watch.check()

        def forget() -> None:
            sitemaps_actions.delete(watch.monitor)
            with clock.set_to(watch.now + timedelta(days=91)):
                runner.run_now("sitemaps.forget")

        yield forget, watch.now


WAYS = {way.__name__: way for way in (reddit_author, note, library_page, web_page, website, monitor)}


def test_manual_says_what_backups_keep() -> None:
    for name, words in (("backup.md", "## Erased items"), ("backup.zh.md", "## 已清除的内容")):
        assert words in (Path(__file__).parents[2] / "docs" / "how-to" / name).read_text("utf-8")


def places(word: str) -> tuple[int, list[str]]:
    """Return how often the file of the database has the word, and the tables in which a row shows it."""
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        found = []
        # The index itself cannot be read row by row; its words are in the tables of its blocks.
        for table in sorted(set(connection.introspection.table_names(cursor)) - {"search_words"}):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            if any(word.encode() in str(row).encode() for row in cursor.fetchall()):
                found.append(table)
    return Path(connection.settings_dict["NAME"]).read_bytes().count(word.encode()), found


@pytest.mark.parametrize("way", WAYS)
def test_deleted_item_is_absent_from_the_database_file(
    way: str, operator: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    mail = channels.create(operator, name="mail", channel_type="email", given={"email": "o@example.com"}).channel
    saved.save(operator, name="words", query="about", channels=[mail])
    with WAYS[way](operator, monkeypatch) as (forget, now):
        with clock.set_to(now):
            runner.run_now("search.saved")
            before, tables = places(WORD)
            assert before > 2, tables
            outbox = Delivery.objects.filter(text__contains=WORD).count()
            forget()
            runner.run_now("search.compact")
        after, left = places(WORD)
    with capsys.disabled():
        print(f"\n{way}: {before} places in {len(tables)} tables, {outbox} deliveries, {after} left", end="")
    assert (left, after) == ([], 0)
