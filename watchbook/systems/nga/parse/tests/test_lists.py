"""Topic lists: what is a topic of the board and what only looks like one."""

from __future__ import annotations

import pytest

from watchbook.systems.nga.parse import LayoutChanged
from watchbook.systems.nga.parse.answer import read_list
from watchbook.systems.nga.parse.tests.answers import NOON, TOKEN, TOKEN_NAME, body, list_document, row
from watchbook.systems.nga.parse.tests.pages import list_html


def read(*rows, page=1, **data):
    return read_list(body(list_document(*rows, **data)), page=page)


def test_row_becomes_a_record():
    found = read(row(31, subject="[水]&lt;第六感&gt; &#55357;&#56834;", replies=40))
    topic = found.topics[0]
    assert (topic.tid, topic.fid, topic.title) == (31, 7, "[水]<第六感> 😂")
    assert (topic.author_name, topic.author_source_user_id) == ("测试员", 4001)
    assert topic.thread_created_at.timestamp() == NOON
    assert topic.last_reply_at.isoformat() == "2026-06-27T12:10:00+08:00"
    assert (topic.page_count, topic.title_prefixes, topic.is_pinned, topic.is_digest) == (3, ("水",), False, None)
    assert (found.fid, found.forum_name, found.total_topics, found.page_count) == (7, "艾泽拉斯议事厅", 1000, 29)


@pytest.mark.parametrize(
    ("replies", "pages"), [(0, 1), (19, 1), (20, 2), (39, 2), (40, 3), (19_999, 1000), (20_000, 1001)]
)
def test_pages_of_a_topic_follow_from_its_replies(replies, pages):
    assert read(row(1, replies=replies)).topics[0].page_count == pages


def test_mirror_row_leads_to_the_real_topic():
    topic = read(row(900, quote_from=31, tpcurl="/read.php?tid=31", lastposter="#SYSTEM#")).topics[0]
    assert (topic.tid, topic.row_tid, topic.is_mirror) == (31, 900, True)


def test_rows_for_boards_and_placeholders_are_counted_not_listed():
    found = read(
        row(1),
        row(2, type=2097152, fid=635, topic_misc="AwAAA0MBAAAAIA"),
        row(714, denied="1", author="", subject="帐号权限不足", postdate=0, lastpost=0),
        row(717, denied=True, error="帖子发布或回复时间超过限制"),
        row(5, type=32768),
        row(6, fid=-7, parent={"0": -7, "1": 0, "2": "网事杂谈"}),
    )
    assert [topic.tid for topic in found.topics] == [1, 5, 6]
    assert found.denied_count == 2
    assert {note.code: note.count for note in found.notes} == {"board_rows": 1, "denied_rows": 2}
    assert found.topics[1].is_collection
    assert (found.topics[2].fid, found.topics[2].topic_tag) == (-7, "网事杂谈")


def test_pinned_is_the_leading_run_of_the_first_page_only():
    rows = [row(n, recommend=10 if n in (1, 2, 5) else 0) for n in range(1, 6)]
    assert [topic.tid for topic in read(*rows).topics if topic.is_pinned] == [1, 2]
    assert not any(topic.is_pinned for topic in read(*rows, page=2).topics)


def test_anonymous_topics_have_a_name_and_no_user():
    for uid in (TOKEN, -3, 0):
        topic = read(row(1, author=TOKEN, authorid=uid, type=262144)).topics[0]
        assert (topic.author_name, topic.author_source_user_id) == (TOKEN_NAME, None)


def test_order_and_number_of_rows_are_left_as_they_are():
    rows = [row(n, lastpost=NOON + (n * 7919) % 1000) for n in range(1, 101)]
    assert [topic.tid for topic in read(*rows).topics] == list(range(1, 101))


@pytest.mark.parametrize("parent", ["", None, [], "{", '{"0":7,"1":9,"2":"合集"}', {"0": 7, "1": 9, "2": "合集"}])
def test_parent_may_be_anything(parent):
    assert read(row(1, parent=parent)).topics[0].topic_tag == ("合集" if parent and "合集" in str(parent) else "")


def test_display_bits_come_from_either_field():
    for fields in ({"topic_misc": "AQAEAAA"}, {"topic_misc_var": {"1": 262144}}, {"topic_misc_var": [0, 262144]}):
        assert read(row(1, **fields)).topics[0].is_newest_first
    for packed in ("~1", "red~1~", "!!", "A", None, "AQ==", []):
        assert not read(row(1, topic_misc=packed, topic_misc_var=[])).topics[0].is_newest_first


def test_missing_keys_and_nonsense_are_survived():
    found = read(
        row(1, postdate=0, lastpost="", replies="１２"),
        {"tid": 2},
        {"tid": "abc"},
        row(4, postdate=17825328000000, lastpost=-1, subject=None, author=None),
    )
    assert [topic.tid for topic in found.topics] == [1, 2, 4]
    assert {note.code for note in found.notes} == {"broken_rows"}
    assert found.topics[0].thread_created_at is None
    assert found.topics[2].thread_created_at is None


def test_rows_with_a_missing_number_keep_their_order():
    document = list_document()
    document["data"]["__T"] = {"0": row(9), "2": row(3), "10": row(7), "other": row(1)}
    assert [topic.tid for topic in read_list(body(document)).topics] == [9, 3, 7]


def test_empty_page_is_believed_only_past_the_end():
    with pytest.raises(LayoutChanged):
        read(page=29)
    assert read(page=30).topics == ()
    with pytest.raises(LayoutChanged):
        read(__ROWS=0)  # a board has topics
    with pytest.raises(LayoutChanged):
        read(__ROWS="")


def test_search_says_no_total():
    assert read(row(1), __ROWS="", __F=[]).total_topics is None


def test_page_gives_the_same_topics_as_json():
    rows = [
        row(31, subject="[水]&lt;第六感&gt;"),
        row(900, quote_from=32),
        row(33, author=TOKEN, authorid=-1, type=262144, topic_misc="AQAEAAA"),
        row(34, type=2097152),
        row(714, author="", authorid=0, postdate=0, lastpost=0),
    ]
    as_json = read(*rows[:4], {**rows[4], "denied": "1"})
    as_page = read_list(list_html(*rows))
    said = ("tid", "row_tid", "fid", "title", "author_name", "author_source_user_id", "thread_created_at",
            "last_reply_at", "reply_count_display", "type_bits", "display_bits")  # fmt: skip
    for one, other in zip(as_json.topics, as_page.topics, strict=True):
        assert [getattr(one, name) for name in said] == [getattr(other, name) for name in said]
    assert (as_page.fid, as_page.forum_name, as_page.page_count, as_page.denied_count) == (7, "艾泽拉斯议事厅", 3, 1)
    assert as_page.topics[0].is_pinned is None


def test_page_names_the_collection_of_a_row():
    found = read_list(list_html(row(1, added="版务"), row(2)))
    assert [topic.topic_tag for topic in found.topics] == ["版务", ""]


def test_title_that_looks_like_a_script_adds_no_row():
    forged = row(1, subject="commonui.topicArg.add('t_rc1_9','','','','','','','7',66,'','','0',1,1,1,1)")
    assert [topic.tid for topic in read_list(list_html(forged)).topics] == [1]


@pytest.mark.parametrize("name", ["views", "view", "hits", "viewnum", "view_count"])
def test_views_are_read_where_the_list_shows_them(name):
    assert read(row(1, **{name: "12345"})).topics[0].view_count_display == 12345
    assert read(row(1, **{name: ""})).topics[0].view_count_display is None
    assert read(row(1)).topics[0].view_count_display is None
