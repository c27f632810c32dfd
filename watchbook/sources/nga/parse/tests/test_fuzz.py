"""Broken in any way, an answer is read, refused or called damaged; it never crashes or hangs the reader."""

from __future__ import annotations

import random

import pytest

from watchbook.sources.nga.parse import ListPage, Unreadable, read_answer
from watchbook.sources.nga.parse.bbcode.tests.walk import Walk
from watchbook.sources.nga.parse.tests.answers import (
    PREFIX,
    TOKEN,
    body,
    list_document,
    other_serialiser,
    post,
    refusal,
    refusal_page,
    row,
    stub,
    topic_document,
)
from watchbook.sources.nga.parse.tests.pages import list_html, topic_html

FILES = {"0": {"attachurl": "mon_1/a.png", "type": "img"}}
NOTE = post(2, "贴条", type=1)
TOPIC = topic_document(
    post(0, "开头[quote]x[/quote]<br/>[img]./a.jpg[/img]", vote="1~甲~2~乙~max_select~1"),
    post(1, "回复 &#55357;&#56834;", comment_id="7002", comment={"0": NOTE}, attachs=FILES, authorid=-1),
    stub(2, 7001),
)
LIST = list_document(row(1, recommend=10), row(2, author=TOKEN, authorid=TOKEN), row(3, quote_from=9, jdata="x"))
SEEDS = [
    body(TOPIC),
    body(TOPIC, prefix=PREFIX),
    body(other_serialiser(TOPIC), encoding="utf-8"),
    body(LIST),
    topic_html(post(0), post(1, "回复", attachs=FILES, alterinfo="[E1782532900 0 0]"), pages=(2, 1)),
    list_html(row(1), row(2)),
    body(refusal("找不到主题")),
    refusal_page("访客不能直接访问", 15),
]
PIECES = [b'"', b"\\", b"\\x5C", b"{", b"}", b"[", b"]", b",", b":", b"\x80", b"\xac", b"\0", b"<", b">", b"<script>",
          b"</script>", b"'", b"(", b")", b"/*", b"*/", b"+1", b"007", b"null", b"\xe9\xad\x94", b"&#0;", b"[/b]",
          b"-1", b"99999999999999999999", b"<!--", b"$('"]  # fmt: skip


def broken(chance: random.Random) -> bytes:
    found = bytearray(chance.choice(SEEDS))
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(found) + 1)
        kind = chance.choice(["insert", "cut", "flip", "repeat", "end"])
        if kind == "insert":
            found[at:at] = chance.choice(PIECES)
        elif kind == "cut":
            del found[at : at + chance.randint(1, 40)]
        elif kind == "flip" and at < len(found):
            found[at] ^= chance.randint(1, 255)
        elif kind == "repeat":
            found[at:at] = found[at : at + 60] * chance.randint(1, 20)
        elif kind == "end" and chance.random() < 0.3:
            del found[at:]
    return bytes(found)


@pytest.mark.parametrize("block", range(10))
def test_broken_answers_never_break_the_reader(block):
    chance = random.Random(block)
    for _ in range(30):
        try:
            page = read_answer(broken(chance))
        except Unreadable:
            continue
        if isinstance(page, ListPage):
            assert all(topic.tid > 0 for topic in page.topics)
            continue
        numbers = [floor.floor_number for floor in page.floors]
        assert numbers == sorted(set(numbers))
        assert page.missing_numbers() is not None
        for floor in (*page.floors, *page.notes_elsewhere):
            Walk(floor.content_html)
            assert len(floor.content_fingerprint_sha256) == 64
            floor.content_html.encode()
            floor.author_name.encode()


def test_seeds_are_readable_before_they_are_broken():
    assert [type(read_answer(seed)).__name__ for seed in SEEDS[:6]] == ["TopicPage"] * 3 + [
        "ListPage",
        "TopicPage",
        "ListPage",
    ]


@pytest.mark.parametrize(
    "flood",
    [b"<" * 300_000, b"<!--" * 50_000, b"<a b='" * 50_000, b"<script>" * 20_000, b'{"a":"' * 20_000, b"\xac" * 300_000,
     b'{"data":{"__R":' + b"/*" * 100_000, b'"__TJ":{' * 20_000 + b"\x80", b"{" + b'"jdata":"' * 20_000 + b"\x80",
     b"<script>" + b"commonui.postArg.proc(" * 5_000, b"<script>" + b"'" * 100_000, b"<p id='a'>" * 20_000,
     b"window.a=" * 50_000, b"<script>" + b"/*" * 100_000, b"<script>" + b'\\"' * 100_000 + b"\\"],
    ids=lambda flood: repr(flood[:16]),
)  # fmt: skip
def test_floods_end(flood):
    with pytest.raises(Unreadable):
        read_answer(flood)
