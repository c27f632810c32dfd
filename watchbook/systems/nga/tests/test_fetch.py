"""Asking the board: which form, how often, and what each kind of failure costs and means."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from standins.nga_board import NgaBoard
from watchbook.base.web import rate_limit
from watchbook.base.web.address import check_url
from watchbook.systems.nga import errors, fetch
from watchbook.systems.nga.fetch import BoardReader, SharedPause, back_off, pause_seconds

pytestmark = pytest.mark.django_db


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Iterator[NgaBoard]:
    with NgaBoard() as made:
        monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", made.netloc)
        monkeypatch.setenv("WATCHBOOK_PACE", "off")
        monkeypatch.setenv("NGA_BASE_URL", made.url)
        yield made


@pytest.fixture
def topic(board: NgaBoard) -> int:
    tid = board.world.add_topic("[讨论]标题", "正文")
    board.world.reply(tid, "回复")
    return tid


@pytest.fixture
def reader() -> BoardReader:
    return BoardReader()


def asked(board: NgaBoard) -> list[str]:
    """The forms that were asked for, in order."""
    return [request.params.get("__output", "html") for request in board.log.all()]


def test_list_and_a_topic_cost_one_request_each(board, topic, reader):
    page = reader.list_page(7, 1)
    assert [row.tid for row in page.topics] == [topic]
    assert [floor.content_source for floor in reader.topic_page(topic, 1).floors] == ["正文", "回复"]
    assert reader.http_request_count == board.log.count() == 2
    assert board.log.all("/thread.php")[0].query == "fid=7&order_by=postdatedesc&page=1&__output=11"
    assert asked(board) == ["11", "11"]


def test_failed_format_is_not_requested_again_in_the_run(board, topic, reader):
    board.cut_json()
    other = board.world.add_topic("另一个")
    assert len(reader.topic_page(topic, 1).floors) == 2
    assert len(reader.topic_page(other, 1).floors) == 1
    assert len(reader.list_page(7, 1).topics) == 2
    assert asked(board) == ["11", "8", "html", "html", "html"]
    BoardReader().topic_page(topic, 1)
    assert asked(board)[5:] == ["11", "8", "html"]  # a new run starts anew


def test_topic_unreadable_in_all_formats_fails_alone(board, topic, reader):
    other = board.world.add_topic("另一个")
    board.cut_json(tid=topic, forms=("11", "8", "html"), keep=0.3)
    with pytest.raises(errors.PageUnreadable) as caught:
        reader.topic_page(topic, 1)
    assert caught.value.category == "parse"
    assert reader.topic_page(other, 1).floors[0].content_source == "另一个"
    assert asked(board) == ["11", "8", "html", "11"]


def test_blocked_format_is_replaced_by_the_next(board, topic, reader):
    board.block_form("11", "8")
    for _ in range(3):
        assert reader.topic_page(topic, 1).tid == topic
    # A single 403 may be an accident: the format is given up after the second.
    assert asked(board) == ["11", "8", "html", "11", "8", "html", "html"]


@pytest.mark.parametrize("status", [400, 404, 406])
def test_unknown_format_is_replaced_by_the_next(board, topic, reader, status):
    board.block_form("11", "8", status=status)
    assert reader.topic_page(topic, 1).tid == topic
    assert reader.topic_page(topic, 1).tid == topic
    assert asked(board) == ["11", "8", "html", "html"]


@pytest.mark.parametrize(
    ("status", "formats"), [(403, ["11", "8", "html"]), (500, ["11"] * 3), (502, ["11"] * 3), (503, ["11"] * 3)]
)
def test_short_failure_is_waited_out(board, topic, reader, status, formats):
    board.burst(2, status)
    assert reader.topic_page(topic, 1).tid == topic
    assert asked(board) == formats


def test_busy_site_is_requested_three_times(board, topic, reader):
    with board.busy(2):
        assert reader.topic_page(topic, 1).tid == topic
    with board.busy(), pytest.raises(errors.Outage) as caught:
        reader.topic_page(topic, 1)
    assert caught.value.is_temporary
    assert caught.value.code == "busy"
    assert reader.http_request_count == 6
    with pytest.raises(errors.Outage):
        reader.topic_page(topic, 1)
    assert board.log.count() == 6


def test_pauses_grow_and_differ():
    first, third = [pause_seconds(1) for _ in range(50)], [pause_seconds(3) for _ in range(50)]
    assert all(1 <= one <= 3 for one in first)
    assert all(4 <= one <= 12 for one in third)
    assert len(set(first)) > 1
    assert pause_seconds(40) <= 45


def test_pause_applies_to_all_workers(board, monkeypatch):
    monkeypatch.setenv("WATCHBOOK_PACE", "on")
    site = check_url(board.url).site
    back_off(board.url, 2)
    assert 1 < rate_limit.limiter_store().paused_for(site, "") <= 6


def test_pace_of_a_board_is_shared_by_all_workers(board, topic, monkeypatch):
    monkeypatch.setenv("WATCHBOOK_PACE", "on")
    assert BoardReader(requests_per_second=0.02).list_page(7, 1).topics
    with pytest.raises(errors.Paused) as caught:
        BoardReader(requests_per_second=1).topic_page(topic, 1)
    assert 30 < caught.value.retry_after_seconds <= 50
    assert board.log.count() == 1


def test_requested_pause_ends_the_run(board, topic, reader):
    board.faults.on("/read.php").throttle(retry_after=600)
    with pytest.raises(errors.Paused) as caught:
        reader.topic_page(topic, 1)
    assert 500 < caught.value.retry_after_seconds <= 600
    board.faults.clear()
    with pytest.raises(errors.Paused):
        reader.list_page(7, 1)
    assert board.log.count() == 1


@pytest.mark.parametrize("status", [403, 503])
def test_outage_costs_three_requests_for_any_number_of_pages(board, topic, reader, status):
    board.outage(status)
    for tid in range(60):
        with pytest.raises(errors.Outage) as caught:
            reader.topic_page(40_000_000 + tid, 1)
    assert caught.value.http_error_code == status
    assert board.log.count() == reader.http_request_count == 3


def test_maintenance_page_for_two_topics_is_an_outage(board, topic, reader):
    board.faults.on("*").answer(200, body=b"<html><body>Back soon</body></html>")
    with pytest.raises(errors.PageUnreadable):
        reader.topic_page(topic, 1)
    for _ in range(10):
        with pytest.raises(errors.Outage):
            reader.topic_page(topic, 1)
    assert board.log.count() == 4


def test_jobs_that_meet_an_outage_together_share_its_three_requests(board, topic, monkeypatch):
    """The second job began before the outage was known, and sends its request between two of the first."""
    first, second = (BoardReader(pause=SharedPause()) for _ in range(2))

    def ask_with_the_second(url: str, failures: int) -> None:
        with pytest.raises(errors.Outage):
            second.list_page(7, 1)

    monkeypatch.setattr(fetch, "back_off", ask_with_the_second)
    board.outage()
    with pytest.raises(errors.Outage):
        first.topic_page(topic, 1)
    assert (first.http_request_count, second.http_request_count) == (2, 1)
    assert SharedPause().error() is not None


def test_list_decides_between_a_broken_page_and_an_outage(board, topic):
    """In the format that was read last, as the third request; a refusal of the list is an answer, too."""
    reader = BoardReader(board=7)
    assert reader.list_page(7, 1).topics
    board.faults.on("/read.php").answer(200, body=b"<html><body>Back soon</body></html>")
    with pytest.raises(errors.PageUnreadable):
        reader.topic_page(topic, 1)
    assert asked(board) == ["11", "11", "8", "11", "html"]
    assert [request.path for request in board.log.all()[-2:]] == ["/thread.php", "/read.php"]
    board.faults.on("*").answer(200, body=b"<html><body>Back soon</body></html>")
    later = BoardReader(board=7)
    for _ in range(10):
        with pytest.raises(errors.Outage):
            later.author_page(1, 2)
    assert asked(board)[5:] == ["11", "8", "html"]


def test_third_page_in_a_row_is_the_list_where_one_format_is_left(board, topic):
    reader = BoardReader(board=7)
    with board.block_form("11", status=404), board.block_form("8", status=404):
        assert reader.list_page(7, 1).topics  # only HTML is requested from now on
    board.faults.on("*").answer(200, body=b"<html><body>Back soon</body></html>")
    for tid in (topic, topic + 1):
        with pytest.raises(errors.PageUnreadable):
            reader.topic_page(tid, 1)
    with pytest.raises(errors.Outage):
        reader.topic_page(topic + 2, 1)
    assert [request.path for request in board.log.all()[3:]] == ["/read.php", "/read.php", "/thread.php"]


def test_refused_list_shows_that_the_site_is_there(board, topic):
    reader = BoardReader(board=-999)
    board.faults.on("/read.php").answer(200, body=b"<html><body>Back soon</body></html>")
    with pytest.raises(errors.PageUnreadable):
        reader.topic_page(topic, 1)
    assert asked(board) == ["11", "8", "html", "html"]


def test_list_that_no_format_gives_is_an_outage(board, topic, reader):
    board.faults.on("*").answer(200, body=b"<html><body>Back soon</body></html>")
    for _ in range(10):
        with pytest.raises(errors.Outage):
            reader.list_page(7, 1)
    assert asked(board) == ["11", "8", "html"]


def test_later_list_page_that_no_format_gives_fails_alone(board, topic, reader):
    assert reader.list_page(7, 1).topics
    board.faults.on("/thread.php").answer(200, body=b"<html><body>Back soon</body></html>")
    with pytest.raises(errors.PageUnreadable):
        reader.list_page(7, 2)
    assert reader.topic_page(topic, 1).tid == topic
    assert asked(board) == ["11", "11", "8", "html", "11"]


@pytest.mark.parametrize("fault", ["reset_before_headers", "close_before_headers"])
def test_broken_connection_counts_as_busy(board, topic, reader, fault):
    getattr(board.faults.on("*"), fault)()
    with pytest.raises(errors.Outage) as caught:
        reader.topic_page(topic, 1)
    assert caught.value.http_error_code is None
    assert caught.value.category == "http"
    board.faults.clear()
    assert BoardReader().topic_page(topic, 1).tid == topic


@pytest.mark.parametrize("status", [200, 403])
@pytest.mark.parametrize(
    ("said", "kind", "code"),
    [
        ("找不到主题", errors.TopicGone, "gone"),
        ("帖子被设为隐藏", errors.TopicGone, "hidden"),
        ("帖子正等待审核", errors.Denied, "pending"),
        ("帖子发布或回复时间超过限制", errors.Denied, "too_old"),
        ("帐号权限不足", errors.Denied, "no_right"),
        ("未登录", errors.Denied, "login"),
        ("此帖子被锁定", errors.Denied, "locked"),
    ],
)
def test_message_of_the_site_decides_whatever_the_status(board, topic, reader, said, kind, code, status):
    board.refusal_status = status
    board.world.refuse(topic, said)
    with pytest.raises(kind) as caught:
        reader.topic_page(topic, 1)
    assert caught.value.code == code
    assert said in caught.value.summary
    assert len(caught.value.summary) <= 200
    assert caught.value.http_error_code == (403 if status == 403 else None)
    assert reader.http_request_count == 1


def test_missing_address_is_no_missing_topic(board, topic, reader):
    board.faults.on("/read.php").answer(404)
    with pytest.raises(errors.PageUnreadable) as caught:
        reader.topic_page(topic, 1)
    assert (caught.value.category, caught.value.http_error_code) == ("http", 404)


def test_past_the_end(board, topic, reader):
    assert reader.list_page(7, 9).topics == ()
    with pytest.raises(errors.PastEnd):
        reader.topic_page(topic, 5)
    board.past_end = "last_page"
    assert not reader.topic_page(topic, 5).is_complete(5)


def test_answer_for_another_topic_is_not_taken(board, topic, reader):
    other = board.world.add_topic("另一个")
    wrong = board.address(f"/read.php?tid={other}&page=1&__output=11")
    board.faults.on("/read.php", first=1).redirect(wrong)
    assert reader.topic_page(topic, 1).tid == topic
    assert [floor.content_source for floor in reader.topic_page(topic, 1).floors] == ["正文", "回复"]


def test_comments_have_their_text_in_the_html_format(board, topic, reader):
    pid = board.world.topics[topic].posts[1].pid
    note = board.world.note(topic, pid, "贴条")
    board.world.fill(topic, 30)
    far = board.world.note(topic, pid, "第二页的贴条")
    page = reader.topic_page(topic, 2)
    assert [stub.source_post_id for stub in page.stubs] == [far]
    assert [floor.source_post_id for floor in reader.topic_page(topic, 1).notes_elsewhere] == [far]
    read = {floor.source_post_id: floor.content_source for floor in reader.note_page(topic, 2).floors}
    assert read[far] == "第二页的贴条"
    assert note not in read
    assert asked(board) == ["11", "11", "html"]


def test_user_agent_is_set_by_the_operator(board, topic, reader, monkeypatch):
    reader.topic_page(topic, 1)
    monkeypatch.setenv("NGA_USER_AGENT", "NGA_WP_JW/(;WINDOWS)")
    reader.topic_page(topic, 1)
    first, second = (request.headers.get("User-Agent") for request in board.log.all())
    assert first.startswith("Watchbook/")
    assert second == "NGA_WP_JW/(;WINDOWS)"


def test_refused_address_is_reported_to_the_operator(board, monkeypatch, reader):
    monkeypatch.setenv("WATCHBOOK_TRUSTED_HOSTS", "")
    with pytest.raises(errors.WebError) as caught:
        reader.topic_page(1, 1)
    assert not isinstance(caught.value, errors.NgaError)
    assert board.log.count() == 0
