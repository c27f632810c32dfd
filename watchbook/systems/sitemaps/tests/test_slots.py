"""A monitor never stays behind because the one run of its slot ended badly."""

from __future__ import annotations

from datetime import timedelta

import pytest

from watchbook.base import clock
from watchbook.core.jobs import queue, runner
from watchbook.core.jobs.models import JobRun, State
from watchbook.systems.sitemaps.models import MonitorTask
from watchbook.systems.sitemaps.tests.conftest import START

pytestmark = pytest.mark.django_db


@pytest.fixture
def monitor(site, watch):
    site.add_many(["/a", "/b"], lastmod="2026-01-01")
    return watch().monitor


def enqueue_due(moment):
    with clock.set_to(moment):
        assert runner.run_now("sitemaps.due").state == State.DONE


def checks(monitor):
    return JobRun.objects.filter(name="sitemaps.check", key__contains=str(monitor.pk)).order_by("pk")


def crash(run, moment):
    """Every worker that takes it disappears."""
    with clock.set_to(moment):
        while run.state == State.QUEUED:
            assert queue.claim(run, "worker") is not None
            JobRun.objects.filter(pk=run.pk).update(lease_until=clock.ago(days=999))
            queue.requeue_expired()
            run.refresh_from_db()


def test_crashed_check_is_run_again_at_the_next_slot(monitor, site):
    crash(checks(monitor).get(), START)
    enqueue_due(START + timedelta(minutes=1))
    monitor.refresh_from_db()
    assert (monitor.error_count, monitor.health, monitor.checks.get().error_code) == (1, "failing", "crashed")
    assert monitor.next_check_at > START + timedelta(minutes=50)

    later = monitor.next_check_at
    enqueue_due(later)
    with clock.set_to(later):
        assert runner.execute(queue.claim(checks(monitor).last(), "worker")).progress["urls"] == 2
    monitor.refresh_from_db()
    assert (monitor.error_count, monitor.health) == (0, "ok")


def test_cancelled_check_is_skipped_and_the_next_one_follows(monitor):
    with clock.set_to(START):
        queue.cancel(checks(monitor).get().pk)
    enqueue_due(START + timedelta(minutes=1))
    monitor.refresh_from_db()
    assert (monitor.error_count, monitor.health) == (0, "new")
    enqueue_due(monitor.next_check_at)
    assert checks(monitor).last().state == State.QUEUED


def test_worker_whose_clock_is_behind_does_not_lose_the_check(monitor):
    MonitorTask.objects.filter(pk=monitor.pk).update(next_check_at=START + timedelta(seconds=5))
    with clock.set_to(START):
        checks(monitor).delete()
    enqueue_due(START + timedelta(seconds=6))
    run = checks(monitor).get()
    JobRun.objects.filter(pk=run.pk).update(due_at=START)
    with clock.set_to(START + timedelta(seconds=2)):
        assert runner.execute(queue.claim(run, "worker")).outcome == "nothing_to_do"
    enqueue_due(START + timedelta(seconds=36))
    enqueue_due(START + timedelta(seconds=66))
    assert checks(monitor).last().state == State.QUEUED


def test_running_check_is_not_started_twice(monitor):
    before = monitor.next_check_at
    enqueue_due(START + timedelta(minutes=1))
    monitor.refresh_from_db()
    assert monitor.next_check_at == before
    assert checks(monitor).count() == 1
