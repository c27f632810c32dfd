"""Stored pages are read again for edits: the likeliest first, within the daily budget, and what is known is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib import import_module

import pytest
from django.db import connection
from django.urls import reverse

from watchbook.base import clock
from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import alice, client_of
from watchbook.core.jobs import runner
from watchbook.systems.nga.models import CrawlRun, Post, Thread, ThreadPageReading
from watchbook.systems.nga.store import runs
from watchbook.systems.nga.tests.archive import differences, floors_of, thread_of

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
__all__ = ["alice"]
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def reread(board, **span):
    """Let some time pass, then read pages again. Return the figures and the pages that were asked for."""
    board.world.advance(**span)
    board.begin_run()
    before = board.log.count()
    with clock.set_to(board.world.moment):
        run = runner.run_now("nga.reread")
    assert run.state == "done", (run.state, run.error)
    pages = [one.params for one in board.log.all()[before:] if "tid" in one.params]
    asked = [(int(params["tid"]), int(params["page"])) for params in pages]
    return run.progress, asked


def page_of(tid, number):
    return ThreadPageReading.objects.get(thread__source_thread_id=tid, page_number=number)


def at(row):
    return row.read_at.astimezone(UTC)


@pytest.fixture
def tid(board, crawler):
    """A topic of three pages, archived while it was new."""
    made = board.world.add_topic("[攻略]灯塔")
    for number in range(44):
        board.world.reply(made, f"第{number}条")
    crawler.crawl()
    return made


def pid_of(tid, number):
    return floors_of(tid)[number].source_post_id


def test_edit_on_an_old_page_is_found_without_a_reply(board, crawler, tid):
    board.world.edit(tid, pid_of(tid, 3), "补充：南门也开了")
    assert crawler.crawl(after=6)["http_request_count"] == 1  # the list alone
    figures, asked = reread(board, days=3)
    assert figures["updated_post_count"] == 1
    assert sorted(asked) == [(tid, 1), (tid, 2), (tid, 3)]
    assert differences(board) == {}
    assert floors_of(tid)[3].revisions.count() == 1


def test_reading_moves_neither_cursor_nor_list_fields(board, crawler, tid):
    names = ("crawl_cursor_max_floor_number", "crawl_backfill_next_page_number", "last_reply_at", "last_crawled_at")
    before = Thread.objects.values_list(*names).get()
    posts = list(Post.objects.values_list("pk", "updated_at"))
    reread(board, days=3)
    assert Thread.objects.values_list(*names).get() == before
    assert list(Post.objects.values_list("pk", "updated_at")) == posts
    assert crawler.crawl()["http_request_count"] == 1


def test_mirrors_of_the_list_see_that_a_page_was_read(board, crawler, tid):
    before = thread_of(tid).updated_at
    reread(board, days=3)
    assert thread_of(tid).updated_at > before


def test_every_whole_reading_is_noted_with_its_page(board, crawler, tid):
    first = board.world.moment
    assert {at(page_of(tid, number)) for number in (1, 2, 3)} == {first}
    board.world.advance(minutes=5)
    board.world.reply(tid, "又一楼")
    crawler.crawl(after=5)
    assert [at(page_of(tid, number)) for number in (1, 2, 3)] == [first, first, board.world.moment]


def test_page_that_is_not_whole_is_no_reading(board, crawler, tid):
    first = board.world.moment
    with board.cut_json(), board.block_form("html", status=404):
        _figures, asked = reread(board, days=3)
    assert asked
    assert {at(page_of(tid, number)) for number in (1, 2, 3)} == {first}
    assert len(floors_of(tid)) == 45


def test_budget_of_a_day_is_kept_whatever_is_due(board, crawler, monkeypatch):
    monkeypatch.setenv("NGA_REREAD_REQUESTS", "24")
    for number in range(40):
        board.world.add_topic(f"帖{number}")
    crawler.crawl()
    board.world.advance(days=20)
    board.world.set_time(board.world.moment.replace(hour=16, minute=0, second=0))  # midnight in Shanghai
    spent = [len(reread(board, hours=1 if number else 0)[1]) for number in range(24)]
    assert spent == [1] * 24
    assert len(reread(board, hours=1)[1]) == 1  # the next day


def test_zero_requests_switch_it_off(board, crawler, tid, monkeypatch):
    monkeypatch.setenv("NGA_REREAD_REQUESTS", "0")
    assert reread(board, days=9)[1] == []


def test_reserved_and_edited_pages_come_first(board, crawler, monkeypatch):
    monkeypatch.setenv("NGA_REREAD_REQUESTS", "48")
    plain, reserved, edited = (board.world.add_topic(f"帖{number}") for number in range(3))
    for tid in (plain, reserved, edited):
        board.world.reply(tid, "占楼" if tid == reserved else "沙发")
    board.world.edit(edited, 0, "改过一次")
    crawler.crawl()
    order = []
    for _hour in range(3):
        order += [tid for tid, _page in reread(board, hours=5)[1]]
    assert set(order[:2]) == {reserved, edited}
    assert [page_of(tid, 1).weight for tid in (plain, reserved, edited)] == [1, 4, 4]


def test_time_between_readings_grows_while_nothing_happens(board, crawler, tid):
    gaps = []
    for _round in range(4):
        row = page_of(tid, 1)
        gaps.append(row.next_reread_at - row.read_at)
        reread(board, seconds=(row.next_reread_at - board.world.moment).total_seconds() + 60)
    assert gaps == sorted(gaps)
    assert gaps[-1] > 3 * gaps[0]


def test_outage_ends_the_run_and_everything_stays_due(board, crawler, tid):
    board.world.advance(days=3)
    with board.outage():
        figures, asked = reread(board)
    assert (figures["error"]["code"], len(asked)) == ("busy", 3)
    assert figures["http_request_count"] == 3
    assert not ThreadPageReading.objects.filter(next_reread_at__gt=board.world.moment).exists()
    assert len(reread(board, hours=1)[1]) == 3


def test_topic_that_is_gone_costs_one_request_and_deletes_nothing(board, crawler, tid):
    board.world.refuse(tid)
    _figures, asked = reread(board, days=3)
    assert asked == [(tid, 1)]
    assert len(floors_of(tid)) == 45
    assert not Post.objects.filter(is_deleted_by_source=True).exists()
    assert reread(board, hours=12)[1] == []


def test_topic_that_is_shorter_now_is_asked_later_and_keeps_its_posts(board, crawler, tid):
    topic = board.world.topics[tid]
    for number in range(20, 45):
        del topic.posts[number]
    board.past_end = "message"
    reread(board, days=3)
    assert len(floors_of(tid)) == 45
    assert all(row.next_reread_at > board.world.moment for row in ThreadPageReading.objects.all())


def test_newest_first_topic_is_read_by_post_number(board, crawler):
    tid = board.world.add_topic("[直播]倒序")
    for number in range(49):
        board.world.reply(tid, f"第{number}条")
    board.world.mark(tid, reversed=True)
    crawler.crawl()
    first = board.world.moment
    assert {at(page_of(tid, number)) for number in (1, 2, 3)} == {first}
    board.world.edit(tid, pid_of(tid, 5), "改了")
    board.world.advance(days=1)
    for number in range(7):
        board.world.reply(tid, f"后来{number}")
    figures, _asked = reread(board, days=2)
    assert figures["updated_post_count"] == 1
    assert at(page_of(tid, 1)) == board.world.moment
    assert differences(board) == {}


def test_runs_name_what_they_did(board, crawler, tid):
    reread(board, days=3)
    run = CrawlRun.objects.latest("pk")
    assert (run.run_trigger_text, run.http_request_count, run.result.run_kind) == ("reread", 3, "reread")
    assert run.threads.get().fetched_page_count == 3


@pytest.mark.parametrize(
    "text",
    ["占楼", "先占个坑", "[b]预留[/b]", "待编辑", "二楼备用", "Reserved", "长" * 500 + "（持续更新）", "未完待续",
     "[quote]占楼[/quote]待补图"],
)  # fmt: skip
def test_words_of_a_reserved_post_are_recognised(text):
    assert runs.is_reserving(text)


@pytest.mark.parametrize(
    "text", ["沙发", "[quote]占楼[/quote]楼上占了", "字" * 80 + "别人占楼都会编辑", "", "preserved food"]
)
def test_other_words_are_no_reserved_post(text):
    assert not runs.is_reserving(text)


def test_expected_edits_fall_with_age_and_rise_with_weight():
    def expected(quiet_days, weight):
        read_at = NOW - timedelta(hours=12)
        return runs.expected_edits(read_at, read_at - timedelta(days=quiet_days), weight, NOW)

    assert expected(0, 1) > expected(3, 1) > expected(30, 1) > 0
    assert expected(30, 8) == pytest.approx(8 * expected(30, 1))


def test_due_pages_are_found_in_six_queries(board, crawler, tid, django_assert_num_queries):
    with django_assert_num_queries(6):
        assert len(runs.due(board.world.moment + timedelta(days=3), 10)) == 3


def test_archive_from_before_gets_its_pages(board, crawler, tid):
    expected = set(ThreadPageReading.objects.values_list("thread_id", "page_number"))
    ThreadPageReading.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute(import_module("watchbook.systems.nga.migrations.0008_page_readings").FILL, [])
    assert set(ThreadPageReading.objects.values_list("thread_id", "page_number")) == expected
    assert at(page_of(tid, 2)) == board.world.moment


def test_pages_list_and_api_say_until_when_edits_are_known(board, crawler, tid, alice):
    first = board.world.moment
    board.world.advance(minutes=5)
    board.world.reply(tid, "又一楼")
    crawler.crawl(after=5)
    client = client_of(alice)
    with clock.set_to(board.world.moment):
        topic, listed = client.get(f"/nga/topics/{tid}/").text, client.get(reverse("nga:topics")).text
        detail = client.get(f"/api/v1/nga/threads/{tid}").json()
        (row,) = client.get("/api/v1/nga/threads").json()["items"]
        found = [len(client.get("/api/v1/nga/threads?outdated=true").json()["items"])]
    assert "later edits on it are not known yet" in topic
    assert "page 1 was not read since" in squeezed(topic)
    assert "edits known until" in listed
    assert datetime.fromisoformat(detail["edits_known_until"]) == first
    assert row["edits_known_until"] == detail["edits_known_until"]
    read = {page["page_number"]: datetime.fromisoformat(page["read_at"]) for page in detail["pages"]}
    assert read == {1: first, 2: first, 3: board.world.moment}
    with clock.set_to(first + timedelta(days=8)):
        found.append(len(client.get("/api/v1/nga/threads?outdated=true").json()["items"]))
        assert "灯塔" in client.get(reverse("nga:topics"), {"outdated": "1"}).text
    assert found == [0, 1]
