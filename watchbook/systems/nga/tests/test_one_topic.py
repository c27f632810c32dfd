"""`nga thread`: one topic now, without list and limit."""

from __future__ import annotations

import pytest
from django.db.models.signals import pre_save

from watchbook.base.invalid import InvalidInput
from watchbook.core.accounts.models import AuditEvent
from watchbook.systems.nga import actions
from watchbook.systems.nga.models import CrawlRun, Forum
from watchbook.systems.nga.tests.archive import differences, floors_of, thread_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def tid(board, crawler):
    made = board.world.add_topic("[讨论]长帖")
    board.world.fill(made, 199)
    crawler.crawl()
    assert len(floors_of(made)) == 100
    return made


def test_it_is_read_to_its_end_without_a_list_request(board, crawler, tid):
    before = board.log.count()
    figures = crawler.read(tid)
    assert figures == {
        "tid": tid,
        "fetched_page_count": 5,
        "new_post_count": 100,
        "updated_post_count": 0,
        "http_request_count": 5,
    }
    assert {request.path for request in board.log.all()[before:]} == {"/read.php"}
    thread = thread_of(tid)
    assert (thread.crawl_backfill_next_page_number, thread.is_truncated_by_page_limit) == (None, False)
    assert CrawlRun.objects.latest("pk").http_request_count == 5
    assert crawler.read(tid)["fetched_page_count"] == 1
    assert differences(board) == {}


def test_single_pages_do_not_move_the_cursor(board, crawler, tid):
    board.world.edit(tid, floors_of(tid)[25].source_post_id, "改了")
    figures = crawler.read(tid, (2, 2))
    assert (figures["fetched_page_count"], figures["updated_post_count"]) == (1, 1)
    thread = thread_of(tid)
    assert (thread.crawl_backfill_next_page_number, thread.is_truncated_by_page_limit) == (6, True)


def test_title_that_changed_is_found_here_too(board, crawler, tid):
    board.world.rename(tid, "[公告]改名")
    crawler.read(tid, (1, 1), after=1)
    assert (thread_of(tid).title, thread_of(tid).title_prefix_text) == ("[公告]改名", "公告")
    assert thread_of(tid).title_last_changed_at == board.world.moment


def test_unknown_topic_is_no_topic_of_the_archive(board, crawler):
    run = actions.read_now(1)
    assert (run.state, run.error_code) == ("failed", "unknown_topic")


def test_queued_topic_is_not_queued_again(board, crawler, tid):
    assert actions.read_soon(thread_of(tid)) is not None
    assert actions.read_soon(thread_of(tid)) is None


def test_refusal_opens_an_alert(board, crawler, tid):
    board.world.refuse(tid, "帐号权限不足")
    assert crawler.read(tid)["error"] == {"code": "no_right", "message": "no_right: 帐号权限不足"}


def test_add_forum_refuses_doubles(db):
    actions.add_forum(-447601, "二次元")
    with pytest.raises(InvalidInput):
        actions.add_forum(-447601, "二次元")
    assert AuditEvent.objects.filter(event="nga.forum_added", subject="-447601").count() == 1


def test_board_added_by_another_user_in_between_is_refused(db):
    """The other one comes between our look and our insert."""

    def add_first(instance, **_given):
        Forum.objects.bulk_create([Forum(source_forum_id=instance.source_forum_id, list_url="https://forum.example/")])

    pre_save.connect(add_first, sender=Forum)
    try:
        with pytest.raises(InvalidInput) as refusal:
            actions.add_forum(-447601, "二次元")
    finally:
        pre_save.disconnect(add_first, sender=Forum)
    assert refusal.value.code == "exists"
    assert not AuditEvent.objects.filter(event="nga.forum_added").exists()
