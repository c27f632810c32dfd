"""The board speaks as the real one does, and its ledger is right about it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from standins.nga_board import Attachment, Dialect, Known, NgaBoard, plan_run
from standins.nga_board.wording import SURNAMES, packed, shown_name, written


@pytest.fixture
def board() -> Iterator[NgaBoard]:
    with NgaBoard() as made:
        yield made


@pytest.fixture
def topic(board: NgaBoard) -> int:
    return board.world.add_topic("[讨论]标题&副题", "开头")


def get(board: NgaBoard, path: str, **headers: str) -> tuple[bytes, Any]:
    with urlopen(Request(board.address(path), headers=headers)) as answer:
        return answer.read(), answer.headers


def topic_body(board: NgaBoard, tid: int, form: str = "__output=8", page: int = 1) -> bytes:
    return get(board, f"/read.php?tid={tid}&page={page}&{form}")[0]


def plain(board: NgaBoard, tid: int, page: int = 1) -> dict[str, Any]:
    """The data of a page, read with an ordinary JSON reader from the form that allows it."""
    found: dict[str, Any] = json.loads(topic_body(board, tid, "__output=11", page).decode("gbk"))["data"]
    return found


# Bytes


def test_bodies_are_gbk_with_and_without_a_charset(board, topic):
    for path, said in (
        (f"/read.php?tid={topic}&__output=8", "text/javascript; charset=GBK"),
        ("/thread.php?fid=7&__output=8", "text/html"),
        (f"/read.php?tid={topic}", "text/html; charset=GBK"),
    ):
        body, headers = get(board, path)
        assert headers["Content-Type"] == said
        assert "标题".encode("gbk") in body


def test_older_json_has_everything_that_is_no_json(board, topic):
    board.world.edit(topic, 0, "C:\\table\\x")
    for text in ("+1", "007", "123456"):
        board.world.reply(topic, text, author="20260101")
    body = topic_body(board, topic)
    assert b"C:\\x5Ctable\\x5Cx" in body
    assert b' 0 0]\t"' in body
    assert b'"remark":"1\t' in body
    assert b'"content":+1,' in body
    assert b'"content":007,' in body
    assert b'"content":123456,' in body
    assert b'"username":20260101,' in body
    assert {b'"medal":3,', b'"medal":"3,7"'} & set(re.findall(rb'"medal":(?:3,|"3,7")', body))
    assert b'"attachs":""' in body
    with pytest.raises(ValueError):
        json.loads(body.decode("gbk"), strict=False)


def test_newer_json_is_clean_but_shaped_otherwise(board, topic):
    board.world.reply(topic, "+1")
    body = topic_body(board, topic, "__output=11")
    data = json.loads(body.decode("gbk"))["data"]
    assert isinstance(data["__R"], list)
    assert data["__T"]["topic_misc"] is None
    assert data["__R"][1]["content"] == "+1"
    assert b"img.nga.cn\\/attachments" in body


def test_lists_mix_two_encodings(board, topic):
    body, _ = get(board, "/thread.php?fid=7&__output=8")
    assert "魔兽".encode() in body
    with pytest.raises(UnicodeDecodeError):
        body.decode("gbk")
    clean, _ = get(board, "/thread.php?fid=7&__output=11")
    clean.decode("gbk")


def test_prefixes_comments_and_tails(board, topic):
    assert topic_body(board, topic, "lite=js").startswith(b"window.script_muti_get_var_store={")
    board.dialect = Dialect(prefixed=True, commented=True, tail=True)
    body = topic_body(board, topic)
    assert body.startswith(b"/*$js$*/window.script_muti_get_var_store={")
    assert body.endswith(b"/*error fill content */")


def test_what_gbk_lacks_is_numbers_and_emoji_are_halves():
    assert written("😂 <a> & \"'$\n丨ß") == "&#55357;&#56834; &lt;a&gt; &amp; &quot;&#39;&#36;<br/>丨&#223;"


def test_packed_fields_are_those_of_the_real_site():
    assert packed({1: 33}) == "AQAAACE"
    assert packed({2: 29852647}) == "AgHHg+c"
    assert packed({3: 835, 1: 32}) == "AwAAA0MBAAAAIA"


def test_names_of_anonymous_people():
    assert shown_name("#anony_0123456789abcdef0123456789abcdef") == "甲高傅庚聂涂"
    assert shown_name("#anony_0ff00000000000000000000000000000")[1] == SURNAMES[0]  # the last byte gives no character


# Rows


def test_anonymous_people_have_slots_of_one_answer_only(board):
    tid = board.world.add_topic("匿名", anonymous=True, author="x")
    board.world.reply(tid, "还是我", anonymous=True, author="x")
    data = plain(board, tid)
    ids = [row["authorid"] for row in data["__R"]] + [data["__T"]["authorid"]]
    assert sorted(ids) == [-3, -2, -1]
    assert len({data["__U"][str(one)]["username"] for one in ids}) == 1
    rows = json.loads(get(board, "/thread.php?fid=7&__output=11")[0].decode("gbk"))["data"]["__T"]
    assert rows[0]["authorid"] == rows[0]["author"] == data["__U"]["-1"]["username"]


def test_comment_is_a_stub_at_its_number_and_a_row_under_its_post(board, topic):
    pid = board.world.reply(topic, "回复")
    note = board.world.note(topic, pid, "贴条")
    _, parent, stub = plain(board, topic)["__R"]
    assert set(stub) == {"subject", "lou", "author", "authorid", "postdate", "pid", "comment_to_id"}
    assert (stub["lou"], stub["pid"], stub["comment_to_id"]) == (2, note, pid)
    assert stub["subject"] == f"对回复({pid})发表了一条评论"
    assert parent["comment"][0]["content"] == "贴条"
    assert parent["comment"][0]["lou"] == 2
    page = topic_body(board, topic, "").decode("gbk")
    assert page.count("贴条") >= 2  # as a floor and under its post
    board.world.remove(topic, note)
    _, parent = plain(board, topic)["__R"]
    assert parent["comment_id"] == str(note)  # named, and not shown
    assert not parent["comment"]


def test_removed_post_leaves_its_number_unused(board, topic):
    pids = [board.world.reply(topic, str(number)) for number in range(25)]
    board.world.remove(topic, pids[6])
    data = plain(board, topic)
    assert [row["lou"] for row in data["__R"]] == [0, 1, 2, 3, 4, 5, 6, *range(8, 20)]
    assert (data["__R__ROWS"], data["__ROWS"]) == (19, 26)
    assert [row["lou"] for row in plain(board, topic, 2)["__R"]] == [20, 21, 22, 23, 24, 25]


def test_hot_replies_are_copies_on_the_opening_post(board, topic):
    board.world.fill(topic, 30)
    pid = board.world.reply(topic, "神回复")
    board.world.vote(topic, pid, 25)
    opening = plain(board, topic)["__R"][0]
    assert opening["hotreply"][0]["pid"] == pid
    assert opening["17"] == f",{pid}"
    assert "hightlight_for_0" in topic_body(board, topic, "").decode("gbk")


def test_newest_first_counts_pages_from_the_end(board, topic):
    board.world.fill(topic, 45)
    board.world.mark(topic, reversed=True)
    first, last = plain(board, topic), plain(board, topic, 3)
    assert [row["lou"] for row in first["__R"]] == [0, *range(26, 46)]
    assert [row["lou"] for row in last["__R"]] == list(range(6))
    assert first["__T"]["topic_misc_var"] == {"1": 262144}


def test_thousand_pages_cost_nothing(board, topic):
    board.world.fill(topic, 20_500)
    rows = json.loads(get(board, "/thread.php?fid=7&__output=11")[0].decode("gbk"))["data"]["__T"]
    assert rows[0]["replies"] == 20_500
    assert plain(board, topic, 1026)["__R"][0]["lou"] == 20_500


def test_list_has_more_than_its_topics(board, topic):
    world = board.world
    world.mark(topic, pinned=True)
    world.add_topic("外版", fid=-7, shown_here=True)
    stid = world.collection("合集")
    inside = world.add_topic("合集里", parent=(7, stid, "合集"))
    world.mirror(topic)
    world.board_row()
    world.deny()
    liked = world.add_topic("推荐")
    world.mark(liked, recommended=True)
    data = json.loads(get(board, "/thread.php?fid=7&order_by=postdatedesc&__output=11")[0].decode("gbk"))["data"]
    rows = data["__T"]
    assert rows[0]["tid"] == topic
    assert rows[0]["recommend"] == rows[-1]["recommend"] == 10
    assert [row["tid"] for row in rows].count(liked) == 2
    numbers = [row["tid"] for row in rows]
    assert numbers[numbers.index(stid) + 1] == inside
    assert {row["fid"] for row in rows} == {7, -7, 635}
    assert [row["quote_from"] for row in rows if row["quote_from"]] == [topic]
    assert [row["error"] for row in rows if row.get("denied")] == ["帐号权限不足"]
    assert data["__T__ROWS"] > data["__ROWS"]


def test_order_is_not_that_of_time_where_it_was_misplaced(board):
    tids = []
    for number in range(3):
        board.world.advance(hours=1)
        tids.append(board.world.add_topic(f"第{number}"))
    board.world.misplace(tids[0], hours=48)
    rows = json.loads(get(board, "/thread.php?fid=7&order_by=postdatedesc&__output=11")[0].decode("gbk"))["data"]["__T"]
    assert [row["tid"] for row in rows] == [tids[0], tids[2], tids[1]]


def test_refusals_come_in_the_form_that_was_asked_for(board, topic):
    board.world.refuse(topic)
    document = json.loads(topic_body(board, topic).decode("gbk"))
    assert document["error"]["0"] == "2048:找不到主题"
    assert document["data"]["__MESSAGE"]["1"] == "找不到主题"
    body, headers = get(board, f"/read.php?tid={topic}")
    assert "<!--msgcodestart-->2048<!--msgcodeend-->" in body.decode("gb18030")
    assert headers["X-NGA-CONTENT-TYPE"] == "short-message"


def test_attachments_polls_and_stamps_are_in_both_forms(board):
    tid = board.world.add_topic("投票", poll="1~甲~2~乙~max_select~1", attachments=[Attachment("mon_1/a.png")])
    board.world.advance(minutes=5)
    board.world.edit(tid, 0, "改过", by="版主")
    data, page = plain(board, tid), topic_body(board, tid, "").decode("gbk")
    assert data["__T"]["post_misc_var"]["vote"] == "1~甲~2~乙~max_select~1"
    assert data["__R"][0]["attachs"][0]["attachurl"] == "mon_1/a.png"
    assert data["__R"][0]["alterinfo"].startswith(f"[E{board.world.now} ")
    assert f"loadAlertInfo('[E{board.world.now}" in page
    assert "'1~甲~2~乙~max_select~1'" in page
    assert '"url":"mon_1/a.png"' in page


# The ledger


def test_expected_archive_is_what_was_given_out(board, topic):
    pid = board.world.reply(topic, "一")
    plain(board, topic)
    board.begin_run()
    board.world.advance(minutes=1)
    board.world.edit(topic, pid, "二")
    board.world.reply(topic, "三")
    with board.cut_json():
        topic_body(board, topic)
    assert len(board.expected_archive()[topic]) == 2  # a broken answer proves nothing
    plain(board, topic)
    floors = board.expected_archive()[topic]
    assert [floor.source for floor in floors.values()] == ["开头", "二", "三"]
    (version,) = floors[1].versions
    assert (version.source, version.reasons, version.edited_at) == (
        "一",
        "content_fingerprint_changed",
        board.world.now,
    )


def test_post_absent_in_two_runs_is_deleted_until_it_returns(board, topic):
    pid = board.world.reply(topic, "一")
    plain(board, topic)
    board.world.remove(topic, pid)
    states = []
    for _ in range(3):
        board.begin_run()
        plain(board, topic)
        plain(board, topic)
        states.append(board.expected_archive()[topic][1].is_deleted)
    assert states == [False, True, True]
    board.world.restore(topic, pid)
    plain(board, topic)
    assert board.expected_archive()[topic][1].is_deleted is False


def test_deleted_post_keeps_its_text_when_the_answer_has_none(board, topic):
    pid = board.world.reply(topic, "一")
    plain(board, topic)
    board.world.delete(topic, pid, blank=True)
    plain(board, topic)
    floor = board.expected_archive()[topic][1]
    assert (floor.source, floor.is_deleted) == ("一", True)
    assert [version.reasons for version in floor.versions] == ["marked_deleted_by_source"]


def test_plan_asks_for_no_more_than_the_rules(board, topic):
    world = board.world
    world.fill(topic, 130)
    plan = plan_run(world, {})
    assert (plan.list_pages, plan.topic_pages, plan.requests) == (1, {topic: [1, 2, 3, 4, 5]}, 6)
    known = {topic: Known(world.now, 99, 6)}
    assert plan_run(world, known).topic_pages == {topic: [6, 7]}
    known = {topic: Known(world.now, 130)}
    assert plan_run(world, known).requests == 1
    world.advance(minutes=1)
    parent = world.topics[topic].floor(3).pid
    world.note(topic, parent, "贴条")
    plan = plan_run(world, known)
    assert (plan.topic_pages, plan.note_pages) == ({topic: [7]}, {topic: [7]})
    world.advance(days=4)
    assert plan_run(world, {}).requests == 1


def test_requests_are_dated_by_the_clock_of_the_world(board, topic):
    plain(board, topic)
    later = board.world.advance(hours=2)
    with board.outage(), pytest.raises(HTTPError):
        plain(board, topic)
    board.log.wait_for(lambda log: log.in_flight == 0)  # the error is raised before the last byte is read
    assert [board.log.status_of(request) for request in board.requests_since(later)] == [503]
    assert board.minimal_requests({}).requests == 2


def test_control_from_outside(board):
    body = json.dumps({"title": "远程", "text": "正文"}).encode()
    with urlopen(Request(board.address("/_standin/do/add_topic"), data=body)) as answer:
        assert answer.status == 200
    with urlopen(board.address("/_standin/ledger")) as answer:
        topics = json.load(answer)["topics"]
    assert [topic["title"] for topic in topics.values()] == ["远程"]
