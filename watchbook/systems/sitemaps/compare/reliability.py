"""Which changes count: patterns of URLs to leave out, frequently changing URLs, bulk updates of dates.

Pure: no Django, no network, no clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median

from watchbook.systems.sitemaps.parse.lastmod import instant_text, read_lastmod
from watchbook.systems.sitemaps.parse.lists import key_for

_ORIGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*://[^/?#]*")


@dataclass(frozen=True, slots=True)
class Pattern:
    on_path: bool
    pieces: tuple[str, ...]
    to_end: bool

    @classmethod
    def of(cls, text: str) -> Pattern:
        to_end = text.endswith("$")
        return cls(text.startswith("/"), tuple(text.removesuffix("$").split("*")), to_end)

    def matches(self, url: str) -> bool:
        text = _ORIGIN.sub("", url, count=1) or "/" if self.on_path else url
        first, *others = self.pieces
        if not text.startswith(first):
            return False
        at = len(first)
        if not others:
            return not self.to_end or at == len(text)
        last = others.pop() if self.to_end else ""
        for piece in others:
            found = text.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return not self.to_end or (text.endswith(last) and len(text) - len(last) >= at)


@dataclass(frozen=True, slots=True)
class Patterns:
    """URL filter: at least one of `include` (all if empty) and none of `exclude` must match."""

    include: tuple[Pattern, ...] = ()
    exclude: tuple[Pattern, ...] = ()

    @classmethod
    def of(cls, include: Iterable[str] = (), exclude: Iterable[str] = ()) -> Patterns:
        return cls(_read(include), _read(exclude))

    def matches(self, url: str) -> bool:
        if self.include and not any(pattern.matches(url) for pattern in self.include):
            return False
        return not any(pattern.matches(url) for pattern in self.exclude)

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude)


def _read(texts: Iterable[str]) -> tuple[Pattern, ...]:
    return tuple(Pattern.of(text.strip()) for text in texts if text.strip())


LEAST_REMOVED = 20
SHARE_OF_USUAL = 0.30
SHARE_OF_KNOWN = 0.50
COUNTS_READ = 5
LEAST_COUNTS = 3


def is_suspect(removed: int, known: int, previous_counts: Sequence[int] = (), *, left: int | None = None) -> bool:
    """Decide whether a removal must be confirmed by a second check.

    `known` is how many pages were listed before, `left` how many are listed now, `previous_counts` the counts of
    earlier checks, oldest first. More than 30 % of the usual number or 50 % of the known one, and at least 20; and
    always when nothing is left.
    """
    remaining = known - removed if left is None else left
    if known > 0 and removed > 0 and remaining <= 0:
        return True
    if removed < LEAST_REMOVED:
        return False
    recent = list(previous_counts)[-COUNTS_READ:]
    usual = median(recent) if len(recent) >= LEAST_COUNTS else known
    return removed > SHARE_OF_USUAL * usual or removed > SHARE_OF_KNOWN * known


CHECKS = 7
LEAST_CHECKS = 5
ALWAYS_SHARE = 0.8
BULK_DATE_LEAST = 20
BULK_DATE_SHARE = 0.5
UNKNOWN = 1


def push(history: int, changed: bool, *, unchanged_before: int = 0) -> int:
    """Return the history after one more check, and after unrecorded unchanged checks."""
    for bit in (*(False,) * min(unchanged_before, CHECKS), changed):
        history = history << 1 | bit
        if history >> (CHECKS + 1):
            history = 1 << CHECKS | history & ((1 << CHECKS) - 1)
    return history


def always_changing(history: int) -> bool:
    """Whether the URL changed in at least 80% of its last 7 checks, with at least 5 known."""
    checks = history.bit_length() - 1
    return checks >= LEAST_CHECKS and (history.bit_count() - 1) >= ALWAYS_SHARE * checks


def advance(
    histories: Iterable[tuple[str, int]], modified: Iterable[str], *, unchanged_before: int = 0
) -> Iterator[tuple[str, int, bool]]:
    """Yield (URL, new history, changed now) for every URL to remember. All inputs are sorted."""
    for url, history, changed in _joined(histories, modified):
        now = push(history, changed, unchanged_before=unchanged_before)
        if now.bit_count() > 1:
            yield url, now, changed


def _joined(histories: Iterable[tuple[str, int]], modified: Iterable[str]) -> Iterator[tuple[str, int, bool]]:
    known = iter(histories)
    page = next(known, None)
    for url in modified:
        key = key_for(url)
        while page is not None and key_for(page[0]) < key:
            yield *page, False
            page = next(known, None)
        if page is not None and page[0] == url:
            yield *page, True
            page = next(known, None)
        else:
            yield url, UNKNOWN, True
    while page is not None:
        yield *page, False
        page = next(known, None)


@dataclass(frozen=True, slots=True)
class BulkDateUpdate:
    """One date that many URLs received in one check."""

    lastmod: str
    count: int
    total: int

    def covers(self, lastmod: str | None) -> bool:
        return bool(lastmod) and _value(lastmod or "") == _value(self.lastmod)


def find_bulk_date(new_lastmods: Callable[[], Iterable[str | None]]) -> BulkDateUpdate | None:
    """Find the date of at least half of the modified URLs (and at least 20). Reads the dates twice."""
    candidates: dict[bytes, int] = {}
    total = 0
    for lastmod in new_lastmods():
        total += 1
        _vote(candidates, _value(lastmod or ""))
    counts = dict.fromkeys(candidates, 0)
    written: dict[bytes, str] = {}
    for lastmod in new_lastmods():
        value = _value(lastmod or "")
        if value in counts:
            counts[value] += 1
            written.setdefault(value, lastmod or "")
    value = max(counts, key=lambda candidate: (counts[candidate], candidate), default=b"")
    if not value or counts[value] < max(BULK_DATE_LEAST, BULK_DATE_SHARE * total):
        return None
    return BulkDateUpdate(written[value], counts[value], total)


def _vote(candidates: dict[bytes, int], value: bytes) -> None:
    """Keep every value that more than a third of the URLs can have, with two counters."""
    if value in candidates or len(candidates) < 2:
        candidates[value] = candidates.get(value, 0) + 1
        return
    for other in list(candidates):
        candidates[other] -= 1
        if not candidates[other]:
            del candidates[other]


def _value(lastmod: str) -> bytes:
    return instant_text(lastmod.encode())


_CLOCK_SLACK = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class LastmodFacts:
    """Facts about the dates of a site: the current list and the modifications of recent checks."""

    given: int = 0
    unreadable: int = 0
    in_future: int = 0
    modified: int = 0
    always_changing: int = 0
    restamped: int = 0
    backwards: int = 0


def count_lastmods(lastmods: Iterable[str], *, now: datetime) -> LastmodFacts:
    """Count the dates of a list: given, unreadable, in the future (with one day of tolerance)."""
    latest = int((now + _CLOCK_SLACK).timestamp()) * 10**9
    given = unreadable = in_future = 0
    for lastmod in filter(None, lastmods):
        given += 1
        moment = read_lastmod(lastmod)
        unreadable += moment is None
        in_future += moment is not None and moment.nanoseconds > latest
    return LastmodFacts(given=given, unreadable=unreadable, in_future=in_future)


def lastmod_reliability(facts: LastmodFacts) -> int | None:
    """Return 0 to 100: share of valid dates times share of genuine modifications; None without dates."""
    if not facts.given:
        return None
    believable = (facts.given - facts.unreadable - facts.in_future) / facts.given
    noise = facts.always_changing + facts.restamped + facts.backwards
    genuine = 1 - min(1.0, noise / facts.modified) if facts.modified else 1.0
    return round(100 * max(0.0, believable) * genuine)
