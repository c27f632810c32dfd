"""Attributes that systems give with their documents, and feeds of what the search finds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.security.sample_rows import furnish
from watchbook.base.testing.people import alice, client_of
from watchbook.core import registry
from watchbook.core.search import index, reindex
from watchbook.core.search.index import Document
from watchbook.core.search.models import SearchDocument
from watchbook.core.stream import feeds

__all__ = ["alice"]

pytestmark = pytest.mark.django_db


def test_reindexing_finds_the_attributes_that_were_stored(alice):
    """A document that a system wrote is as it was after reindexing."""
    furnish(alice)
    rows = list(SearchDocument.objects.all())
    assert len({row.source for row in rows}) >= 4
    changed = [row for row in rows if reindex.describe([row])]
    assert [f"{row} {row.author} {row.place} {row.site} {row.score}" for row in changed] == []


def test_every_system_with_documents_states_their_attributes():
    assert [each.slug for each in registry.sources() if each.search_kinds and not each.search_attributes] == []


@pytest.mark.django_db(transaction=True)
def test_feed_with_a_query_has_what_the_search_finds(alice):
    """Newest first, not titles first; what its owner may not see is not in it."""
    moment = datetime(2026, 3, 2, tzinfo=UTC)
    given = [("1", "members", "harbour", 1), ("2", "members", "-", 2), ("3", "staff", "harbour", 3)]
    documents = [
        Document("thing", key, scope, title, "harbour", "/", moment + timedelta(days=days), "test")
        for key, scope, title, days in given
    ]
    index.put(documents)
    _feed, plain = feeds.make(alice, name="Harbours", query="harbour -lighthouse")
    shown = client_of().get(f"/feeds/{plain}/stream.json").json()
    assert [item["title"] for item in shown["items"]] == ["-", "harbour"]
    answer = client_of(alice).post("/stream/feeds/", {"name": "Mine", "q": "title:harbour"})
    assert answer.status_code == 200
    assert [feed.query for feed in feeds.of(alice)] == ["title:harbour", "harbour -lighthouse"]
