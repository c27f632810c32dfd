"""Entries as lines of a log, for the stream and the home page: the words of their system, and where to file them.

Asks the database nothing, however many there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from watchbook.core.search.links import safe_link
from watchbook.core.stream import clip, kinds
from watchbook.core.stream.models import StreamEntry
from watchbook.core.ui import moments


@dataclass(frozen=True)
class Line:
    """An entry as it is shown. `url` is empty when it leads nowhere, `filing` when it cannot be filed."""

    entry: StreamEntry
    icon: str
    kind: str
    url: str
    filing: str


@dataclass(frozen=True)
class Day:
    title: str
    lines: tuple[Line, ...]


def by_day(entries: Iterable[StreamEntry]) -> list[Day]:
    """In the order given, under the days of the reader."""
    days = groupby(_lines(entries), key=lambda line: moments.local(line.entry.occurred_at).date())
    return [Day(moments.log_heading(day), tuple(group)) for day, group in days]


def _lines(entries: Iterable[StreamEntry]) -> Iterable[Line]:
    icons, titles, fileable = kinds.icons(), kinds.titles(), clip.fileable_kinds()
    for entry in entries:
        # Without a title its text was taken away, at the source or by us: there is nothing left to file.
        can_be_filed = bool(entry.title) and entry.object_kind in fileable
        yield Line(
            entry,
            icons.get(entry.source, "stream"),
            titles.get((entry.source, entry.kind), entry.kind),
            safe_link(entry.url_path),
            clip.filing_address(entry.object_kind, entry.object_id) if can_be_filed else "",
        )
