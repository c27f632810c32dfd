"""Stories of a board and what the archive makes of them, run after run."""

from __future__ import annotations

import pytest

from standins.nga_board.layout import page_rows
from standins.nga_board.pages import list_page
from standins.server import Answer
from watchbook.core.search.find import find
from watchbook.systems.nga.models import CrawlRun, CrawlRunThread, Post, PostRevision, Thread, ThreadTagMap
from watchbook.systems.nga.tests.archive import differences, floors_of, thread_of

pytestmark = pytest.mark.django_db


def grow(board, tid, count):
    return [board.world.reply(tid, f"第{number}条") for number in range(count)]


def test_first_run_stores_every_post_of_the_window(board, crawler):
    board.life.days(3)
    plan = crawler.plan
    figures = crawler.crawl()
    assert differences(board) == {}
    assert figures["http_request_count"] == board.log.count() == plan.requests
    assert figures["thread_scanned_count"] == figures["thread_updated_count"] == len(plan.topic_pages)
    assert figures["failed_thread_count"] == 0
    assert figures["new_post_count"] == Post.objects.count()


def test_run_without_changes_requests_only_the_list_and_writes_no_post(board, crawler):
    board.life.days(2)
    crawler.crawl()
    written = set(Post.objects.values_list("pk", "updated_at"))
    before = board.log.count()
    figures = crawler.crawl(after=0.2)
    assert [request.path for request in board.log.all()[before:]] == ["/thread.php"]
    assert figures["thread_change_detected_count"] == figures["new_post_count"] == 0
    assert set(Post.objects.values_list("pk", "updated_at")) == written
    assert not CrawlRunThread.objects.filter(crawl_run_id=figures["run_id"]).exists()


def test_window_is_cut_at_midnight_in_shanghai(board, crawler):
    board.world.set_time("2026-06-08T15:59:59+00:00")
    board.world.add_topic("昨夜的帖子")
    board.world.set_time("2026-06-08T16:00:00+00:00")
    inside = board.world.add_topic("零点的帖子")
    board.world.set_time("2026-06-11T04:00:00+00:00")
    figures = crawler.crawl()
    assert [thread.source_thread_id for thread in Thread.objects.all()] == [inside]
    assert (figures["date_window_start"], figures["date_window_end"]) == ("2026-06-09", "2026-06-11")
    run = CrawlRun.objects.get()
    assert (str(run.date_window_start), str(run.date_window_end)) == ("2026-06-09", "2026-06-11")


def test_crawl_rereads_only_from_the_page_of_the_last_known_post(board, crawler):
    tid = board.world.add_topic("[讨论]长帖")
    grow(board, tid, 45)
    crawler.crawl()
    board.world.advance(hours=1)
    board.world.edit(tid, floors_of(tid)[41].source_post_id, "改过的第41楼")
    board.world.edit(tid, floors_of(tid)[3].source_post_id, "没有人再看的一楼")
    grow(board, tid, 20)
    before = board.log.count()
    figures = crawler.crawl(after=1)
    assert [request.params["page"] for request in board.log.all("/read.php")][3:] == ["3", "4"]
    assert board.log.count() - before == 3
    assert (figures["new_post_count"], figures["updated_post_count"]) == (20, 1)
    assert differences(board) == {}
    revision = PostRevision.objects.get()
    assert revision.reasons == ["content_fingerprint_changed"]
    assert "第40条" in revision.content_html
    assert "改过的" in floors_of(tid)[41].content_html


def test_pages_beyond_the_limit_are_read_by_later_runs(board, crawler):
    tid = board.world.add_topic("[讨论]很长的帖")
    board.world.fill(tid, 239)
    assert crawler.crawl()["new_post_count"] == 100
    thread = thread_of(tid)
    assert (thread.is_truncated_by_page_limit, thread.truncated_at_page_number) == (True, 5)
    assert (thread.crawl_backfill_next_page_number, thread.crawl_page_total_last_seen) == (6, 12)
    assert thread.crawl_cursor_max_floor_number == 99
    second = crawler.crawl(after=24 * 5)
    assert (second["thread_change_detected_count"], second["thread_updated_count"]) == (0, 0)
    assert second["new_post_count"] == 100
    assert crawler.crawl(after=12)["new_post_count"] == 40
    thread = thread_of(tid)
    assert (thread.is_truncated_by_page_limit, thread.truncated_at_page_number) == (False, None)
    assert (thread.crawl_backfill_next_page_number, thread.crawl_cursor_max_floor_number) == (None, 239)
    assert [row.page_limit_applied for row in CrawlRunThread.objects.order_by("pk")] == [True, True, False]
    assert [row.change_detected_by_last_reply_at for row in CrawlRunThread.objects.order_by("pk")] == [
        True,
        False,
        False,
    ]
    assert differences(board) == {}


def test_topic_over_a_thousand_pages_costs_no_request(board, crawler):
    tid = board.world.add_topic("[水]盖楼")
    board.world.fill(tid, 20_000)
    figures = crawler.crawl()
    assert board.log.count("/read.php") == 0
    thread = thread_of(tid)
    assert thread.is_skipped_by_page_total_limit
    assert thread.skipped_by_page_total_limit_at == thread.created_at
    assert (thread.crawl_page_total_last_seen, thread.reply_count_display) == (1001, 20_000)
    assert (figures["thread_change_detected_count"], figures["thread_updated_count"]) == (1, 0)
    first = thread.skipped_by_page_total_limit_at
    board.world.advance(hours=1)
    board.world.fill(tid, 50)
    crawler.crawl(after=1)
    assert thread_of(tid).skipped_by_page_total_limit_at == first
    assert thread_of(tid).reply_count_display == 20_050


@pytest.mark.parametrize("is_listed", [True, False])
def test_unfinished_topic_over_a_thousand_pages_is_skipped(board, crawler, is_listed):
    tid = board.world.add_topic("[水]盖楼")
    board.world.fill(tid, 300)
    crawler.crawl()
    board.world.advance(days=5)
    board.world.fill(tid, 20_000)
    board.world.topics[tid].is_listed = is_listed
    if not is_listed:
        crawler.crawl()  # only its own pages tell how long it has become
    before = board.log.count("/read.php")
    crawler.crawl(after=12)
    assert board.log.count("/read.php") == before
    thread = thread_of(tid)
    assert (thread.is_skipped_by_page_total_limit, thread.crawl_backfill_next_page_number) == (True, None)
    assert thread.skipped_by_page_total_limit_at == board.world.moment
    assert thread.crawl_page_total_last_seen == 1016


def test_post_absent_in_two_readings_is_deleted_until_it_returns(board, crawler):
    tid = board.world.add_topic("[讨论]帖")
    pids = grow(board, tid, 5)
    crawler.crawl()
    board.world.remove(tid, pids[2])
    for turn, deleted in enumerate([False, True, True]):
        board.world.advance(hours=1)
        board.world.reply(tid, f"又一条{turn}")
        crawler.crawl(after=1)
        assert floors_of(tid)[3].is_deleted_by_source is deleted
        assert "第2条" in floors_of(tid)[3].content_html
    assert PostRevision.objects.get().change_detected_reason == "marked_deleted_by_source"
    assert differences(board) == {}
    board.world.restore(tid, pids[2])
    board.world.reply(tid, "回来了")
    crawler.crawl(after=1)
    assert not floors_of(tid)[3].is_deleted_by_source
    board.world.remove(tid, pids[2])
    board.world.advance(hours=1)
    board.world.reply(tid, "又走了")
    crawler.crawl(after=1)
    assert not floors_of(tid)[3].is_deleted_by_source
    assert differences(board) == {}


def test_locked_and_hidden_is_deleted_and_hidden_alone_is_folded(board, crawler):
    tid = board.world.add_topic("[讨论]帖")
    pids = grow(board, tid, 5)
    crawler.crawl()
    board.world.advance(hours=1)
    board.world.delete(tid, pids[0], blank=True)
    board.world.fold(tid, pids[1])
    board.world.lock_post(tid, pids[2])
    board.world.punish(tid, pids[3])
    board.world.edit(tid, pids[4], "改了又折叠")
    board.world.fold(tid, pids[4])
    board.world.reply(tid, "围观")
    figures = crawler.crawl(after=1)
    floors = floors_of(tid)
    assert [floors[n].is_deleted_by_source for n in range(1, 6)] == [True, False, False, False, False]
    assert [floors[n].is_folded_by_source for n in range(1, 6)] == [False, True, False, False, True]
    assert "第0条" in floors[1].content_html
    assert figures["updated_post_count"] == 4
    reasons = {row.post.floor_number: row.change_detected_reason for row in PostRevision.objects.select_related("post")}
    assert reasons == {
        1: "marked_deleted_by_source",
        2: "marked_folded_by_source",
        4: "content_fingerprint_changed",
        5: "content_fingerprint_changed;marked_folded_by_source",
    }
    assert differences(board) == {}


def test_comments_get_their_text_and_are_no_gaps(board, crawler):
    tid = board.world.add_topic("[讨论]贴条")
    pids = grow(board, tid, 25)
    near = board.world.note(tid, pids[21], "近处的贴条")
    far = board.world.note(tid, pids[0], "远处的贴条")
    crawler.crawl()
    assert board.log.count("/read.php") == 2  # both pages are read anyway
    floors = {post.source_post_id: post for post in Post.objects.all()}
    assert "近处" in floors[near].content_html
    assert "远处" in floors[far].content_html
    board.world.advance(hours=1)
    later = board.world.note(tid, pids[1], "后来的贴条")
    plan = crawler.plan
    figures = crawler.crawl(after=1)
    assert figures["http_request_count"] == plan.requests == 3  # list, page 2, and its HTML
    assert "后来" in Post.objects.get(source_post_id=later).content_html
    board.world.advance(hours=1)
    board.world.reply(tid, "没有新贴条")
    assert crawler.crawl(after=1)["http_request_count"] == 2
    assert crawler.audit()["missing_thread_count"] == 0
    assert differences(board) == {}


def test_newest_first_topics_keep_their_post_numbers(board, crawler):
    tid = board.world.add_topic("[直播]倒序")
    board.world.mark(tid, reversed=True)
    grow(board, tid, 30)
    crawler.crawl()
    assert sorted(floors_of(tid)) == list(range(31))
    for _ in range(3):
        board.world.advance(hours=1)
        grow(board, tid, 17)
        crawler.crawl(after=1)
    assert sorted(floors_of(tid)) == list(range(82))
    assert thread_of(tid).crawl_backfill_next_page_number is None
    assert differences(board) == {}


def test_rows_that_are_no_topics_of_the_board_are_skipped(board, crawler):
    own = board.world.add_topic("[讨论]自己的")
    board.world.add_topic("别处的", fid=323, shown_here=True)
    elsewhere = board.world.add_topic("别处的帖", fid=-7)
    board.world.mirror(elsewhere, "[大漩涡]镜像标题")
    board.world.deny()
    board.world.board_row()
    figures = crawler.crawl()
    assert {thread.source_thread_id: thread.title for thread in Thread.objects.all()} == {
        own: "[讨论]自己的",
        elsewhere: "[大漩涡]镜像标题",
    }
    assert figures["denied_row_count"] == 1
    assert crawler.crawl(after=0.1)["http_request_count"] == 1
    assert thread_of(elsewhere).title_last_changed_at is None


def test_topic_replaces_its_mirror_in_the_same_list(board, crawler):
    tid = board.world.add_topic("[讨论]本尊", "正文")
    for number in range(40):
        board.world.advance(minutes=1)
        board.world.add_topic(f"[水]{number}")
    board.world.mirror(tid, "[镜像]替身")
    for hours in (0, 1):
        crawler.crawl(after=hours)
        thread = thread_of(tid)
        assert (thread.title, thread.title_last_changed_at, thread.last_seen_on_list_page_number) == (
            "[讨论]本尊",
            None,
            2,
        )


def test_featured_mark_without_reply_is_seen_where_the_list_shows_it(board, crawler):
    tid = board.world.add_topic("标题")
    crawler.crawl()
    board.world.mark(tid, digest=True)
    board.world.lists_digest = True
    crawler.crawl(after=1)
    assert thread_of(tid).is_digest
    assert board.log.count("/read.php") == 1  # the topic itself was not requested again


def test_pins_titles_tags_and_digest(board, crawler):
    stid = board.world.collection("合集")
    tid = board.world.add_topic("[讨论][水]标题", "正文", parent=(7, stid, "合集"))
    board.world.mark(tid, pinned=True, digest=True)
    crawler.crawl()
    thread = thread_of(tid)
    assert (thread.title_prefix_text, thread.is_pinned, thread.is_digest) == ("讨论", True, True)
    tags = {(one.tag.tag_source, one.tag.tag_text) for one in ThreadTagMap.objects.filter(thread=thread)}
    assert tags == {("title_prefix", "讨论"), ("title_prefix", "水"), ("topic_tag", "合集")}
    board.world.mark(tid, pinned=False)
    board.world.rename(tid, "[求助]新标题")
    crawler.crawl(after=1)
    thread = thread_of(tid)
    assert (thread.title, thread.title_prefix_text, thread.is_pinned) == ("[求助]新标题", "求助", False)
    assert thread.title_last_changed_at == board.world.moment
    assert ThreadTagMap.objects.filter(thread=thread).count() == 4
    assert [hit.title for hit in find("新标题", scopes=["members"]).items] == ["[求助]新标题"]
    assert find("水", scopes=["members"]).items == ()


def test_list_read_as_a_page_unpins_nothing(board, crawler):
    tid = board.world.add_topic("[公告]置顶", "正文")
    board.world.mark(tid, pinned=True)
    crawler.crawl()
    with board.block_form("8", "11"):
        crawler.crawl(after=1)
        assert thread_of(tid).is_pinned
    board.world.mark(tid, pinned=False)
    crawler.crawl(after=1)
    assert not thread_of(tid).is_pinned


def test_opening_post_is_found_by_its_words_and_title_hits_come_first(board, crawler):
    body = board.world.add_topic("[讨论]别的", "这里说到了龙眠神殿的掉落")
    board.world.advance(minutes=5)
    title = board.world.add_topic("[讨论]龙眠神殿", "正文")
    board.world.advance(hours=1)
    crawler.crawl()
    found = find("龙眠", scopes=["members"]).items
    assert [hit.url_path for hit in found] == [f"/nga/topics/{title}/", f"/nga/topics/{body}/"]


@pytest.mark.parametrize(("place", "is_found", "list_pages"), [(80, True, 5), (120, False, 3)])
def test_scan_ends_after_two_pages_without_a_topic_of_the_window(board, crawler, place, is_found, list_pages):
    board.world.advance(days=-20)
    for number in range(190):
        board.world.advance(minutes=1)
        board.world.add_topic(f"[水]旧帖{number}")
    board.world.advance(days=20)
    hidden = board.world.add_topic("[讨论]不按顺序的新帖")
    board.world.misplace(hidden, -20 * 24 - (place / 60))
    shown = board.world.add_topic("[讨论]新帖")
    plan = crawler.plan
    figures = crawler.crawl(after=0.1)
    assert Thread.objects.filter(source_thread_id=hidden).exists() is is_found
    assert Thread.objects.filter(source_thread_id=shown).exists()
    assert board.log.count("/thread.php") == plan.list_pages == list_pages
    assert figures["http_request_count"] == plan.requests


def test_older_topic_in_the_list_is_not_fetched_but_a_stored_one_is_kept_up_to_date(board, crawler):
    tid = board.world.add_topic("[讨论]置顶", "正文")
    board.world.mark(tid, pinned=True)
    crawler.crawl()
    board.world.advance(days=9)
    board.world.add_topic("[讨论]从未见过的旧帖")
    board.world.advance(days=9)
    board.world.reply(tid, "挖坟")
    board.world.rename(tid, "[公告]置顶")
    before = board.log.count("/read.php")
    figures = crawler.crawl()
    assert board.log.count("/read.php") == before
    thread = thread_of(tid)
    assert (thread.title, thread.reply_count_display, thread.is_pinned) == ("[公告]置顶", 1, True)
    assert int(thread.last_reply_at.timestamp()) == board.world.topics[tid].last_post_at
    assert (Thread.objects.count(), figures["thread_scanned_count"]) == (1, 0)


def test_list_that_shows_its_last_page_again_has_ended(board, crawler):
    board.world.add_topic("[讨论]唯一的帖")
    board.block_form("8", "11")
    # As a page a short list does not say how many pages it has.
    same = Answer(200, list_page(board.world, 7, page_rows(board.world, 7, 1), 1), content_type="text/html")
    later = board.faults.on("/thread.php", when=lambda asked: asked.query.endswith("page=2"))
    later.treat(lambda exchange: exchange.send(same))
    crawler.crawl()
    assert Thread.objects.count() == 1
    as_html = [asked for asked in board.log.all("/thread.php") if "__output" not in asked.params]
    assert [asked.params["page"] for asked in as_html] == ["1", "2"]
