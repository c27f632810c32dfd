from __future__ import annotations

import pytest

from watchbook.core.search.dialects.mariadb import spell
from watchbook.core.search.tokens import MAX_TEXT, fold, searchable, tokens, word_key


def test_chinese_becomes_pairs_and_the_last_character():
    assert tokens("世界地") == {"世界", "界地", "地"}


def test_words_and_figures_stay_whole():
    assert tokens(fold("Harbour-2026, v2")) == {"harbour", "2026", "v2"}


def test_scripts_that_touch_are_parted():
    assert tokens(fold("第12楼ok")) == {"第", "12", "楼", "ok"}


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("Ｈａｒｂｏｕｒ", "harbour"),
        ("ＡＢＣ１２３", "abc123"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("STRASSE", "strasse"),
        ("straße", "strasse"),
        ("世\u200b界", "世界"),
        ("co\u00adoperate", "cooperate"),
        ("Cafe\u0301", "café"),
    ],
)
def test_width_case_and_invisible_characters_do_not_matter(written, folded):
    assert fold(written) == folded


def test_long_word_is_indexed_by_its_beginning():
    assert word_key("a" * 500) == "a" * 78
    assert word_key("ж" * 500) == "ж" * 15


def test_text_that_unfolds_hugely_stays_bounded():
    assert len(searchable("\ufdfa" * MAX_TEXT)) == MAX_TEXT


@pytest.mark.parametrize("word", ["a", "中", "中文", "a" * 500, "ж" * 500, "\U0002ceb0\U0002ceb1", "é" * 300, "😀"])
def test_every_token_fits_the_bounds_of_mariadbs_index(word):
    for token in tokens(word):
        spelt = "t" + spell(token)
        assert spelt.isascii()
        assert len(spell(token)) >= 3
        assert len(spelt) <= 84


def test_no_two_tokens_share_a_spelling():
    given = ["a", "é", "e", "_", "q", "中", "中文", "文中", "ж", "жa", "aж", "x", "0"]
    assert len({spell(token) for token in given}) == len(given)


def test_spelling_of_a_beginning_is_the_beginning_of_the_spelling():
    assert spell("cafés").startswith(spell("caf"))
    assert spell("cafés").startswith(spell("café"))
    assert spell("中文").startswith(spell("中"))
