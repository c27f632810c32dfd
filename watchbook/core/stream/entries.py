"""Entries of the activity log: recorded by systems, listed by day, deleted when they are old."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import groupby
from operator import gt
from typing import Any, NamedTuple

from watchbook.base import clock
from watchbook.base.store.rows import Columns
from watchbook.base.text import clean_text, cut, safe_link
from watchbook.core import registry
from watchbook.core.jobs.runner import NOTHING_TO_DO, JobContext, Outcome
from watchbook.core.stream import clip, options, reading
from watchbook.core.stream.models import TITLE_LENGTH, StreamEntry, StreamEntryQuerySet
from watchbook.kit import formatting

MAX_SUMMARY = 2000
MAX_DATA = 20_000
NAMES = ("source", "kind", "scope", "object_kind", "object_id", "event_key")
NOTHING: Mapping[str, Any] = {}
ROWS = Columns(StreamEntry, [*NAMES, "occurred_at", "created_at", "title", "summary", "url_path", "data"])


class Entry(NamedTuple):
    """One line of the log. `event_key` separates two events of one kind and object."""

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
    # Many entries are mostly about one item.
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


@dataclass(frozen=True)
class ListedEntry:
    """An entry as it is shown. `url` is empty without a page, `save_url` when it cannot be saved to the library."""

    entry: StreamEntry
    icon: str
    kind: str
    url: str
    save_url: str


@dataclass(frozen=True)
class Day:
    title: str
    entries: tuple[ListedEntry, ...]


def by_day(entries: Iterable[StreamEntry]) -> list[Day]:
    """In the order given, under the days of the reader."""
    days = groupby(listed(entries), key=lambda each: formatting.local(each.entry.occurred_at).date())
    return [Day(formatting.log_heading(day), tuple(group)) for day, group in days]


def listed(entries: Iterable[StreamEntry]) -> Iterable[ListedEntry]:
    """Add to each entry what its row shows: icon, title of its kind, address, and where to save it."""
    icons, titles, clippable = registry.icons(), registry.stream_kind_titles(), clip.clippable_kinds()
    for entry in entries:
        # An entry without a title was erased: there is nothing to save.
        can_be_saved = bool(entry.title) and entry.object_kind in clippable
        yield ListedEntry(
            entry,
            icons.get(entry.source, "stream"),
            titles.get((entry.source, entry.kind), entry.kind),
            safe_link(entry.url_path),
            clip.clip_url(entry.object_kind, entry.object_id) if can_be_saved else "",
        )


BATCH = 1000


def delete_rows(rows: StreamEntryQuerySet) -> int:
    """Delete entries with the marks of their readers. Returns the number of entries."""
    return rows.delete()[1].get(StreamEntry._meta.label, 0)


def clean_old_entries(ctx: JobContext) -> Outcome:
    """Delete from the oldest row on, until one is young enough; then move the watermarks of the readers."""
    reading.compact_all(ctx)
    if not options.KEEP_DAYS.value:
        return NOTHING_TO_DO
    before = ctx.now - timedelta(days=options.KEEP_DAYS.value)
    removed = 0
    while True:
        rows = list(StreamEntry.objects.order_by("pk").values_list("pk", "created_at")[:BATCH])
        old = [pk for pk, created_at in rows if created_at < before]
        if old:
            with ctx.writing():
                removed += delete_rows(StreamEntry.objects.filter(pk__in=old))
            ctx.report(removed=removed)
        if len(old) < BATCH:
            return Outcome("done", {"removed": removed}) if removed else NOTHING_TO_DO
