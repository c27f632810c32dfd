"""What storing costs: counted in queries, whatever the number of floors."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from watchbook.core.jobs import queue
from watchbook.core.jobs.runner import JobContext
from watchbook.systems.nga.fetch import BoardReader
from watchbook.systems.nga.jobs.crawl import window_of
from watchbook.systems.nga.jobs.topic import TopicReader
from watchbook.systems.nga.models import Post, Thread
from watchbook.systems.nga.store import versions
from watchbook.systems.nga.store.runs import begin_run, begin_thread
from watchbook.systems.nga.tests.archive import floors_of, thread_of
from watchbook.systems.nga.tests.plans import plan_of

pytestmark = pytest.mark.django_db


def cost_of_storing(tid, page_number=1):
    """Statements for one page, its transaction and the check of the lease included; savepoints are the test's own."""
    ctx = JobContext(queue.claim(queue.enqueue("nga.thread", {"tid": tid}), "test"), lease_seconds=60)
    thread = thread_of(tid)
    run = begin_run(thread.forum, "manual", window_of(ctx.now), ctx.now)
    topic = TopicReader(ctx, BoardReader(), run, thread, page_limit=None)
    row, page = begin_thread(run, thread, is_change=True, now=ctx.now), topic.fetch(page_number)
    with CaptureQueriesContext(
        connection,
    ) as captured:
        topic.store(page, row, next_page=None)
    return [one["sql"] for one in captured if "SAVEPOINT" not in one["sql"]]


@pytest.fixture
def tid(board, crawler):
    made = board.world.add_topic("[讨论]帖")
    for number in range(19):
        board.world.reply(made, f"第{number}条")
    crawler.crawl()
    return made


def test_unchanged_page_costs_four_queries(board, tid):
    assert len(cost_of_storing(tid)) == 4


def test_page_of_new_posts_needs_as_many_queries_as_one_post(board, tid):
    Post.objects.exclude(floor_number=0).delete()
    for number in range(20):
        board.world.reply(tid, f"新{number}")
    whole = cost_of_storing(tid)
    Post.objects.filter(floor_number__in=[7, 19]).delete()
    thread = thread_of(tid)
    thread.crawl_cursor_max_floor_number = 18
    thread.save()
    assert len(cost_of_storing(tid)) == len(whole) == 13  # the floors, the place in the topic, the search


def test_page_of_edits_costs_as_much_as_one_edit(board, tid):
    floors = floors_of(tid)
    board.world.edit(tid, floors[3].source_post_id, "改")
    one = cost_of_storing(tid)
    for number in range(1, 20):
        board.world.edit(tid, floors[number].source_post_id, "都改")
    # Versions, floors, pages, stream, the search; SQLite takes the old words out of its index with two statements more.
    assert len(cost_of_storing(tid)) == len(one) == (15 if connection.vendor == "sqlite" else 13)


def test_what_is_known_of_a_page_is_found_by_the_indexes(tid):
    thread, floors = thread_of(tid), floors_of(tid)
    with CaptureQueriesContext(connection) as captured:
        found = versions.known_posts(thread.pk, range(20), [25], [floors[3].source_post_id, 77])
    assert set(found) == {floor.source_post_id for floor in floors.values()}
    plan = [step for step in plan_of(captured[0]["sql"]) if step.startswith(("SEARCH p ", "SCAN p "))]
    ways = ["floor_number>? AND floor_number<?", "floor_number=?", "source_post_id=?"]
    assert [way for way, step in zip(ways, plan, strict=True) if f"(thread_id=? AND {way})" in step] == ways


@pytest.mark.sql
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite and MariaDB plan an OR with their indexes")
def test_topics_with_gaps_are_found_without_reading_every_topic(tid):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # the tables of a test are too small for an index
    plan = Thread.objects.with_gaps().explain()
    assert "Seq Scan on threads" not in plan
    assert "Index Scan using threads_pkey" in plan
