from __future__ import annotations

import pytest

from watchbook.core.search.highlight import EXCERPT, excerpt, mark
from watchbook.core.search.query import read


def shown(parts):
    return "".join(f"[{part.text}]" if part.is_match else part.text for part in parts)


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("harbour", "The Ｈａｒｂｏｕｒ, again: HARBOUR", "The [Ｈａｒｂｏｕｒ], again: [HARBOUR]"),
        ("ガイド", "旅のｶﾞｲﾄﾞ本", "旅の[ｶﾞｲﾄﾞ]本"),
        ("café", "a Cafe\u0301!", "a [Cafe\u0301]!"),
        ("strasse", "Hauptstraße Straße", "Hauptstraße [Straße]"),
        ("世界", "世\u200b界地图", "[世\u200b界]地图"),
        ("港口 灯塔", "港口夜景，灯塔到旧仓库", "[港口]夜景，[灯塔]到旧仓库"),
        ("fi", "ﬁ ﬁne", "[ﬁ] ﬁne"),
        ("x", "<b>x</b>", "<b>[x]</b>"),
    ],
)
def test_marks_are_placed_in_the_original_text(query, text, marked):
    assert shown(mark(text, read(query).marks)) == marked


def test_segments_always_make_up_the_whole_text():
    text = "Ａé\u0301ｶﾞ…ﬁ각\u1100\u1161 世界"
    for query in ("a", "世", "ガ", "nothing"):
        assert "".join(part.text for part in mark(text, read(query).marks)) == text


def test_excerpt_is_around_the_first_match():
    parts = excerpt("一" * 5000 + "港口" + "二" * 5000, read("港口").marks)
    assert "[港口]" in shown(parts)
    assert shown(parts).startswith("… 一")
    assert shown(parts).endswith("二 …")
    assert len(shown(parts)) < EXCERPT + 20


def test_excerpt_without_a_match_is_the_beginning():
    assert shown(excerpt("first words. " * 3, read("title").marks)) == "first words. first words. first words."


def test_place_is_right_after_characters_that_fold_to_several():
    text = "…ﬁ㍿ " * 900 + "港口"
    assert shown(excerpt(text, read("港口").marks)).endswith("[港口]")
