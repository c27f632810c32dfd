"""Random documents and queries: every database answers what reading all documents one by one would answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils.timezone import get_current_timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watchbook.base.testing.environment import examples
from watchbook.core.registry import Attributes
from watchbook.core.search import dialects, index
from watchbook.core.search.dialects import dialect, sqlite
from watchbook.core.search.find import count, find
from watchbook.core.search.index import Document
from watchbook.core.search.models import SearchDocument
from watchbook.core.search.query import read
from watchbook.core.search.tests import naive

# InnoDB indexes at commit, so what is searched must have been committed.
pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)
# Few characters, so that pairs and words meet by chance; wide, accented, voiced, astral and young ones among them.
ALPHABETS = (
    "世界世界地",
    "aAbAｂ1１ -*",
    "世a界b,。 _",
    "世界地港aAbé٣ Ａ１１2ｶﾞが\u3099\u0301, 。-_*'\\%😀𠀀\U0002ceb0각ß\u200b",
)


def text_of(size: int, least: int = 0) -> st.SearchStrategy[str]:
    return st.sampled_from(ALPHABETS).flatmap(
        lambda alphabet: st.text(st.sampled_from(alphabet), min_size=least, max_size=size)
    )


scopes = st.sampled_from(["members", "members", "staff", "user:1"])
AUTHORS = ["", "Alice", "李 雷", "ａlice"]
PLACES = ["", "7", "70", "7/b", "WebDev"]
SITES = ["", "https://news.example.com/a", "example.com", "anexample.com"]
TYPES = {"topic": {"topic", "subject"}, "floor": {"floor"}, "page": {"page"}}
SOURCES = {"topic": "forum", "floor": "forum", "page": "shelf"}
draft = st.tuples(
    text_of(6), text_of(24), scopes, st.integers(0, 3), st.sampled_from(list(TYPES)), st.sampled_from(AUTHORS),
    st.sampled_from(PLACES), st.sampled_from(SITES), st.sampled_from([None, 0, 5, 100]),
)  # fmt: skip
drafts = st.lists(draft, min_size=4, max_size=12)
edits = st.lists(st.tuples(st.integers(0, 5), st.none() | draft), max_size=4)
viewers = st.sampled_from([{"members"}, {"members", "user:1"}, {"members", "staff"}, {"staff"}])

# A typed leaf, and what it asks for.
chunk = text_of(5, least=1).map(lambda text: "".join(text.split()).lstrip("-")).filter(naive.words_of)
phrase = text_of(6, least=1).filter(naive.words_of)
days = st.integers(1, 6).map(lambda day: (f"2026-03-{day:02}", datetime(2026, 3, day, tzinfo=get_current_timezone())))
leaves = st.one_of(
    chunk.map(lambda text: (text, every_word(text, in_title=False))),
    phrase.map(lambda text: (f'"{text}"', ("words", naive.words_of(text), False))),
    chunk.map(lambda text: (f"title:{text}", every_word(text, in_title=True))),
    st.sampled_from(["ALICE", "李 雷", "nobody"]).map(lambda name: (f'author:"{name}"', ("author", name))),
    st.sampled_from(["forum", "forum/7", "FORUM/7/b", "shelf/webdev"]).map(
        lambda place: (f"in:{place}", ("in", place))
    ),
    st.sampled_from(["example.com", "news.example.com", "com"]).map(lambda site: (f"site:{site}", ("site", site))),
    st.sampled_from(["topic", "subject", "page", "none"]).map(lambda name: (f"type:{name}", ("type", name))),
    st.tuples(st.sampled_from(["before", "after"]), days).map(
        lambda given: (f"{given[0]}:{given[1][0]}", (given[0], given[1][1]))
    ),
    st.tuples(st.sampled_from([">=", "<", "="]), st.sampled_from([0, 5, 50])).map(
        lambda given: (f"score{given[0]}{given[1]}", ("score", given[1], given[0]))
    ),
)
asked = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: bracketed(" ", "and", parts)),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: bracketed(" OR ", "or", parts)),
        inner.map(lambda part: (f"-({part[0]})", ("not", part[1]))),
    ),
    max_leaves=6,
)


def every_word(text, *, in_title):
    leaves = [("words", [word], in_title) for word in naive.words_of(text)]
    return ("and", *leaves)


def bracketed(between, name, parts):
    return f"({between.join(text for text, _tree in parts)})", (name, *(tree for _text, tree in parts))


@pytest.fixture(params=[(2000, 2000), (3, 2000), (1, 0)], ids=["all are recent", "few are recent", "in growing steps"])
def probe(request, monkeypatch):
    newest, few = request.param
    monkeypatch.setattr(dialects, "PROBE", newest)
    monkeypatch.setattr(sqlite, "FEW", few)


@pytest.mark.usefixtures("systems", "probe")
@pytest.mark.sql
@settings(max_examples=examples(200), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drafts, edits, asked, viewers)
def test_database_answers_what_reading_everything_would(drafts, edits, asked, viewer):
    empty()
    documents = {number: made(number, *draft) for number, draft in enumerate(drafts)}
    index.put(documents.values())
    for number, draft in edits:
        if draft is None:
            for kind in TYPES:
                index.remove(kind, [f"{number:02}"])
            documents.pop(number, None)
        elif number in documents:
            # The kind is half of what a document is known by.
            changed = made(number, *draft[:4], documents[number].kind, *draft[5:])
            documents[number] = changed
            index.put([changed])
    text, tree = asked
    # Written in the order of their keys, which decides between two of one moment.
    in_order = sorted(documents.values(), key=lambda each: (each.kind, each.object_id))
    expected = naive.search(in_order, tree, viewer, TYPES)

    assert every_id(text, viewer, limit=3) == expected
    assert count(read(text), scopes=viewer).total == len(expected)
    assert sorted(every_id(text, viewer, limit=3, titles_first=False)) == sorted(expected)


def made(number, title, body, scope, days, kind, author, place, site, score):
    return Document(
        kind, f"{number:02}", scope, title, body, "/", NOON + timedelta(days=days), SOURCES[kind],
        Attributes(author, place, site, score),
    )  # fmt: skip


def every_id(query, viewer, limit, **given):
    found, cursor = [], None
    while True:
        page = find(query, scopes=viewer, limit=limit, before=cursor, **given)
        found += [hit.object_id for hit in page.items]
        if not page.next:
            return found
        cursor = page.next


def empty():
    SearchDocument.objects.all().delete()
    dialect().clear()
