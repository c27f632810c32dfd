"""Filters that are links: pressed once they narrow the list, pressed again they let go."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.http import QueryDict
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.clock import SHANGHAI
from watchbook.core.ui.paging import with_values
from watchbook.sources.nga.finding import Wanted

# A filter begins a new list: no place of the old one is kept.
WINDOW_DAYS = 3


@dataclass(frozen=True)
class Chip:
    title: str
    query: str
    is_on: bool


def chips(wanted: Wanted, asked: QueryDict) -> list[Chip]:
    flags = {
        "pinned": _("Pinned"),
        "digest": _("Digest"),
        "truncated": _("Backfilling"),
        "gaps": _("Has gaps"),
        "deleted": _("Deleted by source"),
        "skipped": _("Over 1,000 pages"),
    }
    found = [_flag(name, title, getattr(wanted, name), asked) for name, title in flags.items()]
    return [*found, _window(wanted, asked), *_named(wanted, asked)]


def _flag(name: str, title: str, is_on: bool, asked: QueryDict) -> Chip:
    return Chip(title, with_values(asked, **{name: "" if is_on else "1"}), is_on)


def _window(wanted: Wanted, asked: QueryDict) -> Chip:
    """The natural days of the crawl, today among them."""
    first = clock.now().astimezone(SHANGHAI).date() - timedelta(days=WINDOW_DAYS - 1)
    is_on = wanted.since == first and wanted.until is None
    return Chip(
        _("Posted in the last 3 days"), with_values(asked, since="" if is_on else first.isoformat(), until=""), is_on
    )


def _named(wanted: Wanted, asked: QueryDict) -> list[Chip]:
    """What was chosen by a word in a row, so that it can be let go."""
    given = {"prefix": wanted.prefix, "author": wanted.author, "author_id": wanted.author_id}
    words = {"prefix": "[%s]", "author": "%s", "author_id": "uid %s"}
    return [Chip(words[name] % value, with_values(asked, **{name: ""}), True) for name, value in given.items() if value]
