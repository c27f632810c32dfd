"""Names, bits, titles, fingerprints: small rules with sharp edges."""

from __future__ import annotations

import random
import unicodedata

import pytest

from watchbook.systems.nga.parse import prefixes
from watchbook.systems.nga.parse.errors import NOTE_SENTENCES, Note, Notes
from watchbook.systems.nga.parse.topic import fingerprint
from watchbook.systems.nga.parse.values import display_name, lines, unescape, unescape_whole, unpack_text


@pytest.mark.parametrize(
    ("token", "name"),
    [
        ("#anony_" + "0" * 32, "甲王王甲王王"),
        ("#anony_" + "f" * 32, "巳巳"),
        ("#anony_0123456789abcdef0123456789abcdef", "甲高傅庚聂涂"),
        ("#anony_" + "0" * 31, "#anony_" + "0" * 31),
        ("somebody", "somebody"),
    ],
)
def test_anonymous_names(token, name):
    assert display_name(token) == name


@pytest.mark.parametrize(
    ("packed", "found"),
    [
        ("AQAAACE", {1: 33}),
        ("AgHHg+c", {2: 29852647}),
        ("AwAAA0MBAAAAIA", {3: 835, 1: 32}),
        ("CQAAAAEBAAAAIA", {9: 1, 1: 32}),
        ("", {}),
        ("red~1~", {}),
        ("?", {}),
    ],
)
def test_packed_display_bits(packed, found):
    assert unpack_text(packed) == found


@pytest.mark.parametrize(
    ("title", "found"),
    [
        ("[水]标题", ("水",)),
        ("[手机 网页游戏综合讨论][活动]标题[完]", ("手机 网页游戏综合讨论", "活动", "完")),
        ("标题", ()),
        ("[]标题[ ]", ()),
        ("[水][水]", ("水",)),
        ("[没有结束", ()),
    ],
)
def test_title_prefixes(title, found):
    assert prefixes(title) == found


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("&lt;b&gt; &quot;x&quot; &#39;&#36;&#92;", '<b> "x" \'$\\'),
        ("&#55357;&#56834;", "😂"),
        ("&amp;#55357;&amp;#56834;", "😂"),
        ("&amp;lt;", "&lt;"),
        ("&#55357;x", "\ufffdx"),
        ("&#0;&#1;a", "a"),
        ("&#1114112; &nosuch; &copy", "&#1114112; &nosuch; &copy"),
        ("a&nbsp;b", "a\u00a0b"),
    ],
)
def test_entities(source, seen):
    assert unescape(source) == seen
    assert unescape_whole(source) == seen


def test_whole_text_is_unescaped_like_any_other():
    chance = random.Random(2)
    pieces = [
        "&#55357;",
        "&#56834;",
        "&#x1F602;",
        "&amp;",
        "#55357;",
        "&lt;",
        "字",
        "\n",
        "&#1;",
        "&nbsp;",
        "&",
        "&#5",
        "&#56319;&#57343;",
    ]
    for _ in range(5000):
        source = "".join(chance.choices(pieces, k=chance.randint(1, 8)))
        assert unescape_whole(source) == unescape(source), source


@pytest.mark.parametrize(
    ("source", "seen"),
    [("a<br/>b<br/>", "a\nb\n"), ("a<BR />b<br>c", "a\nb\nc"), ("<br<br/>>", "<br\n>"), ("a\r\nb\rc", "a\nb\nc")],
)
def test_line_ends(source, seen):
    assert lines(source) == seen


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a<br/>b", "a<br>\r\nb".replace("\r\n", "")),
        ("a<br/>b", "a\r\nb"),
        ("a&nbsp;b", "a\u00a0b"),
        ("a&nbsp;b", "a b"),
        ("&#60;", "&lt;"),
        ("x  <br/>", "x"),
        ("\u00e9", unicodedata.normalize("NFD", "\u00e9")),
        ("&#55357;&#56834;", "😂"),
    ],
)
def test_spelling_makes_no_new_fingerprint(one, other):
    assert fingerprint(one) == fingerprint(other)


def test_flood_of_spaces_has_a_fingerprint():
    assert fingerprint(" " * 300_000 + "x") == fingerprint("x")
    assert fingerprint("y" + " " * 300_000 + "x") != fingerprint("yx")


def test_every_change_of_content_makes_a_new_fingerprint():
    made = [
        fingerprint("a"),
        fingerprint("b"),
        fingerprint("[b]a[/b]"),
        fingerprint("[lessernuke]a[/lessernuke]"),
        fingerprint("a", subject="s"),
        fingerprint("a", extra=["s"]),
        fingerprint("a", extra=["s", "t"]),
        fingerprint("a", extra=["st"]),
        fingerprint("as"),
    ]
    assert len(set(made)) == len(made)
    assert fingerprint("a", extra=["s", "t"]) == fingerprint("a", extra=["t", "s"])


def test_notes_have_codes_counts_and_sentences():
    notes = Notes()
    notes.add("denied_rows", 2)
    notes.add("board_rows", 0)
    assert notes.listed() == (Note("denied_rows", 2),)
    assert "2 rows" in notes.listed()[0].message
    with pytest.raises(KeyError):
        notes.add("nothing")
    assert all(Note(code, 1).message for code in NOTE_SENTENCES)
