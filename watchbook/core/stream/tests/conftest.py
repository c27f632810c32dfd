from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.urls import get_resolver

from watchbook.base.testing.people import alice, bob, charlie, matrix, operator, signed_in
from watchbook.core import registry
from watchbook.core.registry import SearchKind, Source
from watchbook.core.stream.entries import Entry

__all__ = ["alice", "bob", "charlie", "matrix", "operator", "signed_in"]

NOON = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)


def entry(object_id: object, title: str = "", **given: Any) -> Entry:
    """A made-up entry; `hours` moves it in time."""
    hours = given.pop("hours", 0)
    fields: dict[str, Any] = {
        "source": "forum",
        "kind": "edited",
        "title": title or f"thing {object_id}",
        "summary": "",
        "url_path": f"/things/{object_id}",
        "scope": "members",
        "object_kind": "topic",
        "occurred_at": NOON + timedelta(hours=hours),
    }
    return Entry(object_id=str(object_id), **{**fields, **given})


def clip_of(kind: str, object_id: str, user: Any) -> Any:
    """What a system answers when it is asked for a clip."""
    from watchbook.core.stream.clip import Clip

    if kind != "topic" or object_id != "1":
        return None
    return Clip("topic", "1", "forum", "A topic", "<p>Text</p>", "Text", "https://example.com/1", NOON, "2")


def forum() -> Source:
    return Source(
        "forum",
        "Forum",
        "forum",
        search_kinds=(SearchKind("topic", "Topics"),),
        stream_kinds=(("edited", "Floor edited"), ("new", "New topic")),
        clip="watchbook.core.stream.tests.conftest:clip_of",
    )


@pytest.fixture
def systems(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two systems of our own, whatever else is installed."""
    get_resolver().url_patterns  # noqa: B018 - addresses are made from the installed systems, once
    made = (forum(), Source("maps", "Maps", "sitemap", stream_kinds=(("changed", "Map changed"),)))
    assert registry.jobs()  # remembered now: the made-up systems have none, and it is remembered once
    monkeypatch.setattr(registry, "sources", lambda: made)
