"""What goes wrong between the board and the archive, and what must not follow from it."""

from __future__ import annotations

import pytest

from standins.server import Answer
from watchbook.base import clock
from watchbook.core.jobs import queue, runner
from watchbook.core.jobs.models import JobRun
from watchbook.systems.nga.models import CrawlRun, CrawlRunThread, Forum, Post, Thread, ThreadReadingState
from watchbook.systems.nga.tests.archive import differences, floors_of, thread_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def topics(board):
    made = [board.world.add_topic(f"[讨论]第{number}帖") for number in range(3)]
    for tid in made:
        board.world.reply(tid, "回复")
    return made


@pytest.mark.parametrize(
    "said", ["帖子正等待审核", "帐号权限不足", "帖子发布或回复时间超过限制", "帖子审核未通过", "必须登录"]
)
def test_refused_topic_is_no_deletion_and_stops_no_other_topic(board, crawler, topics, said):
    crawler.crawl()
    board.world.advance(hours=1)
    for tid in topics:
        board.world.reply(tid, "又来")
    board.world.refuse(topics[1], said)
    figures = crawler.crawl(after=1)
    assert (figures["thread_updated_count"], figures["failed_thread_count"]) == (2, 1)
    assert not Post.objects.filter(is_deleted_by_source=True).exists()
    row = CrawlRunThread.objects.get(crawl_run_id=figures["run_id"], thread=thread_of(topics[1]))
    assert said in row.error_summary
    assert thread_of(topics[1]).crawl_backfill_next_page_number == 1
    board.world.refuse(topics[1], "")
    later = crawler.crawl(after=24 * 6)  # it left the window long ago
    assert (later["thread_change_detected_count"], later["new_post_count"]) == (0, 1)
    assert differences(board) == {}


def test_topic_missing_twice_is_not_requested_until_listed_again(board, crawler, topics):
    board.world.fill(topics[0], 130)
    crawler.crawl()
    board.world.refuse(topics[0])
    for run in (1, 2):
        assert crawler.crawl(after=12)["failed_thread_count"] == 1
        assert ThreadReadingState.objects.get().gone_answer_count == run
    before = board.log.count("/read.php")
    crawler.crawl(after=12)
    assert board.log.count("/read.php") == before
    assert not Post.objects.filter(is_deleted_by_source=True).exists()
    board.world.refuse(topics[0], "")
    crawler.crawl(after=1)
    assert len(floors_of(topics[0])) == thread_of(topics[0]).reply_count_display + 1


def test_outage_during_a_crawl_loses_nothing(board, crawler, topics):
    board.world.fill(topics[0], 60)
    with board.faults.on("/read.php", from_nth=3).fail(503):
        figures = crawler.crawl()
    assert board.log.count() <= 50
    assert figures["http_request_count"] == board.log.count()
    assert figures["failed_thread_count"] >= 1
    assert Thread.objects.count() == 3
    crawler.crawl(after=12)
    assert Post.objects.count() == sum(board.world.topics[tid].total for tid in topics)
    assert differences(board) == {}


def test_complete_outage_ends_the_run_with_its_reason(board, crawler, topics):
    crawler.crawl()
    before = board.log.count()
    with board.outage():
        figures = crawler.crawl(after=12)
    assert figures["error"]["code"] in {"busy", "outage"}
    assert 0 < board.log.count() - before <= 50
    assert CrawlRun.objects.latest("pk").run_finished_at is not None


def test_crawl_with_a_failed_guest_check_costs_at_most_eight_requests(board, crawler, topics):
    board.set_gate("shut")
    figures = crawler.crawl()
    assert figures["error"]["code"] == "gate_shut"
    assert 0 < figures["http_request_count"] == board.log.count() <= 8
    board.set_gate("ask")
    assert crawler.crawl()["new_post_count"] == 6


def test_guest_check_failing_within_the_list_keeps_counts_and_unread_topics(board, crawler):
    for number in range(40):
        board.world.advance(minutes=1)
        board.world.add_topic(f"[讨论]{number}")
    board.set_gate("ask", good_for=1)
    figures = crawler.crawl()
    assert figures["error"]["code"] == "gate_shut"
    assert (figures["thread_scanned_count"], figures["thread_change_detected_count"]) == (35, 35)
    assert (figures["thread_updated_count"], CrawlRun.objects.get().thread_scanned_count) == (0, 35)
    board.set_gate("open")
    assert crawler.crawl(after=0.1)["new_post_count"] == 40
    assert differences(board) == {}


def test_failed_scheduled_run_is_retried_soon(board, crawler, topics):
    with board.outage(), clock.set_to(board.world.moment):
        run = queue.enqueue("nga.crawl", key="nga.crawl@2026-06-01T00:00:00Z", exclusive="job:nga.crawl")
        done = runner.execute(queue.claim(run, "test"))
    assert (done.state, done.attempt) == ("queued", 1)
    assert CrawlRun.objects.get().run_trigger_text == "schedule_12h"


def test_incomplete_page_does_not_move_the_cursor(board, crawler, topics):
    tid = topics[0]
    board.world.fill(tid, 50)
    board.past_end = "last"
    crawler.crawl()
    board.world.advance(hours=1)
    pid = board.world.reply(tid, "新")
    with board.faults.on("/read.php").treat(_claiming_more_rows):
        figures = crawler.crawl(after=1)
    assert figures["failed_thread_count"] == 1
    assert not Post.objects.filter(source_post_id=pid).exists()
    assert thread_of(tid).crawl_backfill_next_page_number == 3
    crawler.crawl(after=1)
    assert Post.objects.filter(source_post_id=pid).exists()


def _claiming_more_rows(exchange):
    """The answer says that it has more rows than it has."""
    answer = exchange.ordinary()
    body = answer.whole_body().replace(b'"__R__ROWS":', b'"__R__ROWS":9')
    exchange.send(Answer(answer.status, body, answer.headers, content_type=answer.content_type))


def test_two_crawls_never_run_together(board, crawler, topics):
    run = queue.enqueue("nga.crawl", exclusive="job:nga.crawl")
    queue.claim(run, "somebody")
    with pytest.raises(Exception, match="already running"):
        crawler.crawl()
    JobRun.objects.filter(pk=run.pk).update(lease_until="2020-01-01T00:00:00Z")
    assert crawler.crawl()["thread_updated_count"] == 3


def test_long_titles_and_names_are_cut_and_counted(board, crawler):
    tid = board.world.add_topic("[长]" + "题" * 300, "正文", author="名" * 120)
    board.world.reply(tid, "一", author="客" * 81)
    figures = crawler.crawl()
    assert len(thread_of(tid).title) == 200
    assert len(floors_of(tid)[0].author_name) == 80
    # The title and the author of the row, and the authors of two floors.
    assert figures["cut_text_count"] == 4
    assert crawler.crawl(after=0.1)["thread_change_detected_count"] == 0
    assert thread_of(tid).title_last_changed_at is None


def test_every_board_is_crawled_by_the_scheduled_job(board, crawler, topics):
    Forum.objects.create(source_forum_id=-7, list_url="x")
    board.world.add_topic("别处", fid=-7)
    with clock.set_to(board.world.moment):
        run = runner.run_now("nga.crawl")
    assert [one["fid"] for one in run.progress["forums"]] == [7, -7]
    assert Thread.objects.filter(forum__source_forum_id=-7).count() == 1


def test_page_without_posts_is_skipped_and_deletes_nothing(board, crawler):
    tid = board.world.add_topic("[讨论]中间空了一页")
    pids = [board.world.reply(tid, f"{number}") for number in range(59)]
    seen = board.world.add_topic("[讨论]后来空了一页")
    later = [board.world.reply(seen, f"{number}") for number in range(59)]
    for pid in pids[19:39]:
        board.world.remove(tid, pid)
    assert crawler.crawl()["failed_thread_count"] == 0
    assert sorted(floors_of(tid)) == [*range(20), *range(40, 60)]
    assert crawler.audit()["missing_thread_count"] == 1
    for pid in later[19:39]:
        board.world.remove(seen, pid)
    for _ in range(3):
        crawler.read(seen, (2, 2), after=1)
    assert not Post.objects.filter(is_deleted_by_source=True).exists()
