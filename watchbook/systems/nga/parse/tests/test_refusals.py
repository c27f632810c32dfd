"""The site's own words, and what they mean for what is stored."""

from __future__ import annotations

import pytest

from watchbook.systems.nga.parse import LayoutChanged, ListPage, Refused
from watchbook.systems.nga.parse.answer import read_answer
from watchbook.systems.nga.parse.errors import SENTENCES, TEXTS
from watchbook.systems.nga.parse.tests.answers import PREFIX, body, post, refusal, refusal_page, topic_document

SAID = [
    ("找不到主题", "gone"),
    ("帖子被删除", "gone"),
    ("帖子被设为隐藏", "hidden"),
    ("帖子正等待审核", "pending"),
    ("帖子审核未通过", "review_failed"),
    ("此帖子被锁定", "locked"),
    ("帖子发布或回复时间超过限制", "too_old"),
    ("帐号权限不足", "no_right"),
    ("查看所需的权限/条件", "no_right"),
    ("查看所需的条件不足", "no_right"),
    ("未登录", "login"),
    ("你必须登录才能查看", "login"),
    ("访客不能直接访问", "guest"),
    ("找不到内容 或 没有更多页了", "past_end"),
    ("无此页", "past_end"),
    ("服务器忙,请稍后重试", "busy"),
    ("找不到用户", "no_results"),
    ("没找到", "no_results"),
    ("从未见过的话", "unknown"),
]


def refused(sent: bytes) -> Refused:
    with pytest.raises(Refused) as caught:
        read_answer(sent)
    return caught.value


@pytest.mark.parametrize(("text", "reason"), SAID)
def test_one_code_many_reasons(text, reason):
    found = refused(body(refusal(text), prefix=PREFIX))
    assert (found.reason, found.site_code, found.message) == (reason, 2048, text)
    assert refused(refusal_page(text, 2048)).reason == reason


@pytest.mark.parametrize("text", [text for text, reason in SAID if reason not in {"gone", "hidden"}])
def test_only_gone_and_hidden_may_lead_to_a_deletion(text):
    assert not refused(body(refusal(text))).is_gone


@pytest.mark.parametrize(
    ("code", "reason"), [(14, "gone"), (35, "past_end"), (46, "guest"), (51, "pending"), (39, "unknown")]
)
def test_codes_speak_only_when_words_do_not(code, reason):
    assert refused(body({"code": code, "msg": "?"}, encoding="utf-8")).reason == reason
    assert refused(body({"code": code, "msg": "服务器忙"}, encoding="utf-8")).reason == "busy"


def test_words_are_found_in_each_of_their_places():
    assert refused(body({"error": {"0": "2048:找不到主题"}})).site_code == 2048
    assert refused(body({"error": ["找不到主题"]})).reason == "gone"
    assert refused(body({"error": "找不到主题"})).reason == "gone"
    assert refused(body({"data": {"__MESSAGE": {"0": "2048", "1": "找不到<br/>主题 找不到主题"}}})).reason == "gone"
    assert refused(body({"code": 2048, "msg": "服务器忙", "result": []}, encoding="utf-8")).reason == "busy"


def test_guest_gate_is_a_page_of_its_own():
    found = refused(refusal_page("访客不能直接访问", 15))
    assert (found.reason, found.site_code) == ("guest", 15)
    assert found.is_temporary


def test_title_alone_can_be_the_message():
    page = "<html><head><title>访客不能直接访问</title></head><body><script>x=1</script></body></html>"
    assert refused(page.encode("gb18030")).reason == "guest"


def test_no_results_is_an_empty_list():
    page = read_answer(body(refusal("没有符合条件的结果")))
    assert isinstance(page, ListPage)
    assert (page.topics, page.total_topics) == ((), 0)


def test_topic_that_talks_about_refusals_is_a_topic():
    document = topic_document(post(0, "找不到主题"), topic={"subject": "帖子被删除 服务器忙"})
    assert read_answer(body({**document, "error": {"0": "2048:找不到主题"}})).title == "帖子被删除 服务器忙"


@pytest.mark.parametrize(
    "sent",
    [
        b"<html><title>Just a moment</title></html>",
        b"hello",
        b"\x89PNG\r\n\x1a\n\x00\x00",
        b"<?xml version='1.0'?><root/>",
    ],
)
def test_foreign_pages_are_neither_refusals_nor_data(sent):
    with pytest.raises(LayoutChanged):
        read_answer(sent)


def test_every_reason_has_its_sentence():
    assert {reason for _, reason in TEXTS} <= SENTENCES.keys()
