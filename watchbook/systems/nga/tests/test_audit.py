"""Gaps of every kind: found without a request, repaired with the fewest, given up after three attempts."""

from __future__ import annotations

import pytest
from django.db import connection

from watchbook.systems.nga.models import (
    CrawlRun,
    Post,
    ThreadFloorAuditPost,
    ThreadFloorAuditRun,
    ThreadFloorAuditThread,
    ThreadFloorRepairAttempt,
)
from watchbook.systems.nga.store.audits import find_gaps
from watchbook.systems.nga.tests.archive import differences, floors_of, thread_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def tid(board, crawler):
    """A topic of 70 floors, all stored."""
    made = board.world.add_topic("[讨论]有洞的帖", "一楼的话")
    for number in range(69):
        board.world.reply(made, f"第{number}条")
    crawler.crawl()
    assert len(floors_of(made)) == 70
    return made


def lose(tid, *numbers):
    Post.objects.filter(thread__source_thread_id=tid, floor_number__in=numbers).delete()


def asked_pages(board, since):
    return [int(request.params["page"]) for request in board.log.all()[since:] if request.path == "/read.php"]


def floor_rows(run_id):
    rows = ThreadFloorAuditPost.objects.filter(audit_run_id=run_id).order_by("floor_number")
    return {row.floor_number: (row.repair_status, row.attempt_count_before, row.attempt_count_after) for row in rows}


def test_audit_lists_every_missing_post_without_requests(board, crawler, tid):
    board.world.add_topic("另一个，完整的")
    crawler.crawl(after=0.1)
    lose(tid, 0, 21, 22, 45)
    before = board.log.count()
    figures = crawler.audit()
    assert board.log.count() == before
    assert (figures["total_thread_count"], figures["missing_thread_count"]) == (2, 1)
    row = ThreadFloorAuditThread.objects.get()
    assert (row.max_floor_number, row.post_count, row.missing_floor_count) == (69, 66, 4)
    assert (row.repair_status, row.ignored_floor_count, row.repair_attempted_at) == ("missing", 0, None)
    assert floor_rows(figures["audit_run_id"]) == dict.fromkeys((0, 21, 22, 45), ("missing", 0, None))
    assert not ThreadFloorRepairAttempt.objects.exists()
    run = ThreadFloorAuditRun.objects.get()
    assert (run.repair_enabled, run.run_trigger_text) == (False, "manual")
    assert run.run_finished_at is not None


def test_repair_requests_only_pages_with_gaps(board, crawler, tid):
    lose(tid, 0, 21, 22, 45)
    thread = thread_of(tid)
    board.world.advance(hours=2)
    board.world.reply(tid, "新的一楼不归修补管")
    board.world.edit(tid, floors_of(tid)[23].source_post_id, "改了也不归修补管")
    before = board.log.count()
    figures = crawler.audit(repair=True, after=1)
    assert sorted(asked_pages(board, before)) == [1, 2, 3]
    assert figures["repaired_thread_count"] == figures["missing_thread_count"] == 1
    assert figures["http_request_count"] == 3
    assert sorted(floors_of(tid)) == list(range(70))
    assert "第22条" in floors_of(tid)[23].content_html
    now = thread_of(tid)
    names = ("crawl_cursor_max_floor_number", "last_reply_at", "reply_count_display", "last_crawled_at", "updated_at")
    assert [getattr(now, name) for name in names] == [getattr(thread, name) for name in names]
    row = ThreadFloorAuditThread.objects.get()
    assert (row.repair_status, row.repair_remaining_floor_count) == ("repaired", 0)
    assert (row.repair_after_post_count, row.repair_after_max_floor_number) == (70, 69)
    assert CrawlRun.objects.get(pk=row.repair_crawl_run_id).http_request_count == 3
    assert floor_rows(figures["audit_run_id"]) == dict.fromkeys((0, 21, 22, 45), ("repaired", 0, 1))


def test_missing_post_is_given_up_after_three_attempts(board, crawler, tid):
    pid = floors_of(tid)[30].source_post_id
    lose(tid, 30)
    board.world.remove(tid, pid)
    for attempt in range(3):
        figures = crawler.audit(repair=True, after=24)
        assert floor_rows(figures["audit_run_id"]) == {30: ("still_missing", attempt, attempt + 1)}
        assert (figures["partial_thread_count"], figures["failed_thread_count"]) == (0, 0)
    before = board.log.count()
    figures = crawler.audit(repair=True, after=24)
    assert board.log.count() == before
    assert floor_rows(figures["audit_run_id"]) == {30: ("ignored", 3, None)}
    row = ThreadFloorAuditThread.objects.get(audit_run_id=figures["audit_run_id"])
    assert (row.repair_status, row.ignored_floor_count, row.missing_floor_count) == ("skipped", 1, 1)
    assert floor_rows(crawler.audit()["audit_run_id"]) == {30: ("ignored", 3, None)}


def test_failures_are_sorted_by_their_kind_and_use_up_an_attempt(board, crawler, tid):
    other = board.world.add_topic("[讨论]打不开的帖")
    for number in range(3):
        board.world.reply(other, f"{number}")
    crawler.crawl(after=0.1)
    lose(tid, 18)
    lose(other, 1)
    board.world.refuse(other, "帐号权限不足")
    with board.cut_json(tid=tid, forms=("8", "11", "html")):
        figures = crawler.audit(repair=True)
    assert (figures["failed_thread_count"], figures["failed_parse_count"], figures["failed_http_count"]) == (2, 1, 1)
    rows = {row.source_thread_id: row for row in ThreadFloorAuditThread.objects.all()}
    assert (rows[tid].repair_error_category, rows[other].repair_error_category) == ("parse", "http")
    assert rows[other].repair_error_summary.startswith("no_right: 帐号权限不足")
    assert {row.attempt_count for row in ThreadFloorRepairAttempt.objects.all()} == {1}
    floor = ThreadFloorAuditPost.objects.get(source_thread_id=other)
    assert (floor.repair_status, floor.repair_error_category, floor.attempt_count_after) == ("failed", "http", 1)


def test_failing_site_stops_the_repair_and_costs_no_attempt(board, crawler, tid):
    others = [board.world.add_topic(f"[讨论]{number}") for number in range(4)]
    for other in others:
        board.world.reply(other, "回复")
    crawler.crawl(after=0.1)
    lose(tid, 5)
    for other in others:
        lose(other, 0)
    before = board.log.count()
    with board.outage(502):
        figures = crawler.audit(repair=True)
    assert board.log.count() - before == 3
    assert (figures["failed_thread_count"], figures["error"]["code"]) == (0, "busy")
    assert ThreadFloorAuditThread.objects.filter(repair_http_error_code=502, repair_status="skipped").count() == 1
    assert crawler.audit(repair=True)["repaired_thread_count"] == 5


def test_comment_is_repaired_with_its_text(board, crawler, tid):
    parent = floors_of(tid)[1].source_post_id
    board.world.advance(hours=1)
    note = board.world.note(tid, parent, "贴条的话")
    crawler.crawl(after=1)
    lose(tid, 70)
    before = board.log.count()
    assert crawler.audit(repair=True)["repaired_thread_count"] == 1
    assert board.log.count() - before == 2  # its page, and the HTML of it
    assert "贴条的话" in Post.objects.get(source_post_id=note).content_html


def test_comment_without_text_does_not_block_other_posts(board, crawler, tid):
    parent = floors_of(tid)[1].source_post_id
    board.world.advance(hours=1)
    board.world.note(tid, parent, "贴条的话")
    board.world.reply(tid, "之后的一楼")
    pages = board.block_form("html", status=404)
    figures = crawler.crawl(after=1)
    assert (figures["new_post_count"], figures["failed_thread_count"]) == (1, 0)
    assert 70 not in floors_of(tid)
    assert "之后的一楼" in floors_of(tid)[71].content_html
    lose(tid, 62)
    figures = crawler.audit(repair=True)
    assert (figures["partial_thread_count"], figures["failed_thread_count"]) == (1, 0)
    assert floor_rows(figures["audit_run_id"]) == {62: ("repaired", 0, 1), 70: ("failed", 0, 1)}
    assert ThreadFloorAuditPost.objects.get(floor_number=70).repair_http_error_code == 404
    pages.lift()
    assert crawler.audit(repair=True)["repaired_thread_count"] == 1
    assert "贴条的话" in floors_of(tid)[70].content_html


def test_gaps_of_newest_first_topic_are_searched_from_the_end(board, crawler):
    tid = board.world.add_topic("[直播]倒序")
    board.world.mark(tid, reversed=True)
    for number in range(65):
        board.world.reply(tid, f"{number}")
    crawler.crawl()
    lose(tid, 2, 3, 64)
    board.world.advance(hours=1)
    for number in range(15):
        board.world.reply(tid, f"后来{number}")
    before = board.log.count()
    assert crawler.audit(repair=True)["repaired_thread_count"] == 1
    assert len(asked_pages(board, before)) <= 3
    assert sorted(floors_of(tid)) == list(range(66))


def test_posts_of_a_repair_are_not_stored_twice_by_the_next_crawl(board, crawler, tid):
    lose(tid, 60, 69)
    crawler.audit(repair=True)
    board.world.advance(hours=1)
    board.world.reply(tid, "继续")
    assert crawler.crawl(after=1)["new_post_count"] == 1
    assert differences(board) == {}


def test_scan_costs_two_queries_a_thousand_topics(board, crawler, tid, django_assert_max_num_queries):
    for number in range(8):
        board.world.add_topic(f"[讨论]{number}")
    crawler.crawl(after=0.1)
    with django_assert_max_num_queries(3, connection=connection):
        assert list(find_gaps()) == [(9, [])]
