"""Followed authors: new topics in whichever board are archived and followed, with one request an author."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from django.urls import reverse

from watchbook.base import clock
from watchbook.base.testing.people import alice, client_of, operator
from watchbook.core.jobs import runner
from watchbook.core.jobs.models import JobRun
from watchbook.systems.nga import actions
from watchbook.systems.nga.cli import group
from watchbook.systems.nga.models import FollowedAuthor, FollowedThread, Thread
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
            actions.read_now(queued.args["tid"], follow=queued.args["follow"])
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
    assert (figures["authors"], figures["new_topics"], figures["http_request_count"]) == (1, 1, 1)
    assert [thread.source_thread_id for thread in Thread.objects.all()] == [tid]  # not the one from before
    assert FollowedThread.objects.get().thread == thread_of(tid)
    assert FollowedAuthor.objects.get().author_name == "灯塔人"
    assert differences(board) == {}
    assert "new_topics" not in check(board, hours=7)


def test_author_without_topics_is_no_failure(board, db):
    with clock.set_to(board.world.moment):
        actions.follow_author("77")
    figures = check(board, minutes=1)
    assert (figures["authors"], figures["http_request_count"]) == (1, 1)
    assert FollowedAuthor.objects.get().failure_count == 0


def test_outage_keeps_the_author_due(board, uid):
    with board.outage():
        figures = check(board, hours=7)
    assert figures["error"]["code"]
    row = FollowedAuthor.objects.get()
    assert (row.failure_count, row.next_check_at <= board.world.moment) == (0, True)


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
