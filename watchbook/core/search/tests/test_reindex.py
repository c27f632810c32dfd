"""Documents from before an upgrade get their attributes from the systems."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import transaction

from watchbook.base import clock
from watchbook.base.testing.pages import squeezed
from watchbook.base.testing.people import client_of
from watchbook.core import registry
from watchbook.core.jobs.runner import run_now
from watchbook.core.registry import Attributes
from watchbook.core.search import index, reindex
from watchbook.core.search.find import find
from watchbook.core.search.models import Reindexing, SearchDocument
from watchbook.core.search.tests.conftest import document

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("systems")]


def described(kind, ids):
    """What the made-up system says; of number 3 it knows nothing any more."""
    return {each: Attributes(author=f"Author {each}", place="7", score=int(each)) for each in ids if each != "3"}


@pytest.fixture
def old(monkeypatch):
    """Five documents without attributes, as an older version left them."""
    index.put([document(number, f"harbour {number}") for number in range(5)])
    made = tuple(replace(each, search_attributes=f"{__name__}:described") for each in registry.sources())
    monkeypatch.setattr(registry, "sources", lambda: made)
    Reindexing.objects.create(last_id=SearchDocument.objects.last_id())


def ids(query):
    return sorted(hit.object_id for hit in find(query, scopes=["members"]).items)


def test_old_documents_answer_words_until_they_are_reindexed(old, alice, monkeypatch):
    assert (ids("harbour"), ids('author:"author 1"')) == (["0", "1", "2", "3", "4"], [])
    shown = squeezed(client_of(alice).get("/search/", {"q": "harbour"}).content.decode())
    assert "0% reindexed: older items match words only until the end" in shown

    monkeypatch.setattr(reindex, "BATCH", 2)
    before = dict(SearchDocument.objects.values_list("object_id", "indexed_at"))
    assert reindex.is_behind(clock.now())
    run_now("search.reindex")

    assert (ids("harbour"), ids('author:"author 1"')) == (["0", "1", "2", "3", "4"], ["1"])
    assert ids("in:forum/7 score>=2") == ["2", "4"]
    assert dict(SearchDocument.objects.values_list("object_id", "indexed_at")) == before
    assert not reindex.is_behind(clock.now())
    assert "reindexed" not in client_of(alice).get("/search/", {"q": "harbour"}).content.decode()


def test_interrupted_run_continues_where_it_stopped(old, monkeypatch):
    monkeypatch.setattr(reindex, "BATCH", 2)
    calls = []

    def failing(rows):
        calls.append([row.object_id for row in rows])
        if len(calls) == 2:
            raise ZeroDivisionError
        return index.describe(rows, {})

    monkeypatch.setattr(reindex, "describe", failing)
    run_now("search.reindex")
    first = reindex.progress()
    run_now("search.reindex")
    assert first is not None
    assert calls[1] == calls[2]
    assert reindex.progress() is None
    assert sum(map(len, calls[:1] + calls[2:])) == 5


def test_by_hand_all_documents_are_asked_for_again(old):
    Reindexing.objects.all().delete()
    run_now("search.reindex")
    assert ids('author:"author 1"') == ["1"]


def test_erased_author_is_not_found_and_the_text_is(old):
    run_now("search.reindex")
    with transaction.atomic():
        index.erase_authors("topic", ["1"])
    assert ids('author:"author 1"') == []
    assert ids("harbour in:forum/7 score=1") == ["1"]
    assert "author 1" not in str(list(SearchDocument.objects.values_list("author", flat=True)))
