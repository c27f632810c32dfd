"""Writing the stream: what a system tells in the transaction in which it happened."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from watchbook.base import clock
from watchbook.base.store.rows import Columns
from watchbook.base.text import clean_text, cut
from watchbook.core.search.links import safe_link
from watchbook.core.stream.models import TITLE_LENGTH, StreamEntry

MAX_SUMMARY = 2000
MAX_DATA = 20_000
NAMES = ("source", "kind", "scope", "object_kind", "object_id", "event_key")
NOTHING: dict[str, Any] = {}
ROWS = Columns(StreamEntry, [*NAMES, "occurred_at", "created_at", "title", "summary", "url_path", "data"])


@dataclass(frozen=True)
class Entry:
    """One line of the log. `event_key` tells two happenings of one kind to one object apart."""

    source: str
    kind: str
    title: str
    summary: str
    url_path: str
    scope: str
    object_kind: str
    object_id: str
    occurred_at: datetime
    data: Mapping[str, Any] = field(default_factory=dict)
    event_key: str = ""


def record(entries: Iterable[Entry]) -> None:
    """Add entries; one that is there already stays as it is. Works inside the caller's transaction."""
    now = clock.now()
    ROWS.insert([_row(entry, now) for entry in entries], pass_over=True)


def _row(entry: Entry, now: datetime) -> tuple[Any, ...]:
    named = (entry.source, entry.kind, entry.scope, entry.object_kind, str(entry.object_id), str(entry.event_key))
    # A database that cuts silently would take two entries for one.
    for name, value in zip(NAMES, named, strict=True):
        if len(value) > ROWS.widths[name]:
            raise ValueError(f"the {name} of a stream entry has at most {ROWS.widths[name]} characters")
    return (
        *named,
        entry.occurred_at,
        now,
        cut(" ".join(entry.title.split()), TITLE_LENGTH),
        cut(entry.summary, MAX_SUMMARY),
        safe_link(entry.url_path)[:1000],
        _plain(entry.data) if entry.data else NOTHING,
    )


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """Facts that every database's JSON takes: no NUL, no lone surrogate, no NaN."""
    text = json.dumps(_clean(dict(data)), allow_nan=False, default=str)
    if len(text) > MAX_DATA:
        raise ValueError(f"the facts of a stream entry have at most {MAX_DATA} characters")
    plain: dict[str, Any] = json.loads(text)
    return plain


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {clean_text(str(key)): _clean(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(each) for each in value]
    return value
