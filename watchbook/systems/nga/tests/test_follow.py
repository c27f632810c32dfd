"""Any topic is archived by number or address, and followed until it is quiet."""

from __future__ import annotations

from datetime import timedelta

import pytest
from click.testing import CliRunner
from django.urls import reverse

from watchbook.base import clock
from watchbook.base.testing.people import alice, client_of, operator
from watchbook.core.jobs import runner
from watchbook.core.jobs.models import JobRun
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.nga import actions
from watchbook.systems.nga.cli import group
from watchbook.systems.nga.health import health
from watchbook.systems.nga.models import FollowedThread, Forum, Post
from watchbook.systems.nga.tests.archive import differences, floors_of, thread_of

pytestmark = pytest.mark.django_db
__all__ = ["alice", "operator"]
ELSEWHERE = -447601


def archive(board, tid, *, follow=True):
    with clock.set_to(board.world.moment):
        return actions.read_now(tid, follow=follow)


def check(board, **span):
    """Let some time pass, then check what is followed. Return the run and the requests that it sent."""
    board.world.advance(**span)
    before = board.log.count()
    with clock.set_to(board.world.moment):
        run = runner.run_now("nga.follow")
    return run, board.log.count() - before


@pytest.fixture
def topic(board):
    """A topic of another board that is older than the window."""
    tid = board.world.add_topic("[攻略]灯塔", fid=ELSEWHERE)
    board.world.fill(tid, 44)
    board.world.advance(days=5)
    board.world.reply(tid, "还在更新")
    return tid


@pytest.mark.parametrize(
    "text",
    ["40000123", " 40000123 ", "https://bbs.nga.cn/read.php?tid=40000123", "/read.php?page=65&tid=40000123#l5",
     "http://nga.178.com/read.php?tid=40000123&page=e", "read.php?tid=40000123", "m.nga.cn/read.php?tid=40000123"],
)  # fmt: skip
def test_topic_number_is_read_from_number_or_address(text):
    assert actions.topic_number(text) == 40000123


@pytest.mark.parametrize(
    "text",
    ["", "0", "-5", "灯塔", "https://bbs.nga.cn/read.php?pid=5", "1" * 19, "1.5",
     "https://forum.example/read.php?tid=5", "//notnga.cn/read.php?tid=5", "forum.example/read.php?tid=5"],
)  # fmt: skip
def test_other_text_is_refused(text):
    with pytest.raises(actions.InvalidTopic):
        actions.topic_number(text)


def test_topic_of_another_board_is_archived_whole_with_one_request_a_page(board, topic):
    run = archive(board, topic, follow=False)
    assert (run.state, run.progress["http_request_count"], run.progress["new_post_count"]) == ("done", 3, 46)
    assert {request.path for request in board.log.all()} == {"/read.php"}
    assert differences(board) == {}
    thread = thread_of(topic)
    assert (thread.title, thread.title_prefix_text, thread.reply_count_display) == ("[攻略]灯塔", "攻略", 45)
    assert (thread.forum.source_forum_id, thread.forum.is_crawled) == (ELSEWHERE, False)
    assert not FollowedThread.objects.exists()


def test_list_of_its_board_is_not_crawled_until_the_board_is_added(board, crawler, topic):
    archive(board, topic)
    before = board.log.count()
    with clock.set_to(board.world.moment):
        runner.run_now("nga.crawl")
        assert health().state == "healthy"  # the single topic is no board to be late
    assert {request.params["fid"] for request in board.log.all()[before:]} == {"7"}
    actions.add_forum(ELSEWHERE, "二次元")
    forum = Forum.objects.get(source_forum_id=ELSEWHERE)
    assert (forum.is_crawled, forum.forum_name) == (True, "二次元")


def test_topic_that_the_site_does_not_have_is_not_added(board, db):
    run = archive(board, 5)
    assert (run.state, run.error_code) == ("failed", "unknown_topic")
    assert not Forum.objects.exists()


def test_outage_adds_nothing_and_names_its_reason(board, topic):
    with board.outage():
        run = archive(board, topic)
    assert (run.state, bool(run.error)) == ("failed", True)
    assert not Forum.objects.exists()


def test_followed_topic_gets_its_new_posts_after_the_window(board, topic):
    archive(board, topic)
    board.world.reply(topic, "第四十六楼")
    run, requests = check(board, hours=7)
    assert (run.state, requests, run.progress["new_post_count"]) == ("done", 1, 1)
    assert 46 in floors_of(topic)
    entry = StreamEntry.objects.get(kind="replied")
    assert (entry.title, entry.summary) == ("[攻略]灯塔", "+1")
    assert differences(board) == {}


def test_check_without_news_is_one_request_and_writes_no_post(board, topic):
    archive(board, topic)
    stamps = list(Post.objects.values_list("pk", "updated_at"))
    assert check(board, hours=7)[1] == 1
    assert check(board, minutes=30)[1] == 0  # not due yet
    assert list(Post.objects.values_list("pk", "updated_at")) == stamps
    assert not StreamEntry.objects.filter(kind="replied").exists()


def test_quiet_topic_is_no_longer_followed(board, topic, monkeypatch):
    monkeypatch.setenv("NGA_FOLLOW_QUIET_DAYS", "2")
    archive(board, topic)
    check(board, days=1)
    board.world.reply(topic, "又一楼")
    check(board, days=1)
    assert FollowedThread.objects.exists()  # the reply counts
    check(board, days=2)
    assert not FollowedThread.objects.exists()
    assert check(board, days=1)[1] == 0


def test_topic_in_the_window_of_a_crawled_board_is_left_to_the_crawl(board, crawler):
    tid = board.world.add_topic("新帖")
    crawler.crawl()
    actions.follow(thread_of(tid))
    FollowedThread.objects.update(next_check_at=board.world.moment)
    assert check(board, hours=7)[1] == 0
    assert FollowedThread.objects.get().next_check_at > board.world.moment


def test_outage_keeps_followed_topics_due_and_counts_no_failure(board, topic):
    archive(board, topic)
    with board.outage():
        run, requests = check(board, hours=7)
    assert (run.state, requests <= 3) == ("done", True)
    assert run.progress["error"]["code"]
    row = FollowedThread.objects.get()
    assert (row.failure_count, row.next_check_at <= board.world.moment) == (0, True)


def test_deleted_topic_ends_after_two_answers(board, topic):
    archive(board, topic)
    board.world.refuse(topic)
    check(board, hours=7)
    assert FollowedThread.objects.get().failure_count == 1
    check(board, days=2)
    assert not FollowedThread.objects.exists()
    assert len(floors_of(topic)) == 46  # nothing is deleted


def test_operator_archives_follows_and_unfollows_on_the_pages(board, topic, operator, alice):
    browser, address = client_of(operator), reverse("nga:archive_topic")
    assert client_of(alice).post(address, {"topic": topic}).status_code == 403
    wrong = browser.post(address, {"topic": "灯塔"})
    assert (wrong.status_code, "Enter a topic number" in wrong.text) == (422, True)
    assert browser.post(address, {"topic": f"{board.url}/read.php?tid={topic}", "follow": "on"}).status_code == 302
    run = JobRun.objects.get(name="nga.thread")
    assert run.args == {"tid": topic, "follow": True}
    archive(board, topic)
    page = browser.get(reverse("nga:topic", args=[topic])).text
    assert "followed until 7 days without replies" in page
    browser.post(reverse("nga:follow_topic", args=[topic]), {"end": "1"})
    assert not FollowedThread.objects.exists()
    browser.post(reverse("nga:follow_topic", args=[topic]))
    assert FollowedThread.objects.exists()
    assert "single topics only" in browser.get(reverse("nga:forums")).text


def test_api_archives_follows_and_unfollows(board, topic, operator, alice):
    client, url = client_of(operator), "/api/v1/nga/threads"
    assert client_of(alice).post(url, {"topic": "5"}, content_type="application/json").status_code == 403
    refused = client.post(url, {"topic": "灯塔"}, content_type="application/json")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "topic")
    answer = client.post(url, {"topic": str(topic), "follow": True}, content_type="application/json")
    assert answer.status_code == 202
    archive(board, topic, follow=False)
    followed = client.post(f"{url}/{topic}/follow").json()
    assert followed["followed_since"] is not None
    assert followed["next_check_at"] > followed["followed_since"]
    assert client.delete(f"{url}/{topic}/follow").json()["followed_since"] is None
    assert client.get("/api/v1/nga/forums").json()["items"][0]["is_crawled"] is False


def test_command_takes_an_address_and_follows(board, topic):
    words = ["thread", f"{board.url}/read.php?tid={topic}", "--follow", "--now", board.world.moment.isoformat()]
    done = CliRunner().invoke(group, words)
    assert done.exit_code == 0, done.output
    row = FollowedThread.objects.get()
    assert row.next_check_at - row.followed_at <= timedelta(hours=6)
    assert CliRunner().invoke(group, ["thread", "灯塔"]).exit_code == 2
