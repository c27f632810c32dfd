"""Bytes as the site sends them: encodings, prefixes, and JSON that is none."""

from __future__ import annotations

import pytest

from watchbook.systems.nga.parse import Damaged, LayoutChanged, ListPage, TopicPage
from watchbook.systems.nga.parse.answer import read_answer, read_list, read_topic
from watchbook.systems.nga.parse.tests.answers import (
    PREFIX,
    body,
    dumped,
    list_document,
    other_serialiser,
    post,
    row,
    topic_document,
)

TOPIC = topic_document(post(0, "开头"), post(1, "回复"))
TEXT = dumped(TOPIC)


def codes(page: ListPage | TopicPage) -> set[str]:
    return {note.code for note in page.notes}


def changed(old: str, new: str, text: str = TEXT) -> bytes:
    assert old in text
    return text.replace(old, new, 1).encode("gb18030")


@pytest.mark.parametrize("prefix", ["", PREFIX, "/*$js$*/", f"  {PREFIX}\n", "\ufeff", f"var x = /*$js$*/{PREFIX}"])
def test_prefix_of_any_kind_is_taken_off(prefix):
    assert read_topic(body(TOPIC, prefix=prefix)).title == "[讨论]标题"


@pytest.mark.parametrize(
    ("encoding", "content_type"),
    [
        ("gb18030", ""),
        ("gb18030", "text/html"),
        ("gb18030", "text/javascript; charset=GBK"),
        ("utf-8", "application/json; charset=utf-8"),
    ],
)
def test_declared_encoding_is_used_else_gb18030(encoding, content_type):
    document = topic_document(post(0, "汉字𠮷€"))
    assert read_topic(body(document, encoding=encoding), content_type=content_type).floors[0].content_html == "汉字𠮷€"


def test_utf8_without_any_declaration_is_recognised():
    document = {key: value for key, value in TOPIC.items() if key != "encode"}
    assert read_topic(body(document, encoding="utf-8")).title == "[讨论]标题"


def test_gbk_that_looks_like_utf8_stays_gbk():
    document = {"data": topic_document(post(0, "模效"))["data"]}
    document["data"]["__U"] = {}
    document["data"]["__T"] |= {"subject": "模效", "author": ""}
    document["data"]["__F"], document["data"]["__R"]["0"]["subject"] = {}, ""
    assert body(document).decode("utf-8")
    assert read_topic(body(document)).title == "模效"


def test_utf8_keywords_inside_a_gbk_list_lose_no_topic():
    rows = [row(n, jdata="KEYWORDS", __TJ={"skw": "MORE"}) for n in range(1, 101)]
    sent = body(list_document(*rows, __ROWS=100))
    keyword = '{\\"skw\\":\\"魔兽€\\"}'.encode()
    sent = sent.replace(b"KEYWORDS", keyword).replace(b"MORE", "测试一".encode())
    with pytest.raises(UnicodeDecodeError):
        sent.decode("gb18030")
    page = read_list(sent)
    assert [topic.tid for topic in page.topics] == list(range(1, 101))
    assert {topic.title for topic in page.topics} == {f"[讨论]第{n}个主题" for n in range(1, 101)}
    assert "blanked_keywords" in codes(page)


def test_one_wrongly_encoded_field_spoils_no_other_field():
    sent = body(topic_document(post(0, "WRONG"), post(1, "回复"))).replace(b"WRONG", "魔兽世界€".encode())
    page = read_topic(sent)
    assert [floor.content_html for floor in page.floors] == ["魔兽世界€", "回复"]
    assert page.title == "[讨论]标题"
    assert "mixed_encoding" in codes(page)


def test_javascript_escapes_are_read():
    page = read_topic(changed("开头", "a\\x5Ctb\\x41\\'c"))
    assert page.floors[0].content_source == "a\\tbA'c"
    assert "literal_repairs" in codes(page)


def test_raw_tabs_and_controls_inside_strings_are_read():
    page = read_topic(changed('"alterinfo": ""', '"alterinfo": "[E1782532900 0 0]\t\n\x01"'))
    assert page.floors[0].source_edited_at.timestamp() == 1782532900


@pytest.mark.parametrize("written", ["+123", "0123", "007", "1e5", "1.50", "-0", "12345678901234567890123", "+1"])
def test_numbers_keep_their_spelling_where_text_is_meant(written):
    page = read_topic(changed('"开头"', written))
    assert page.floors[0].content_source == written


def test_texts_made_of_digits_are_texts():
    document = topic_document(post(0, 123, authorid=4002), topic={"subject": 2026, "author": 123456, "authorid": 4002})
    page = read_topic(body(document))
    assert (page.title, page.author_name, page.floors[0].author_name) == ("2026", "123456", "123456")
    assert page.floors[0].content_html == "123"


def test_comments_and_a_tail_of_garbage_are_ignored():
    page = read_topic(changed('"__PAGE"', '/*$js$*/"__PAGE"') + b"/*error fill content \xc4\xe3 {{{")
    assert len(page.floors) == 2
    assert {"literal_repairs", "text_after_end"} <= codes(page)


def test_tail_mark_inside_a_post_is_text():
    assert read_topic(changed("开头", "/*error fill content")).floors[0].content_html == "/*error fill content"


def test_cut_body_is_noticed_wherever_it_is_cut():
    whole = body(TOPIC, prefix=PREFIX)
    for end in range(len(PREFIX) + 1, len(whole), 37):
        with pytest.raises(Damaged) as caught:
            read_answer(whole[:end])
        assert caught.value.code in {"cut", "broken"}
    assert read_answer(whole)


def test_halves_of_characters_are_joined_or_replaced():
    sent = changed("开头", "\\ud83d\\ude02 \\ud83d \\u0000x\\x41")
    floor = read_topic(sent).floors[0]
    assert floor.content_source == "😂 \ufffd xA"
    assert floor.content_html == "😂 \ufffd xA"


def test_list_without_its_total_is_not_a_page():
    document = list_document(row(1))
    del document["data"]["__ROWS"]
    with pytest.raises(LayoutChanged, match="lacks a required part"):
        read_list(body(document))


def test_closed_body_without_its_rows_is_not_a_page():
    with pytest.raises(LayoutChanged, match="lacks a required part"):
        read_answer(body({"data": {"__CU": {}, "__GLOBAL": {}}}))


@pytest.mark.parametrize("empty", [b"", b" \r\n"])
def test_empty_body_is_damage_not_emptiness(empty):
    with pytest.raises(Damaged, match="empty"):
        read_answer(empty)


def test_both_serialisers_give_the_same_records():
    listed = list_document(row(1, parent={"0": 7, "1": 9, "2": "合集"}), row(2, topic_misc="AQAAACE"))
    assert read_list(body(listed)).topics == read_list(body(other_serialiser(listed))).topics
    document = topic_document(post(0), post(1, attachs={"0": {"attachurl": "mon_1/a.png", "type": "img"}}))
    assert read_topic(body(document)).floors == read_topic(body(other_serialiser(document))).floors


def test_answer_with_code_and_result_is_read_like_any_other():
    sent = body({"code": 0, "msg": "ok", "result": list_document(row(1))["data"]}, encoding="utf-8")
    assert read_list(sent).topics[0].tid == 1


def test_half_rendered_answer_of_the_app_is_not_taken():
    sent = body({"code": 0, "currentPage": 1, "perPage": 20, "result": [{"pid": 0, "content": "<b>x</b>"}]})
    with pytest.raises(LayoutChanged, match="app interface"):
        read_answer(sent)


@pytest.mark.parametrize(
    "text", ['{"a":' * 5000, "[" * 100_000, '{"data":' + "[" * 5000 + "]" * 5000 + "}", "{}", "[]"]
)
def test_deep_or_foreign_json_is_refused(text):
    with pytest.raises((Damaged, LayoutChanged)):
        read_answer(text.encode())


def test_quote_that_was_not_escaped_invents_nothing():
    with pytest.raises(Damaged):
        read_topic(changed("开头", 'a "b" c'))
