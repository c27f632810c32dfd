"""Due monitors: none is passed over in silence, and a clock that jumped leaves none behind."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connections

from watchbook.base import clock
from watchbook.core import health as states
from watchbook.core.jobs import queue, runner
from watchbook.core.jobs.models import JobRun
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.health import health
from watchbook.systems.sitemaps.jobs import check
from watchbook.systems.sitemaps.models import MonitorTask
from watchbook.systems.sitemaps.tests.builders import browser, get
from watchbook.systems.sitemaps.tests.conftest import START

pytestmark = pytest.mark.django_db

FUTURE = datetime(2038, 1, 1, tzinfo=UTC)


@pytest.fixture
def monitors(site, alice):
    """Four monitors of one host, all due."""
    site.add("/a")
    with clock.set_to(START):
        return [
            actions.add_monitor(alice, {"name": f"m{n}", "sitemap_url": f"{site.sitemap}?n={n}"})[0] for n in range(4)
        ]


def occupy(monitor):
    """Hold the host of a monitor, as another `run-due` does while it checks."""
    JobRun.objects.filter(name="sitemaps.check").delete()
    run = queue.enqueue("sitemaps.check", {"monitor_id": str(monitor.pk)}, exclusive=f"sitemaps-host:{monitor.host}")
    assert queue.claim(run, "another process") is not None
    return run


def test_run_due_reports_monitors_of_a_busy_host(monitors, monkeypatch):
    monkeypatch.setattr(check, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(check, "BUSY_PAUSE_SECONDS", 0.01)
    with clock.set_to(START):
        occupy(monitors[0])
        tally = check.run_due_now(START)
    assert (tally["checked"], tally["busy"]) == (0, 4)


def test_run_due_waits_for_a_busy_host_and_checks_the_rest(monitors, monkeypatch):
    with clock.set_to(START):
        held = occupy(monitors[0])

        def another_process_ends_after_one(_seconds):
            queue.cancel(held.pk)
            JobRun.objects.filter(pk=held.pk).delete()
            MonitorTask.objects.filter(pk=monitors[0].pk).update(next_check_at=START + timedelta(hours=1))

        monkeypatch.setattr(check, "sleep", another_process_ends_after_one)
        tally = check.run_due_now(START)
    assert (tally["checked"], tally["busy"]) == (3, 0)
    assert not MonitorTask.objects.due(START).exists()


@pytest.mark.sql
@pytest.mark.django_db(transaction=True)
def test_four_parallel_run_due_check_every_monitor_once(site, alice):
    site.add("/a")
    with clock.set_to(START):
        for number in range(40):
            actions.add_monitor(alice, {"name": f"m{number}", "sitemap_url": f"{site.sitemap}?n={number}"})
    JobRun.objects.all().delete()
    site.log.clear()
    tallies = []

    def run_due():
        try:
            with clock.set_to(START):
                tallies.append(check.run_due_now(START))
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run_due) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(tally["checked"] for tally in tallies) == 40
    assert [tally["busy"] for tally in tallies] == [0, 0, 0, 0]
    assert site.log.count("/sitemap.xml") == 40
    assert not MonitorTask.objects.due(START).exists()


def test_next_check_after_a_clock_jump_is_corrected(site, watch, alice):
    site.add("/a")
    w = watch()
    w.check()
    with clock.set_to(FUTURE):
        check.run_due_now(FUTURE)
    now = w.now + timedelta(hours=1)
    assert MonitorTask.objects.get().next_check_at > FUTURE
    with clock.set_to(now):
        assert health(alice).state == states.LATE
        assert "clock of the server was wrong" in get(browser(alice), "monitor", w.monitor.pk).text
        assert check.anything_due(now)
        run = runner.run_now("sitemaps.due")
    assert (run.progress["corrected"], run.progress["enqueued"]) == (1, 1)
    tally = w.check()
    assert (tally["checked"], tally["corrected"]) == (1, 0)
    assert w.monitor.next_check_at < w.now + timedelta(hours=2)


def test_run_due_corrects_far_checks_itself(site, watch):
    site.add("/a")
    w = watch()
    w.check()
    MonitorTask.objects.update(next_check_at=FUTURE, whole_fetch_at=FUTURE)
    tally = w.check()
    assert (tally["corrected"], tally["checked"]) == (1, 1)
    assert w.monitor.whole_fetch_at == w.now


@pytest.mark.parametrize("plan", [{"schedule": "weekly mon 03:00"}, {"quiet_hours": "22:00-07:00"}])
def test_scheduled_check_after_a_clock_jump_is_corrected(site, watch, plan):
    site.add("/a")
    w = watch()
    actions.change_monitor(w.monitor, plan)
    w.check()
    assert check.correct_far_ahead(w.now) == 0
    planned = w.monitor.next_check_at
    with clock.set_to(planned):
        assert check.correct_far_ahead(planned) == 0
    MonitorTask.objects.update(next_check_at=FUTURE)
    assert check.anything_due(w.now)
    assert check.correct_far_ahead(w.now) == 1
    assert MonitorTask.objects.due(w.now).count() == 1


def test_longest_backoff_is_not_corrected(site, watch):
    site.add("/a")
    w = watch()
    site.faults.on("/sitemap.xml").answer(503)
    for _ in range(12):
        w.check(timedelta(days=1))
    assert w.monitor.next_check_at > w.now + timedelta(hours=23)
    assert check.correct_far_ahead(w.now) == 0
