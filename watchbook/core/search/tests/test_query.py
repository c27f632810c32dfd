from __future__ import annotations

import pytest

from watchbook.core.search.query import MAX_LOOKUPS, MAX_TERMS, Lookup, read

HOSTILE = [
    "",
    " ",
    '"',
    '""',
    '"unbalanced',
    "a & | (",
    "%" * 30_000,
    "_" * 1000,
    "NEAR(",
    "NEAR(a b, 5)",
    "*",
    "* * *",
    "a*b*",
    "-",
    "+a -b",
    "a OR b AND NOT c",
    "^title",
    "title:a",
    "{a b}:c",
    "\x00",
    "a\x00b",
    "\ud800",
    "the and of",
    "'; DROP TABLE search_documents; --",
    "'a' & 'b':*",
    "a\\",
    "\\'",
    "x" * 100_000,
    "中" * 100_000,
    " ".join(f"w{n}" for n in range(10_000)),
    '"' * 10_000,
    "( " * 5000,
    "\ufdfa" * 400,
    "😀😀",
    "\u202egnp.exe",
    "é\u0301\u0301",
    "¶a",
    "b0001 q_a",
]


def words(text):
    return [term.text for term in read(text).terms]


def test_words_are_separated_by_what_is_in_no_word():
    assert words("harbour/lighthouse，港口。灯塔") == ["harbour", "lighthouse", "港口", "灯塔"]


def test_touching_scripts_stay_one_term():
    assert words("3月 GPT4模型") == ["3月", "gpt4模型"]


def test_quotes_of_any_kind_make_a_phrase():
    assert words('"old harbour" “旧 港口”') == ["old harbour", "旧 港口"]


def test_a_star_opens_the_end_of_a_word():
    assert read("harb*").lookups == (Lookup("harb", is_prefix=True),)
    assert read("harb").lookups == (Lookup("harb"),)


def test_one_character_is_asked_by_prefix_and_two_by_equality():
    assert read("港").lookups == (Lookup("港", is_prefix=True),)
    assert read("港口").lookups == (Lookup("港口"),)
    assert read("港口灯").lookups == (Lookup("港口"), Lookup("口灯"))


def test_repeated_words_are_asked_once():
    assert words("Harbour harbour ＨＡＲＢＯＵＲ") == ["harbour"]


def test_only_what_needs_no_reading_is_exact():
    assert all(read(text).is_exact for text in ("港", "港口", "harbour", "harb*", "港口 harbour"))
    assert not any(read(text).is_exact for text in ("港口灯", '"a b"', "3月", "x" * 100))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_is_a_query(text):
    query = read(text)
    assert len(query.terms) <= MAX_TERMS
    assert len(query.lookups) <= MAX_LOOKUPS
    query.is_found("a title", "a body")


def test_a_query_that_was_cut_says_so():
    assert read("a " * 300).is_cut
    assert read(" ".join("abcdefghijklmnopqrstuvwxyz")).is_cut
    assert not read("harbour lighthouse").is_cut


@pytest.mark.parametrize(
    ("query", "text", "is_found"),
    [
        ("cat", "a cat sat", True),
        ("cat", "concatenate", False),
        ("cat*", "a category", True),
        ("界地", "世界地图", True),
        ("3月", "13月", False),
        ("3月", "2026年3月2日", True),
        ('"old harbour"', "the old, harbour", True),
        ('"old harbour"', "old and harbour", False),
        ('"old harbour"', "harbour old", False),
        ('"旧 港口"', "旧港口", True),
    ],
)
def test_what_counts_as_found(query, text, is_found):
    assert read(query).is_in(text) is is_found
