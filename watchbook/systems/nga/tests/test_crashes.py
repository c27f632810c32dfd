"""Work that is killed at any point: the next run finishes it, nothing is lost and nothing is there twice."""

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
from watchbook.base.testing.environment import by_day
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.runner import run_now
from watchbook.core.media.models import FileReference, KeptFile
from watchbook.systems.nga import actions
from watchbook.systems.nga.models import (
    CrawlRun,
    Post,
    PostRevision,
    Thread,
    ThreadPageReading,
)
from watchbook.systems.nga.tests.archive import Crawler

PLACES = [
    ("nga.fetched", 3),
    ("nga.parsed", 3),
    ("nga.list_written", 1),
    ("nga.floors_written", 2),
    ("job.before_commit", 6),
    ("job.after_commit", 4),
]
REPAIRS = [("nga.audited", 1), ("nga.repair_written", 1), ("nga.repair_written", 2)]
REREADINGS = [
    ("nga.fetched", 2),
    ("nga.parsed", 2),
    ("nga.floors_written", 2),
    ("nga.page_read", 2),
    ("nga.page_reread", 1),
    ("nga.page_reread", 3),
    ("job.before_commit", 4),
    ("job.after_commit", 5),
]

pytestmark = [pytest.mark.crash, pytest.mark.django_db(transaction=True)]


def killed_at(place, *words):
    """Run the program in a process that dies there, and wait until its lease is over, as time would."""
    own = {"DATABASE_URL": servers.same_database(), "WATCHBOOK_HOME": str(settings.HOME), "CRASH_AT": place}
    command = [sys.executable, "-m", "watchbook", *words]
    killed = subprocess.run(command, env={**os.environ, **own}, capture_output=True, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    # At most two minutes later by the database's clock: the lease is no longer than that.
    held = JobRun.objects.filter(state="running")
    assert all(run.lease_until <= clock.now() + timedelta(seconds=122) for run in held)
    held.update(lease_until=clock.now() - timedelta(seconds=1))


@pytest.mark.parametrize(("place", "nth"), by_day(PLACES, 3))
def test_killed_crawl_is_finished_by_the_next(board, place, nth):
    crawler = Crawler(board)
    tids = [board.world.add_topic(f"[讨论]{number}") for number in range(3)]
    for tid in tids:
        board.world.fill(tid, 50)
    killed_at(f"{place}:{nth}", "nga", "crawl", "--now", board.world.moment.isoformat())
    crawler.crawl()
    assert Thread.objects.count() == 3
    assert {Post.objects.filter(thread__source_thread_id=tid).count() for tid in tids} == {51}
    assert set(Thread.objects.values_list("crawl_cursor_max_floor_number", flat=True)) == {50}
    assert not Thread.objects.unfinished().exists()
    assert CrawlRun.objects.exclude(run_finished_at=None).exists()
    quiet = crawler.crawl()
    assert (quiet["new_post_count"], quiet["http_request_count"]) == (0, 1)


@pytest.mark.parametrize(("place", "nth"), by_day(REPAIRS, 2))
def test_killed_repair_is_finished_by_the_next(board, place, nth):
    crawler = Crawler(board)
    tid = board.world.add_topic("[讨论]有洞的帖")
    board.world.fill(tid, 69)
    crawler.crawl()
    Post.objects.filter(thread__source_thread_id=tid, floor_number__in=(3, 21, 22, 45)).delete()
    killed_at(f"{place}:{nth}", "nga", "audit", "--repair", "--now", board.world.moment.isoformat())
    crawler.audit(repair=True)
    floors = Post.objects.filter(thread__source_thread_id=tid).values_list("floor_number", flat=True)
    assert sorted(floors) == list(range(70))
    assert crawler.audit()["missing_thread_count"] == 0


@pytest.mark.parametrize(("place", "nth"), by_day(REREADINGS, 4))
def test_killed_rereading_is_finished_by_the_next(board, place, nth):
    crawler = Crawler(board)
    tid = board.world.add_topic("[攻略]灯塔")
    for number in range(44):
        board.world.reply(tid, f"第{number}条")
    crawler.crawl()
    pids = dict(Post.objects.values_list("floor_number", "source_post_id"))
    board.world.advance(days=4)
    for number in (3, 25, 44):
        board.world.edit(tid, pids[number], f"改{number}")
    board.begin_run()
    killed_at(f"{place}:{nth}", "jobs", "run", "nga.reread", "--now", board.world.moment.isoformat())
    with clock.set_to(board.world.moment):
        run_now("nga.reread")
    changed = Post.objects.filter(content_last_changed_at__isnull=False)
    assert sorted(changed.values_list("floor_number", flat=True)) == [3, 25, 44]
    assert PostRevision.objects.count() == 3
    assert ThreadPageReading.objects.filter(read_at=board.world.moment).count() == 3
    with clock.set_to(board.world.moment):
        assert run_now("nga.reread").progress.get("http_request_count", 0) == 0


@pytest.mark.parametrize("place", by_day(["nga.files_queued:1", "job.before_commit:1", "job.after_commit:1"], 2))
def test_files_whose_finder_was_killed_are_queued_once(board, place):
    board.world.add_topic("[讨论]图", f"[img]{board.url}/a.png[/img]")
    Crawler(board).crawl()
    killed_at(place, "jobs", "run", "nga.media")
    with clock.set_to(board.world.moment):
        run_now("nga.media")
    assert KeptFile.objects.get().url == f"{board.url}/a.png"
    assert FileReference.objects.count() == 1


@pytest.mark.parametrize(
    "place", by_day(["nga.fetched:1", "nga.author_checked:1", "job.before_commit:1", "job.after_commit:1"], 2)
)
def test_author_whose_check_was_killed_loses_no_topic_and_queues_none_twice(board, place):
    uid = board.world.uid_of("灯塔人")
    with clock.set_to(board.world.moment):
        actions.follow_author(str(uid))
    board.world.advance(hours=1)
    tid = board.world.add_topic("[攻略]新灯塔", author="灯塔人", fid=-447601)
    board.world.advance(hours=1)
    killed_at(place, "jobs", "run", "nga.follow", "--now", board.world.moment.isoformat())
    with clock.set_to(board.world.moment):
        run_now("nga.follow")
    queued = JobRun.objects.filter(name="nga.thread", state="queued")
    assert [run.args for run in queued] == [{"tid": tid, "waits": True, "follow": True}]
