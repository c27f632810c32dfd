"""A crawl that is killed at any point: the next one finishes, nothing is lost and nothing is there twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings

from watchbook.base import clock
from watchbook.base.testing import servers
from watchbook.core.jobs.models import JobRun
from watchbook.sources.nga.models import CrawlRun, Post, Thread
from watchbook.sources.nga.tests.archive import Crawler

PLACES = [
    ("nga.list_written", 1),
    ("nga.floors_written", 2),
    ("job.before_commit", 6),
    ("job.after_commit", 4),
]

pytestmark = [pytest.mark.crash, pytest.mark.django_db(transaction=True)]


def crawl_in_a_process(board, **more):
    environment = {**os.environ, "DATABASE_URL": servers.same_database(), "WATCHBOOK_HOME": str(settings.HOME), **more}
    command = [sys.executable, "-m", "watchbook", "nga", "crawl", "--now", board.world.moment.isoformat()]
    return subprocess.run(command, env=environment, capture_output=True, timeout=120, check=False)


@pytest.mark.parametrize(("place", "nth"), PLACES)
def test_a_killed_crawl_is_finished_by_the_next(board, place, nth):
    crawler = Crawler(board)
    tids = [board.world.add_topic(f"[讨论]{number}") for number in range(3)]
    for tid in tids:
        board.world.fill(tid, 50)
    killed = crawl_in_a_process(board, CRASH_AT=f"{place}:{nth}")
    assert killed.returncode == -signal.SIGKILL
    # At most two minutes later by the database's clock: the lease is no longer than that.
    held = JobRun.objects.filter(state="running")
    assert all(run.lease_until <= clock.now() + timedelta(seconds=122) for run in held)
    held.update(lease_until=clock.now() - timedelta(seconds=1))
    crawler.crawl()
    assert Thread.objects.count() == 3
    assert {Post.objects.filter(thread__source_thread_id=tid).count() for tid in tids} == {51}
    assert set(Thread.objects.values_list("crawl_cursor_max_floor_number", flat=True)) == {50}
    assert not Thread.objects.unfinished().exists()
    assert CrawlRun.objects.exclude(run_finished_at=None).exists()
    quiet = crawler.crawl()
    assert (quiet["new_post_count"], quiet["http_request_count"]) == (0, 1)
