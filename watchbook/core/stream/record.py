"""Writing the stream: what a system tells in the transaction in which it happened."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from operator import gt
from typing import Any, NamedTuple

from watchbook.base import clock
from watchbook.base.store.rows import Columns
from watchbook.base.text import clean_text, cut
from watchbook.core.search.links import safe_link
from watchbook.core.stream.models import TITLE_LENGTH, StreamEntry

MAX_SUMMARY = 2000
MAX_DATA = 20_000
NAMES = ("source", "kind", "scope", "object_kind", "object_id", "event_key")
NOTHING: Mapping[str, Any] = {}
ROWS = Columns(StreamEntry, [*NAMES, "occurred_at", "created_at", "title", "summary", "url_path", "data"])


class Entry(NamedTuple):
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
    data: Mapping[str, Any] = NOTHING
    event_key: str = ""


def record(entries: Iterable[Entry]) -> None:
    """Add entries; one that is there already stays as it is. Works inside the caller's transaction."""
    now = clock.now()
    titles: dict[str, str] = {}
    ROWS.insert([_row(entry, now, titles) for entry in entries], pass_over=True)


def _row(entry: Entry, now: datetime, titles: dict[str, str]) -> tuple[Any, ...]:
    source, kind, title, summary, url_path, scope, object_kind, object_id, occurred_at, data, event_key = entry
    named = (source, kind, scope, object_kind, str(object_id), str(event_key))
    # A database that cuts silently would take two entries for one.
    if any(map(gt, map(len, named), _widths())):
        name = next(name for name, value in zip(NAMES, named, strict=True) if len(value) > ROWS.widths[name])
        raise ValueError(f"the {name} of a stream entry has at most {ROWS.widths[name]} characters")
    # Many entries at once are mostly those of one thing.
    if title not in titles:
        titles[title] = cut(" ".join(title.split()), TITLE_LENGTH)
    return (
        *named,
        occurred_at,
        now,
        titles[title],
        cut(summary, MAX_SUMMARY),
        safe_link(url_path)[:1000],
        _plain(data) if data else NOTHING,
    )


@cache
def _widths() -> tuple[int, ...]:
    return tuple(ROWS.widths[name] for name in NAMES)


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
