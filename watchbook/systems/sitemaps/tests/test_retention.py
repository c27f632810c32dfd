"""Months of a monitor's life: what is forgotten when, and that every day that is kept can still be replayed."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path

import pytest

from standins.webhook_sink import WebhookSink
from watchbook.base import clock
from watchbook.base.store.models import SortedList
from watchbook.base.testing.environment import NIGHTLY
from watchbook.core.jobs import runner
from watchbook.core.notify import actions as channel_actions
from watchbook.systems.sitemaps import actions, jobs
from watchbook.systems.sitemaps.models import ChangeRecord, NotificationLog, SitemapCheck, SitemapSnapshot
from watchbook.systems.sitemaps.store.lists import snapshot_urls
from watchbook.systems.sitemaps.tests.builders import make_change, make_monitor
from watchbook.systems.sitemaps.tests.conftest import START, trust

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)


def forget(moment):
    with clock.set_to(moment):
        run = runner.run_now("sitemaps.forget")
    assert run.state == "done", run.error
    return run.progress


def listed(snapshot):
    with tempfile.TemporaryDirectory() as folder:
        return {row["url"]: row["lastmod"] for row in snapshot_urls(snapshot, Path(folder))}


def in_force(monitor, moment):
    """What the snapshot browser shows for a moment."""
    record = monitor.change_records.filter(created_at__lte=moment).order_by("-created_at").first()
    return record.new_snapshot if record else None


@pytest.fixture
def hooks(site, monkeypatch):
    with WebhookSink() as sink:
        trust(monkeypatch, site.netloc, sink.netloc)
        yield sink


def test_daily_checks_keep_90_days_that_all_replay(site, watch, alice, hooks):
    site.add_many([f"/{n:04}" for n in range(1100)], lastmod="2026-01-01")  # above 1,000 a list lives in blobs
    w = watch()
    given = {"url": hooks.address("/hook")}
    channel = channel_actions.create(alice, name="hook", channel_type="webhook", given=given).channel
    actions.set_channels(w.monitor, [channel])
    truth = {}
    for day in range(150 if NIGHTLY else 100):
        if day % 3 == 1:
            site.add(f"/new-{day:03}", lastmod="2026-02-02")
        if day % 12 == 2:
            site.remove(f"/{day:04}")
        w.check(after=DAY)
        truth[w.now] = {page.url: page.lastmod for page in site.world_at(site.mark())}
        if day % 10 == 9:
            forget(w.now)
    now = w.now + timedelta(minutes=1)
    forget(now)

    kept = {moment for moment in truth if moment >= now - 90 * DAY}
    assert set(w.monitor.change_records.values_list("created_at", flat=True)) == kept
    assert set(w.monitor.checks.values_list("created_at", flat=True)) == kept
    assert min(NotificationLog.objects.values_list("sent_at", flat=True)) >= now - 30 * DAY
    told = w.monitor.change_records.filter(change_type="changed", created_at__gte=now - 30 * DAY)
    assert NotificationLog.objects.count() == told.count() > 5
    for moment in kept:
        assert listed(in_force(w.monitor, moment)) == truth[moment], moment
    assert in_force(w.monitor, now - 91 * DAY) is None

    # A snapshot older than that stays only where a kept record leads to it; nothing points nowhere.
    led_to = set(w.monitor.change_records.values_list("new_snapshot_id", flat=True))
    assert set(SitemapSnapshot.objects.values_list("pk", flat=True)) == led_to
    named = {entry["sha256"] for snapshot in SitemapSnapshot.objects.all() for entry in snapshot.parts}
    assert named <= set(SortedList.objects.values_list("pk", flat=True))
    assert SortedList.objects.count() <= len(led_to) + 1, "lists that nobody needs any more are gone"
    assert forget(now + timedelta(minutes=1)) == dict.fromkeys(forget(now), 0)


def test_newest_snapshot_stays_however_old_it_is(site, watch):
    site.add_many(["/a", "/b"], lastmod="2026-01-01")
    w = watch()
    w.check()
    actions.pause(w.monitor)
    forget(START + 400 * DAY)
    assert (ChangeRecord.objects.count(), SitemapCheck.objects.count()) == (0, 0)
    assert listed(SitemapSnapshot.objects.get()) == {
        site.page_url("/a"): "2026-01-01",
        site.page_url("/b"): "2026-01-01",
    }
    site.add("/c", lastmod="2026-02-02")
    with clock.set_to(START + 401 * DAY):
        actions.resume(w.monitor)
    w.check(after=402 * DAY)
    assert (w.newest.change_type, w.newest.added_count) == ("changed", 1)
    assert w.newest.old_snapshot_id is not None, "compared with what was kept"


@pytest.mark.parametrize(("age", "stays"), [(89, True), (91, False)])
def test_records_are_deleted_after_90_days_without_references(alice, age, stays):
    monitor = make_monitor(alice)
    old = make_change(monitor, START - age * DAY, added=["https://www.example.com/x"])
    new = make_change(monitor, START, added=["https://www.example.com/y"])
    forget(START)
    assert ChangeRecord.objects.filter(pk=old.pk).exists() == stays
    new.refresh_from_db()
    assert new.old_snapshot_id == (old.new_snapshot_id if stays else None)
    assert new.new_snapshot_id == monitor.current_snapshot_id


@pytest.mark.parametrize(("age", "stays"), [(29, True), (31, False)])
def test_logs_go_after_thirty_days_and_their_record_stays(alice, age, stays):
    monitor = make_monitor(alice)
    record = make_change(monitor, START - age * DAY, added=["https://www.example.com/x"])
    channel = channel_actions.create(alice, name="m", channel_type="email", given={"email": "a@example.com"}).channel
    NotificationLog.objects.create(channel=channel, change_record=record, sent_at=START - age * DAY)
    forget(START)
    assert NotificationLog.objects.exists() == stays
    assert ChangeRecord.objects.filter(pk=record.pk).exists()


def test_old_rows_are_deleted_in_small_batches(alice, monkeypatch):
    monkeypatch.setattr(jobs, "BATCH", 2)
    monitor = make_monitor(alice)
    for n in range(7):
        make_change(monitor, START - (100 + n) * DAY, added=["https://www.example.com/x"])
    make_change(monitor, START, added=["https://www.example.com/y"])
    progress = forget(START)
    assert (progress["change_records"], progress["checks"]) == (7, 7)
    assert ChangeRecord.objects.count() == 1
