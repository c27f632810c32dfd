"""Random documents and queries: the index answers what reading every document would answer, on any database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from watchbook.core.search import index
from watchbook.core.search.dialects import base, dialect
from watchbook.core.search.find import find
from watchbook.core.search.index import Document
from watchbook.core.search.models import SearchDocument
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
draft = st.tuples(text_of(6), text_of(24), scopes, st.integers(0, 3))
drafts = st.lists(draft, min_size=4, max_size=12)
edits = st.lists(st.tuples(st.integers(0, 5), st.none() | draft), max_size=4)
chunks = st.lists(st.tuples(st.booleans(), text_of(5, least=1)), min_size=1, max_size=3)
viewers = st.sampled_from([{"members"}, {"members", "user:1"}, {"members", "staff"}, {"staff"}])


@pytest.fixture(params=[2000, 3], ids=["all are recent", "few are recent"])
def probe(request, monkeypatch):
    monkeypatch.setattr(base, "PROBE", request.param)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drafts, edits, chunks, viewers)
def test_the_index_answers_what_reading_everything_would(probe, drafts, edits, chunks, viewer):
    empty()
    documents = {number: made(number, *draft) for number, draft in enumerate(drafts)}
    index.put(documents.values())
    for number, draft in edits:
        if draft is None:
            index.remove("thing", [f"{number:02}"])
            documents.pop(number, None)
        elif number in documents:
            documents[number] = made(number, *draft)
            index.put([documents[number]])
    query, terms = spell(chunks)

    expected = naive.search(list(documents.values()), terms, viewer) if terms else []
    assert every_id(query, viewer, limit=3) == expected


def made(number, title, body, scope, hours):
    return Document("thing", f"{number:02}", scope, title, body, "/", NOON + timedelta(hours=hours), "test")


def spell(chunks):
    """The query as typed, and the words it asks for."""
    typed, terms = [], []
    for is_phrase, chunk in chunks:
        words = naive.words_of(chunk)
        typed.append(f'"{chunk}"' if is_phrase else chunk)
        terms += ([words] if is_phrase else [[word] for word in words]) if words else []
    return " ".join(typed), terms


def every_id(query, viewer, limit):
    found, cursor = [], None
    while True:
        page = find(query, scopes=viewer, limit=limit, before=cursor)
        found += [hit.object_id for hit in page.items]
        if not page.next:
            return found
        cursor = page.next


def empty():
    SearchDocument.objects.all().delete()
    dialect().clear()
