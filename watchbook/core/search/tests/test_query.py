from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest

from watchbook.core.search.compiling import MAX_LOOKUPS, Every, index_expression
from watchbook.core.search.query import MAX_DEPTH, MAX_TERMS, All, Attribute, Either, Not, Words, read
from watchbook.core.search.tokens import Lookup

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
    "OR",
    "a OR",
    "OR OR OR",
    "-",
    "--force",
    "-(",
    "-()",
    "(a OR (b",
    "a) OR b)",
    "author:",
    'author:"',
    'author:"a b',
    "score>=",
    "score>=1e9",
    "score>=99999999999999999999",
    "before:0000",
    "before:2026-13-45",
    "after:9999-12-31",
    "type:nothing",
    "in:/",
    "in:a/b/c/d",
    "site:%",
    "title:",
    "-" * 400,
    "(" * 200 + "a" + ")" * 200,
    "a OR " * 80,
    "-a " * 130,
    "https://example.com/?q=a:b>=c",
]


def words(text):
    return [term.text for term in read(text).terms]


def lookups(text):
    found = index_expression(read(text).root, titled=False)
    return found.parts if isinstance(found, Every) else (found,)


def shape(node):
    """The tree as nested text."""
    if isinstance(node, Words):
        return ("title:" if node.in_title else "") + node.term.text
    if isinstance(node, Attribute):
        return f"{node.name}{node.sign}{node.value}"
    if isinstance(node, Not):
        return ["not", shape(node.child)]
    if isinstance(node, All | Either):
        return ["all" if isinstance(node, All) else "either", *map(shape, node.children)]
    return node


def fields(title="", body="", **given):
    plain = {"author": "", "source": "", "place": "", "site": "", "types": frozenset(), "score": None}
    return SimpleNamespace(title=title, body=body, **plain | given)


def test_words_are_separated_by_what_is_in_no_word():
    assert words("harbour/lighthouse，港口。灯塔") == ["harbour", "lighthouse", "港口", "灯塔"]


def test_touching_scripts_stay_one_term():
    assert words("3月 GPT4模型") == ["3月", "gpt4模型"]


def test_quotes_of_any_kind_make_a_phrase():
    assert words('"old harbour" “旧 港口”') == ["old harbour", "旧 港口"]


def test_star_opens_the_end_of_a_word():
    assert lookups("harb*") == (Lookup("harb", is_prefix=True),)
    assert lookups("harb") == (Lookup("harb"),)


def test_one_character_is_asked_by_prefix_and_two_by_equality():
    assert lookups("港") == (Lookup("港", is_prefix=True),)
    assert lookups("港口") == (Lookup("港口"),)
    assert lookups("港口灯") == (Lookup("港口"), Lookup("口灯"))


def test_repeated_words_are_asked_once():
    assert words("Harbour harbour ＨＡＲＢＯＵＲ") == ["harbour"]


def test_only_what_needs_no_reading_is_exact():
    assert all(read(text).is_exact for text in ("港", "港口", "harbour", "harb*", "港口 harbour", "a OR b"))
    assert not any(read(text).is_exact for text in ("港口灯", '"a b"', "3月", "x" * 100, "a -b"))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a b", ["all", "a", "b"]),
        ("a OR b", ["either", "a", "b"]),
        ("a b OR c d", ["all", "a", ["either", "b", "c"], "d"]),
        ("a OR b OR c", ["either", "a", "b", "c"]),
        ("(a b) OR c", ["either", ["all", "a", "b"], "c"]),
        ("（a b） OR c", ["either", ["all", "a", "b"], "c"]),
        ("a -b", ["all", "a", ["not", "b"]]),
        ('-"a b" -(c OR d)', ["all", ["not", "a b"], ["not", ["either", "c", "d"]]]),
        ("a OR -b", ["either", "a", ["not", "b"]]),
        ("old-harbour", ["all", "old", "harbour"]),
        ("--force", "force"),
        ("title:灯塔", "title:灯塔"),
        ('title:"old harbour" x', ["all", "title:old harbour", "x"]),
        ("title:a/b", ["all", "title:a", "title:b"]),
        ("author:Alice", "author:alice"),
        ('author:"李  雷"', "author:李 雷"),
        ("作者 author：李雷", ["all", "作者", "author:李雷"]),
        ("in:nga/7", "in:nga/7"),
        ("in:/Reddit/WebDev/", "in:reddit/webdev"),
        ("type:Comment", "type:comment"),
        ("site:https://Example.com/a", "site:example.com"),
        ("score>=100 score<5", ["all", "score>=100", "score<5"]),
        ("score:-3", "score=-3"),
        ("-in:nga", ["not", "in:nga"]),
        # What is no operator is words.
        ("a or b", ["all", "a", "or", "b"]),
        ("colour:red", ["all", "colour", "red"]),
        ('colour:"dark red"', ["all", "colour", "dark red"]),
        ("score>=many", ["all", "score", "many"]),
        ("before:yesterday", ["all", "before", "yesterday"]),
        ("after:2026-13", ["all", "after", "2026", "13"]),
        ("author: alice", ["all", "author", "alice"]),
        ("a OR", ["all", "a", "or"]),
        ("OR a", ["all", "or", "a"]),
        ('"old harbour', ["all", "old", "harbour"]),
        ("(old harbour", ["all", "old", "harbour"]),
        ("old) harbour", ["all", "old", "harbour"]),
        ("a - b", ["all", "a", "b"]),
        ("()", None),
        ("-", None),
    ],
)
def test_what_a_text_asks_for(text, tree):
    assert shape(read(text).root) == tree


def test_days_months_and_years_begin_where_the_server_is(settings):
    settings.TIME_ZONE = "Asia/Shanghai"
    begin = datetime(2026, 3, 1, tzinfo=ZoneInfo("Asia/Shanghai"))
    assert read("after:2026-03").root == read("after:2026-03-01").root == Attribute("after", ":", begin)
    assert read("before:2026").root.value == datetime(2026, 1, 1, tzinfo=ZoneInfo("Asia/Shanghai"))


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_is_a_query(text):
    query = read(text)
    assert len(query.terms) <= MAX_TERMS
    if query:
        found = str(index_expression(query.root, titled=True))
        assert found.count("Lookup(") <= MAX_LOOKUPS
        query.is_found(fields("a title", "a body", occurred_at=datetime.now(ZoneInfo("UTC"))))


def test_query_that_was_cut_says_so():
    assert read("a " * 300).is_cut
    assert read(" ".join(f"w{number}" for number in range(MAX_TERMS + 1))).is_cut
    assert read("(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1)).is_cut
    assert not read("(" * MAX_DEPTH + "harbour" + ")" * MAX_DEPTH).is_cut
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
        ("a OR b", "b", True),
        ("a OR b", "c", False),
        ("a -b", "a", True),
        ("a -b", "a b", False),
    ],
)
def test_what_counts_as_found(query, text, is_found):
    assert read(query).is_title_hit(fields(text)) is is_found


def test_what_must_be_missing_must_be_missing_in_the_text_too():
    assert not read("a -b").is_title_hit(fields("a", "b"))


def test_title_words_are_looked_for_in_the_title_alone():
    assert not read("title:a").is_found(fields("b", "a"))
    assert read("title:a b").is_found(fields("a", "b"))


@pytest.mark.parametrize(
    ("query", "given", "is_found"),
    [
        ("author:ALICE", {"author": "alice"}, True),
        ("author:ali", {"author": "alice"}, False),
        ("in:forum", {"source": "forum"}, True),
        ("in:forum/7", {"source": "forum", "place": "forum/7"}, True),
        ("in:forum/7", {"source": "forum", "place": "forum/70"}, False),
        ("site:example.com", {"site": "news.example.com"}, True),
        ("site:example.com", {"site": "anexample.com"}, False),
        ("type:comment", {"types": frozenset({"x_comment", "comment"})}, True),
        ("score>=100", {"score": 100}, True),
        ("score>100", {"score": 100}, False),
        ("score<100", {"score": None}, False),
        ("-score<100", {"score": None}, True),
    ],
)
def test_attributes(query, given, is_found):
    assert read(query).is_found(fields(**given)) is is_found
