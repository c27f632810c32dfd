"""The short way leads where the long one does, or nowhere."""

from __future__ import annotations

import random

import pytest

from watchbook.systems.nga.parse.bbcode import Place, _built
from watchbook.systems.nga.parse.bbcode.addresses import Addresses
from watchbook.systems.nga.parse.bbcode.quick import DEEPEST, MOST_TAGS, quick
from watchbook.systems.nga.parse.bbcode.tests.test_hostile import PIECES
from watchbook.systems.nga.parse.bbcode.tests.test_render import CASES, TOKEN
from watchbook.systems.nga.parse.values import lines, whole_characters

PLACE = Place(addresses=Addresses(), tid=100, pid=200, author_id=5)
TAGS = [
    ("[b]", "[/b]"), ("[del]", "[/del]"), ("[color=red]", "[/color]"), ("[size=150%]", "[/size]"),
    ("[url=https://e.com/?a=1&amp;b=2]", "[/url]"), ("[pid=900,100,2]", "[/pid]"), ("[uid=5]", "[/uid]"),
    ("[uid]", "[/uid]"), ("[quote]", "[/quote]"), ("[quote=甲 &lt;]", "[/quote]"), ("[collapse=剧透]", "[/collapse]"),
    ("[collapse]", "[/collapse]"), ("[align=center]", "[/align]"), ("[album=t]", "[/album]"), ("[font=x]", "[/font]"),
    ("[url=javascript:x]", "[/url]"), ("[lessernuke]", "[/lessernuke]"), ("[span x=1]", "[/span]"),
]  # fmt: skip
WORDS = [
    "", "字", "第一行\n第二行", "\n", " ", "&lt;b&gt;", "&amp;#60;", "&#10;", "&#55357;&#56834;", "<script>", "[求助]",
    "[", "]", "[]", "[ b ]", "[s:ac:喷]", "[s:1]", "[s:没有]",
    "[img]./mon_1/a.jpg[/img]", "[img].1/x.png[/img]", "[img]x[/img]",
    "[url]https://e.com/[/url]", "[code]a\nb[/code]", "[code=lua]\nx[/code]", "[tid]5[/tid]",
    "[flash=video]./v.mp4[/flash]", TOKEN, "[dice]d6[/dice]", "[*]", "[@某某]",
    "[noimg]./x[/noimg]", "[B]x[/B]", "[url=]x[/url]", "&#91;b&#93;",
]  # fmt: skip


def nested(chance: random.Random, depth: int) -> str:
    parts = []
    for _ in range(chance.randint(1, 3)):
        parts.append("".join(chance.choices(WORDS, k=chance.randint(0, 3))))
        if depth and chance.random() < 0.7:
            before, after = chance.choice(TAGS)
            parts.append(before + nested(chance, depth - 1) + after)
    return "".join(parts)


def agrees(source: str) -> bool:
    """Was the short way taken? Then it is the same as the long one."""
    source = lines(whole_characters(source))
    found = quick(source, PLACE.addresses)
    if "===" in source or "---" in source or found is None:
        return False
    assert found == _built(source, PLACE), source
    return True


@pytest.mark.parametrize("source", [source for source, _ in CASES.values()], ids=CASES.keys())
def test_every_tag_of_the_dialect(source):
    agrees(source)


def test_tags_in_order_take_the_short_way():
    chance = random.Random(3)
    taken = sum(agrees(nested(chance, 3)) for _ in range(6000))
    assert taken > 500


def test_tags_in_any_order():
    chance = random.Random(4)
    taken = sum(agrees("".join(chance.choices([*PIECES, *WORDS], k=chance.randint(1, 8)))) for _ in range(8000))
    assert taken > 500


def test_what_most_posts_are_made_of_takes_the_short_way():
    quoted = (
        "[quote][pid=9,5,1]Reply[/pid] [b]Post by [uid=5]某人[/uid] (2026-01-01 10:00):[/b]\n\nhi[/quote]x [s:ac:喷]"
    )
    for source in (
        "字",
        "一\n二",
        "[b]a[/b] b [del]c[/del]",
        "[img]./a.png[/img]",
        "[url=https://e.com/]x[/url]",
        quoted,
    ):
        assert agrees(source), source


@pytest.mark.parametrize(
    "source",
    ["[b]x", "x[/b]", "[b][i]x[/b][/i]", "[b][/b]", "[b]\n[/b]", "[list][*]x[/list]", "[dice]d6[/dice]", "[B]x[/B]",
     "[@某某]", "[img]x", "[code][b][/code]", "[url=http://e.com/][url=http://f.com/]x[/url][/url]",
     "[b]" * (DEEPEST + 1) + "x" + "[/b]" * (DEEPEST + 1), "[b]x[/b]" * MOST_TAGS],
    ids=lambda source: source[:30],
)  # fmt: skip
def test_what_it_does_not_know_takes_the_long_way(source):
    assert quick(source, PLACE.addresses) is None
