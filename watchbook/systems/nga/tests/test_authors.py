"""Followed authors: new topics and replies in whichever board are archived, with two requests an author."""

from __future__ import annotations

from datetime import timedelta

import pytest
from click.testing import CliRunner
from django.urls import reverse

from watchbook.base import clock
from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import alice, client_of, operator
from watchbook.core.jobs import queue, runner
from watchbook.core.jobs.models import JobRun
from watchbook.systems.nga import actions
from watchbook.systems.nga.cli import group
from watchbook.systems.nga.models import FollowedAuthor, FollowedThread, Post, Thread, ThreadReadingState
from watchbook.systems.nga.tests.archive import differences, thread_of

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
__all__ = ["alice", "operator"]
ELSEWHERE = -447601


def check(board, **span):
    """Let some time pass, check what is followed, then run the crawls that were queued. Return the first's figures."""
    board.world.advance(**span)
    board.begin_run()
    with clock.set_to(board.world.moment):
        run = runner.run_now("nga.follow")
        for queued in JobRun.objects.filter(name="nga.thread", state="queued"):
            runner.run_now("nga.thread", queued.args)
            queued.delete()
    assert run.state == "done", run.error
    return run.progress


@pytest.fixture
def uid(board, db):
    board.world.add_topic("旧帖", author="灯塔人", fid=ELSEWHERE)
    board.world.advance(hours=1)
    number = board.world.uid_of("灯塔人")
    with clock.set_to(board.world.moment):
        actions.follow_author(str(number))
    return number


def test_new_topics_in_any_board_are_archived_and_followed(board, uid):
    board.world.advance(hours=1)
    tid = board.world.add_topic("[攻略]新灯塔", author="灯塔人", fid=ELSEWHERE)
    board.world.add_topic("别人的", author="路人", fid=ELSEWHERE)
    board.world.reply(tid, "好帖")
    figures = check(board, hours=7)
    assert (figures["authors"], figures["new_topics"], figures["http_request_count"]) == (1, 1, 2)
    assert [thread.source_thread_id for thread in Thread.objects.all()] == [tid]  # not the one from before
    assert FollowedThread.objects.get().thread == thread_of(tid)
    assert FollowedAuthor.objects.get().author_name == "灯塔人"
    assert differences(board) == {}
    assert not check(board, hours=7)["new_topics"]


def test_replies_in_boards_that_are_not_archived_are_kept_with_their_page(board, uid):
    tid = board.world.add_topic("别人的长帖", author="路人", fid=ELSEWHERE)
    for number in range(50):
        board.world.reply(tid, f"第 {number} 条")
    before = board.world.reply(tid, "很久以前的回复", author="灯塔人")
    check(board, hours=7)
    assert list(Post.objects.filter(author_source_user_id=uid).values_list("source_post_id", flat=True)) == [before]
    board.world.reply(tid, "闲聊")
    pid = board.world.reply(tid, "灯塔还亮着", author="灯塔人")
    figures = check(board, hours=7)
    assert (figures["new_topics"], figures["new_replies"]) == (0, 1)
    assert Post.objects.get(source_post_id=pid).author_name == "灯塔人"
    # The opening page came with the topic; nothing between was requested.
    assert set(Post.objects.filter(thread=thread_of(tid)).values_list("floor_number", flat=True)) == {
        *range(20), *range(40, 54),
    }  # fmt: skip
    assert not FollowedThread.objects.filter(thread=thread_of(tid)).exists()
    assert not check(board, hours=7)["new_replies"]


def test_reply_that_is_gone_costs_neither_the_others_nor_the_topic(board, uid):
    tid = board.world.add_topic("长帖", author="路人", fid=ELSEWHERE)
    gone, kept = (board.world.reply(tid, text, author="灯塔人") for text in ("一", "二"))
    board.world.advance(minutes=1)
    with clock.set_to(board.world.moment):
        actions.read_now(tid, (1, 1))
        Post.objects.filter(source_post_id__in=(gone, kept)).delete()
    board.world.remove(tid, gone)
    with clock.set_to(board.world.moment):
        run = runner.run_now("nga.thread", {"tid": tid, "pids": [gone, kept]})
    assert "error" in run.progress
    assert list(Post.objects.filter(source_post_id__in=(gone, kept)).values_list("source_post_id", flat=True)) == [kept]
    assert not ThreadReadingState.objects.filter(thread=thread_of(tid), gone_at__isnull=False).exists()


def test_older_topics_are_archived_page_by_page_until_the_end_of_the_list(board, uid):
    older = {board.world.add_topic(f"旧帖 {number}", author="灯塔人", fid=ELSEWHERE) for number in range(40)}
    board.world.advance(hours=1)
    actions.unfollow_author(uid)
    with clock.set_to(board.world.moment):
        actions.follow_author(str(uid), with_past=True)
    queued: list[set[int]] = []
    for hours, requests in ((7, 2), (7, 3), (7, 2)):
        board.world.advance(hours=hours)
        with clock.set_to(board.world.moment):
            figures = runner.run_now("nga.follow").progress
        assert figures["http_request_count"] == requests
        runs = JobRun.objects.filter(name="nga.thread")
        assert {tuple(run.args) for run in runs} <= {("tid", "waits")}  # archived, not followed
        queued.append({run.args["tid"] for run in runs})
        runs.delete()
    assert [len(tids) for tids in queued] == [35, 6, 0]
    assert queued[0] | queued[1] > older
    assert FollowedAuthor.objects.get().past_page_number is None


def test_author_without_topics_is_no_failure(board, db):
    with clock.set_to(board.world.moment):
        actions.follow_author("77")
    figures = check(board, minutes=1)
    assert (figures["authors"], figures["http_request_count"]) == (1, 2)
    assert FollowedAuthor.objects.get().failure_count == 0


def test_outage_keeps_the_author_due(board, uid):
    with board.outage():
        figures = check(board, hours=7)
    assert figures["error"]["code"]
    row = FollowedAuthor.objects.get()
    assert (row.failure_count, row.next_check_at <= board.world.moment) == (0, True)


def test_outage_loses_no_topic_that_waits_and_costs_three_requests(board, uid):
    older = {board.world.add_topic(f"旧帖 {number}", author="灯塔人", fid=ELSEWHERE) for number in range(4)}
    board.world.advance(hours=1)
    actions.unfollow_author(uid)
    with clock.set_to(board.world.moment):
        actions.follow_author(str(uid), with_past=True)
        runner.run_now("nga.follow")
    with board.outage():
        assert [crawl_queued(board, minutes=minutes) for minutes in (0, 0.5, 2, 4)] == [3, 0, 1, 0]
    assert set(JobRun.objects.filter(name="nga.thread").values_list("state", "attempt")) == {("queued", 0)}
    crawl_queued(board, minutes=60)
    assert older <= set(Thread.objects.values_list("source_thread_id", flat=True))
    assert not JobRun.objects.filter(name="nga.thread").exclude(state="done").exists()


def crawl_queued(board, *, minutes):
    """Run the crawls of single topics that are due so many minutes later; return the requests that they sent."""
    before = board.log.count()
    with clock.set_to(board.world.moment + timedelta(minutes=minutes)):
        for queued in JobRun.objects.filter(name="nga.thread", state="queued", due_at__lte=clock.now()):
            runner.execute(queue.claim(queued, "test"))
    return board.log.count() - before


def test_list_that_cannot_be_read_is_tried_later(board, uid):
    with board.cut_json(), board.block_form("html", status=404):
        check(board, hours=7)
    assert FollowedAuthor.objects.get().author_source_user_id == uid
    assert not Thread.objects.exists()


@pytest.mark.parametrize(
    "text", ["4000001", "https://bbs.nga.cn/nuke.php?func=ucp&uid=4000001", "thread.php?authorid=4000001&page=2"]
)
def test_author_number_is_read_from_number_or_address(text):
    assert actions.author_number(text) == 4000001


@pytest.mark.parametrize("text", ["", "0", "-1", "灯塔人", "thread.php?fid=7"])
def test_other_text_names_no_author(text):
    with pytest.raises(actions.InvalidAuthor):
        actions.author_number(text)


def test_api_is_for_operators(db, operator, alice):
    client, url = client_of(operator), "/api/v1/nga/authors"
    assert client_of(alice).post(url, {"author": "5"}, content_type="application/json").status_code == 403
    refused = client.post(url, {"author": "灯塔人"}, content_type="application/json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "author")
    made = client.post(url, {"author": "5", "author_name": "某人"}, content_type="application/json").json()
    assert (made["author_source_user_id"], made["author_name"]) == (5, "某人")
    assert len(client_of(alice).get(url).json()["items"]) == 1
    assert client.delete(f"{url}/5").status_code == 204
    assert client.delete(f"{url}/5").status_code == 404


def test_page_and_command_follow_and_end(board, crawler, operator, alice):
    tid = board.world.add_topic("新帖", author="灯塔人")
    crawler.crawl()
    number = board.world.uid_of("灯塔人")
    url = reverse("nga:follow_author", args=[tid, number])
    assert client_of(alice).post(url).status_code == 403
    browser = client_of(operator)
    assert browser.post(reverse("nga:follow_author", args=[tid, 5])).status_code == 404
    assert browser.post(url).status_code == 302
    page = browser.get(reverse("nga:notify_author", args=[tid, number])).text
    assert "Unfollow author" in page
    browser.post(url, {"end": "1"})
    assert not FollowedAuthor.objects.exists()
    assert CliRunner().invoke(group, ["author", str(number)]).exit_code == 0
    assert CliRunner().invoke(group, ["author", str(number), "--end"]).exit_code == 0
    assert CliRunner().invoke(group, ["author", str(number), "--end"]).exit_code == 1
    assert CliRunner().invoke(group, ["author", "灯塔人"]).exit_code == 2


def test_boards_page_follows_any_author_by_address_and_lists_the_followed(db, operator, alice):
    url = reverse("nga:archive_author")
    assert client_of(alice).post(url, {"author": "5"}).status_code == 403
    browser = client_of(operator)
    assert browser.post(url, {"author": "灯塔人"}).status_code == 422
    assert browser.post(url, {"author": "nuke.php?func=ucp&uid=4711", "with_past": "on"}).status_code == 302
    assert FollowedAuthor.objects.get(pk=4711).past_page_number == 1
    page = squeezed(browser.get(reverse("nga:forums")).text)
    assert "uid 4711" in page
    assert "page 1 of the list is next" in page
    assert "uid 4711" in client_of(alice).get(reverse("nga:forums")).text
    assert browser.post(url, {"end": "12"}).status_code == 404
    assert browser.post(url, {"end": "4711"}).status_code == 302
    assert not FollowedAuthor.objects.exists()
