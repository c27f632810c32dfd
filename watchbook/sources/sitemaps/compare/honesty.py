"""How far a site's modification dates can be believed: 100 when they move with real edits only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from watchbook.sources.sitemaps.parse.lastmod import read_lastmod

_CLOCK_SLACK = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class LastmodFacts:
    """What is known about the dates of a site: the newest list, and the modifications of late checks."""

    given: int = 0
    unreadable: int = 0
    in_future: int = 0
    modified: int = 0
    always_changing: int = 0
    restamped: int = 0
    backwards: int = 0


def count_lastmods(lastmods: Iterable[str], *, now: datetime) -> LastmodFacts:
    """The facts that the newest list alone tells. A day of slack, for zones and clocks."""
    latest = int((now + _CLOCK_SLACK).timestamp()) * 10**9
    given = unreadable = in_future = 0
    for lastmod in filter(None, lastmods):
        given += 1
        moment = read_lastmod(lastmod)
        unreadable += moment is None
        in_future += moment is not None and moment.nanoseconds > latest
    return LastmodFacts(given=given, unreadable=unreadable, in_future=in_future)


def lastmod_honesty(facts: LastmodFacts) -> int | None:
    """0 to 100: the share of believable dates times the share of believable modifications. None without dates."""
    if not facts.given:
        return None
    believable = (facts.given - facts.unreadable - facts.in_future) / facts.given
    noise = facts.always_changing + facts.restamped + facts.backwards
    genuine = 1 - min(1.0, noise / facts.modified) if facts.modified else 1.0
    return round(100 * max(0.0, believable) * genuine)
