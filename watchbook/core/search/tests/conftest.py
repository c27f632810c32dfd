from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.urls import get_resolver

from watchbook.base.testing.people import alice, bob, charlie, matrix, operator, signed_in
from watchbook.core import registry
from watchbook.core.registry import Attributes, SearchKind, Source
from watchbook.core.search import index
from watchbook.core.search.index import Document

__all__ = ["alice", "bob", "charlie", "matrix", "operator", "signed_in"]

NOON = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)


def document(object_id: object, title: str = "", body: str = "", **given: Any) -> Document:
    """A made-up document; `hours` moves it in time, attributes may be given by their names."""
    hours = given.pop("hours", 0)
    named = {name: given.pop(name) for name in ("author", "place", "site", "score") if name in given}
    fields: dict[str, Any] = {
        "kind": "topic",
        "scope": "members",
        "url_path": f"/things/{object_id}",
        "occurred_at": NOON + timedelta(hours=hours),
        "source": "forum",
        "attributes": Attributes(**named),
    }
    return Document(object_id=str(object_id), title=title, body=body, **{**fields, **given})


@pytest.fixture
def put(db: None) -> Any:
    """Put one document."""
    return lambda *args, **given: index.put([document(*args, **given)])


@pytest.fixture
def systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two systems of our own, whatever else is installed."""
    get_resolver().url_patterns  # noqa: B018 - addresses are made from the installed systems, once
    made = (
        Source(
            "forum",
            "Forum",
            "forum",
            search_kinds=(SearchKind("topic", "Topics", ("subject",)), SearchKind("floor", "Floors")),
        ),
        Source("shelf", "Shelf", "library", search_kinds=(SearchKind("page", "Pages"),)),
    )
    assert registry.jobs()  # remembered now: the made-up systems have none, and it is remembered once
    monkeypatch.setattr(registry, "sources", lambda: made)
