"""How many files a reader must open to follow five walks through the code.

`pytest -s tests/walks` prints the files with the functions that were called. docs/tour.md describes the first walk;
a test holds its file names.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from standins.nga_board import NgaBoard
from standins.sitemap_site import SitemapSite
from standins.webhook_sink import WebhookSink
from tests.walks.tracing import passed
from watchbook.base import clock
from watchbook.base.testing.people import client_of
from watchbook.core.accounts.models import User
from watchbook.core.notify import actions as channels
from watchbook.systems.library import actions as library
from watchbook.systems.nga import actions as nga
from watchbook.systems.nga.models import Forum
from watchbook.systems.sitemaps import actions as sitemaps
from watchbook.systems.sitemaps.jobs.check import run_due_now

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)
# Where the tree stands. A crawl also notifies subscribers and notes when each page was read; a page shows kept media.
MOST = {"crawl": 40, "check": 52, "api": 28, "page": 36, "save": 35}


def report(name: str, files: dict[str, set[str]]) -> None:
    print(f"\n{name}: {len(files)} files (at most {MOST[name]})")
    for file, functions in sorted(files.items()):
        print(f"  {file:44} {' '.join(sorted(functions))}")
    assert len(files) <= MOST[name], sorted(files)


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Iterator[NgaBoard]:
    with NgaBoard() as made:
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", made.netloc)
        monkeypatch.setenv("WATCHBOOK_PACE", "off")
        monkeypatch.setenv("NGA_BASE_URL", made.url)
        Forum.objects.get_or_create(source_forum_id=7, defaults={"list_url": made.url})
        yield made


@pytest.fixture
def archived(board: NgaBoard) -> int:
    """A topic of three posts that was crawled."""
    tid: int = board.world.add_topic("[讨论]长帖")
    for number in range(2):
        board.world.reply(tid, f"第{number}条")
    with clock.set_to(board.world.moment):
        assert nga.crawl_now(7).state == "done"
    return tid


def test_forum_crawl_passes_few_files(board: NgaBoard, archived: int) -> None:
    board.world.advance(hours=1)
    board.world.reply(archived, "新的一条")
    with clock.set_to(board.world.moment), passed() as files:
        run = nga.crawl_now(7)
    assert (run.state, run.progress["new_post_count"]) == ("done", 1)
    report("crawl", files)


def test_sitemap_check_with_notification_passes_few_files(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    with SitemapSite() as site, WebhookSink() as sink:
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", f"{site.netloc},{sink.netloc}")
        monkeypatch.setenv("WATCHBOOK_PACE", "off")
        site.add("/a")
        with clock.set_to(NOON):
            hook = channels.create(alice, name="hook", channel_type="webhook", given={"url": sink.address("/hook")})
            values = {"name": "Site", "sitemap_url": site.sitemap, "channels": [hook.channel]}
            sitemaps.add_monitor(alice, values)
            run_due_now(NOON)
        site.add("/b")
        later = NOON + timedelta(days=1)
        reverse("sitemaps:monitors")  # loads the URL modules once, which is no part of a check
        with clock.set_to(later), passed() as files:
            run_due_now(later)
        assert len(sink.deliveries("/hook")) == 1
    report("check", files)


@pytest.fixture
def reader(alice: User) -> Client:
    client: Client = client_of(alice)
    return client


def test_api_list_passes_few_files(archived: int, reader: Client) -> None:
    reader.get("/api/v1/nga/threads")  # what is loaded once
    with passed() as files:
        answer = reader.get("/api/v1/nga/threads")
    assert [row["source_thread_id"] for row in answer.json()["items"]] == [archived]
    report("api", files)


def test_page_view_passes_few_files(archived: int, reader: Client) -> None:
    reader.get(f"/nga/topics/{archived}/")
    with passed() as files:
        page = reader.get(f"/nga/topics/{archived}/")
    assert "第0条" in page.text
    report("page", files)


def test_library_save_passes_few_files(alice: User, reader: Client) -> None:
    space = library.create_space(alice, library.create_workspace(alice, "Team").pk, "Space")
    folder = library.create_page(alice, space.pk, title="Folder", node_type="folder")
    page = library.create_page(alice, space.pk, title="Page", node_type="file", parent_page_id=folder.pk)
    body: dict[str, Any] = {"content": "<p>New text</p>", "version": page.version}
    with passed() as files:
        answer = reader.patch(f"/api/v1/library/pages/{page.pk}", body, content_type="application/json")
    assert answer.status_code == 200, answer.text
    report("save", files)
