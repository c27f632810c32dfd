"""Topics that show their newest replies first, where the list does not say so or the moderators change their mind."""

from __future__ import annotations

import pytest

from standins.server import Answer
from watchbook.systems.nga.models import Forum, Post
from watchbook.systems.nga.tests.archive import differences, floors_of, thread_of

pytestmark = pytest.mark.django_db

DISPLAY = (
    (b'"topic_misc":"AQAEAAA"', b'"topic_misc":null'),
    (b'"topic_misc_var":{"1":262144}', b'"topic_misc_var":null'),
)


def silence(exchange):
    """The rows of a list without their display bits, which a row need not have."""
    answer = exchange.ordinary()
    body = answer.whole_body()
    for said, unsaid in DISPLAY:
        assert said in body
        body = body.replace(said, unsaid)
    exchange.send(Answer(answer.status, body, answer.headers, content_type=answer.content_type))


def backwards(board, floors):
    tid = board.world.add_topic("[直播]倒序")
    board.world.mark(tid, reversed=True)
    board.world.fill(tid, floors)
    return tid


@pytest.mark.parametrize("floors", [30, 119, 239])
def test_topic_is_read_to_its_end_by_page_numbers_alone(board, crawler, floors):
    tid = backwards(board, floors)
    board.faults.on("/thread.php").treat(silence)
    asked = [crawler.crawl(after=6)["http_request_count"] for _ in range(5)]
    assert sorted(floors_of(tid)) == list(range(floors + 1))
    assert thread_of(tid).crawl_backfill_next_page_number is None
    assert (max(asked), asked[-1]) == (min(floors // 20 + 2, 6), 1)
    assert differences(board) == {}


def test_it_is_read_on_with_a_limit_of_one_page(board, crawler):
    tid = backwards(board, 50)
    Forum.objects.update(crawl_page_limit=1)
    board.faults.on("/thread.php").treat(silence)
    for _ in range(4):
        crawler.crawl(after=6)
    assert sorted(floors_of(tid)) == list(range(51))


def test_new_posts_are_found_by_page_numbers_alone(board, crawler):
    tid = backwards(board, 50)
    board.faults.on("/thread.php").treat(silence)
    crawler.crawl()
    for _ in range(3):
        board.world.advance(hours=1)
        board.world.reply(tid, "又一条")
        assert crawler.crawl(after=1)["new_post_count"] == 1
    assert sorted(floors_of(tid)) == list(range(54))
    assert differences(board) == {}


def test_unread_pages_are_read_without_reading_a_page_twice(board, crawler):
    tid = backwards(board, 239)
    assert [crawler.crawl(after=6)["http_request_count"] for _ in range(4)] == [6, 6, 3, 1]
    assert sorted(floors_of(tid)) == list(range(240))
    assert differences(board) == {}


@pytest.mark.parametrize("is_first", [True, False])
def test_changed_order_skips_no_unread_post(board, crawler, is_first):
    tid = backwards(board, 239)
    board.world.mark(tid, reversed=is_first)
    assert crawler.crawl()["new_post_count"] == 100
    board.world.mark(tid, reversed=not is_first)
    for _ in range(2):
        crawler.crawl(after=12)
    assert sorted(floors_of(tid)) == list(range(240))
    assert thread_of(tid).crawl_backfill_next_page_number is None
    assert differences(board) == {}


def test_repair_does_not_count_a_page_that_is_another_one_now_as_an_attempt(board, crawler):
    tid = backwards(board, 50)
    board.faults.on("/thread.php").treat(silence)
    for _ in range(3):
        crawler.crawl(after=1)  # after a run without news only the list has been heard
    Post.objects.filter(thread__source_thread_id=tid, floor_number__in=[5, 30]).delete()
    figures = crawler.audit(repair=True)
    assert figures["repaired_thread_count"] == 1
    assert sorted(floors_of(tid)) == list(range(51))
