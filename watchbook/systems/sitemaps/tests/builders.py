"""Monitors, snapshots and changes as rows, and a browser of a person: what the tests of the pages begin with."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse

from watchbook.base import clock
from watchbook.systems.sitemaps.models import (
    ChangeRecord,
    ChangeType,
    Health,
    MonitorTask,
    SitemapCheck,
    SitemapSnapshot,
    url_digest,
)

START = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)
MOST_QUERIES = 16


def browser(person=None, language="en"):
    client = Client(headers={"Accept-Language": language})
    if person is not None:
        client.force_login(person)
    return client


def make_monitor(user, number=0, **values):
    url = values.pop("sitemap_url", f"https://www.example.com/{number}/sitemap.xml")
    given = {"name": f"Shop {number}", "host": "www.example.com", "live_url_digest": url_digest(url)}
    given |= {"next_check_at": START + timedelta(hours=1), **values}
    return MonitorTask.objects.create(user=user, sitemap_url=url, **given)


def make_snapshot(monitor, at, urls=("https://www.example.com/a",), **values):
    rows = [{"url": url, "lastmod": None, "changefreq": None, "priority": None} for url in urls]
    parts = [
        {
            "url": monitor.sitemap_url,
            "sha256": "0" * 64,
            "url_count": len(rows),
            "complete": True,
            "outcome": "ok",
        }
    ]
    snapshot = SitemapSnapshot.objects.create(
        monitor_task=monitor, url_count=len(rows), url_hash="0" * 64, urls=rows, fetch_duration_ms=1,
        parse_duration_ms=1, created_at=at, parts=parts, **values,
    )  # fmt: skip
    monitor.current_snapshot = snapshot
    monitor.save(update_fields=["current_snapshot"])
    return snapshot


def make_change(monitor, at, *, added=(), removed=(), modified=(), **values):
    old = monitor.current_snapshot or make_snapshot(monitor, at - timedelta(hours=1))
    changes = {
        "added": [{"url": url, "lastmod": None} for url in added],
        "removed": [{"url": url} for url in removed],
        "modified": [{"url": url, "old_lastmod": "2026-01-01", "new_lastmod": "2026-02-02"} for url in modified],
    }
    record = ChangeRecord.objects.create(
        monitor_task=monitor, old_snapshot=old, new_snapshot=make_snapshot(monitor, at), created_at=at,
        change_type=ChangeType.CHANGED, added_count=len(added), removed_count=len(removed),
        modified_count=len(modified), **{"changes": changes, **values},
    )  # fmt: skip
    check(monitor, at, change_record=record)
    return record


def check(monitor, at, **values):
    given = {"outcome": Health.OK, "url_count": 1, "http_request_count": 1, **values}
    return SitemapCheck.objects.create(monitor_task=monitor, created_at=at, **given)


def get(client, name, *args, **query):
    return client.get(reverse(f"sitemaps:{name}", args=args), query)


@pytest.fixture
def desk(alice):
    """Alice's monitor with a baseline, a change and a failed check, an hour apart."""
    monitor = make_monitor(alice, name="Example Shop", last_check_at=START, created_at=START - timedelta(days=3))
    MonitorTask.objects.filter(pk=monitor.pk).update(health=Health.OK, last_success_at=START - timedelta(hours=2))
    monitor.refresh_from_db()
    make_snapshot(monitor, START - timedelta(days=2), ["https://www.example.com/b"])
    record = make_change(
        monitor,
        START - timedelta(hours=2),
        added=["https://www.example.com/products/lantern", "https://www.example.com/zh/%E7%81%AF"],
        removed=["https://www.example.com/sale"],
        modified=["https://www.example.com/m", "https://www.example.com/clock"],
        noisy_count=1,
        extras={"noisy": ["https://www.example.com/clock"]},
    )
    check(monitor, START - timedelta(hours=1), outcome=Health.FAILING, url_count=None, message="The site is ill.")
    with clock.set_to(START):
        yield monitor, record


def addresses(monitor, record):
    snapshot = record.new_snapshot_id
    pages = {name: [monitor.pk] for name in ("monitor", "live", "changes", "snapshots", "parts", "own_feed", "edit")}
    pages |= {"change": [record.pk], "snapshot": [snapshot]}
    pages |= {"change_file": [record.pk, "csv"], "snapshot_file": [snapshot, "json"]}
    return [reverse(f"sitemaps:{name}", args=args) for name, args in pages.items()]


def body(answer):
    return b"".join(answer.streaming_content).decode()
