"""Topics as HTML pages: the same floors as in JSON, and notes with their text."""

from __future__ import annotations

import pytest

from watchbook.systems.nga.parse import LayoutChanged, Unreadable
from watchbook.systems.nga.parse.answer import read_answer, read_topic
from watchbook.systems.nga.parse.tests.answers import NOON, TOKEN_NAME, body, post, topic_document
from watchbook.systems.nga.parse.tests.pages import proc, topic_html

FILES = {"0": {"attachurl": "mon_202606/27/loose.png", "type": "img", "url_utf8_org_name": "a%2epng", "size": 3}}
POSTS = (
    post(0, "开头 &lt;b&gt;<br/>[quote]引用[/quote] &amp;#55357;&amp;#56834;", alterinfo="[E1782532900 0 0]\t"),
    post(1, "回复", attachs=FILES, authorid=-1),
    post(3, "[b]三楼[/b]", type=1026, subject="小标题"),
)


def test_page_and_json_give_the_same_floors():
    as_json, as_page = read_topic(body(topic_document(*POSTS))), read_topic(topic_html(*POSTS))
    assert as_page.floors == as_json.floors
    assert (as_page.tid, as_page.fid, as_page.title) == (as_json.tid, as_json.fid, as_json.title)
    assert (as_page.total_floors, as_page.page_number) == (4, 1)
    assert as_page.floors[1].author_name == TOKEN_NAME
    assert as_page.last_reply_at == as_json.last_reply_at
    assert as_page.is_complete(1)
    assert as_page.missing_numbers() == (2,)


def test_pager_says_which_page_it_is():
    rows = [post(n) for n in range(20, 23)]
    page = read_topic(topic_html(*rows, pages=(2, 2), total=23))
    assert page.page_number == 2
    assert page.is_complete(2)
    assert page.missing_numbers() == ()


def test_comment_is_a_whole_post_and_its_copy_is_skipped():
    note = post(2, "贴条内容", type=1, authorid=4002)
    under = f"<span id='comment_for_7001'><span id='postcontent_7002'>贴条内容</span>{proc('_7002', note)}</span>"
    page = read_topic(topic_html(post(0), post(1), note, before=under))
    assert [floor.floor_number for floor in page.floors] == [0, 1, 2]
    assert page.floors[2].content_html == "贴条内容"
    assert page.floors[2].is_note


def test_hot_replies_are_not_stored():
    copy = post(15, "热评")
    under = f"<span id='hightlight_for_0'><span id='postcontent__7015'>热评</span>{proc('__7015', copy)}</span>"
    page = read_topic(topic_html(post(0), post(1), before=under))
    assert [floor.floor_number for floor in page.floors] == [0, 1]
    assert page.is_complete(1)


def test_text_that_looks_like_the_page_forges_nothing():
    forged = post(9, "x", pid=1)
    signed = "commonui.postArg.proc( 9,1,2,3,4,5,6,7,7,500,9999,0,4001,4001,1782532900 )"
    rows = (post(0, f"{signed} &lt;p id='postcontent9'&gt;x&lt;/p&gt;"), post(1, "回复"))
    text = topic_html(*rows).decode("gb18030").replace('"remark": "a\\tb"', f'"remark": "a\t{signed}"')
    page = read_topic(text.encode("gb18030"))
    assert forged["lou"] not in [floor.floor_number for floor in page.floors]
    assert len(page.floors) == 2


def test_page_that_breaks_off_is_never_whole():
    whole = topic_html(*POSTS)
    seen = set()
    for end in range(0, len(whole), 101):
        try:
            page = read_answer(whole[: len(whole) - 20 - end])
        except Unreadable as error:
            seen.add(type(error).__name__)
            continue
        assert not page.is_complete(1)
    assert seen == {"LayoutChanged"}


def test_page_without_its_scripts_is_not_believed():
    with pytest.raises(LayoutChanged):
        read_answer(topic_html(post(0)).replace(b"postArg", b"otherArg"))


def test_numbers_may_be_wrapped_in_calls_or_quotes():
    text = topic_html(post(0), post(1), pages=(2, 1), total=25).decode("gb18030")
    text = text.replace("__CURRENT_TID=500", "__CURRENT_TID = parseInt('500',10)").replace(
        "setDefault(7,0,500", "setDefault('7',0,''"
    )
    page = read_topic(text.replace("proc( 1,", "proc( '1',").encode("gb18030"))
    assert (page.tid, len(page.floors), page.thread_created_at.timestamp()) == (500, 2, NOON)


def test_reverse_order_and_polls_are_read_from_the_page():
    page = read_topic(topic_html(post(0), bits=262144 | 32, vote="1~甲~2~乙~max_select~1~_1~3,1"))
    assert page.is_newest_first
    assert page.floors[0].poll.options == (("甲", 3), ("乙", 0))


def test_times_come_from_the_call():
    floor = read_topic(topic_html(post(0), post(1))).floors[1]
    assert floor.post_created_at.timestamp() == NOON + 60
