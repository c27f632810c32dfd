"""Noise: pages whose date moves at nearly every check, and dates that a site puts on many pages at once.

The history of a page is one number: a leading 1 and then one bit per check, the newest last, seven at most. It is
kept only for pages that changed within those seven checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from watchbook.sources.sitemaps.parse.lastmod import instant_text
from watchbook.sources.sitemaps.parse.lines import key_for

CHECKS = 7
LEAST_CHECKS = 5
ALWAYS_SHARE = 0.8
RESTAMP_LEAST = 20
RESTAMP_SHARE = 0.5
UNKNOWN = 1


def push(history: int, changed: bool, *, unchanged_before: int = 0) -> int:
    """The history after one more check, and after the unchanged ones that nobody wrote down."""
    for bit in (*(False,) * min(unchanged_before, CHECKS), changed):
        history = history << 1 | bit
        if history >> (CHECKS + 1):
            history = 1 << CHECKS | history & ((1 << CHECKS) - 1)
    return history


def always_changing(history: int) -> bool:
    """Changed in at least 80 % of the last seven checks, and at least five are known."""
    checks = history.bit_length() - 1
    return checks >= LEAST_CHECKS and (history.bit_count() - 1) >= ALWAYS_SHARE * checks


def advance(
    histories: Iterable[tuple[str, int]], modified: Iterable[str], *, unchanged_before: int = 0
) -> Iterator[tuple[str, int, bool]]:
    """(URL, new history, changed now) for every page worth remembering. All sides are sorted as lists are."""
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
class Restamp:
    """Many pages got the same date in one check: one line instead of many."""

    lastmod: str
    count: int
    total: int

    def covers(self, lastmod: str | None) -> bool:
        return bool(lastmod) and _value(lastmod or "") == _value(self.lastmod)


def find_restamp(new_lastmods: Callable[[], Iterable[str | None]]) -> Restamp | None:
    """The date that at least half of the modified pages, and at least 20, were given. Asks for the dates twice."""
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
    if not value or counts[value] < max(RESTAMP_LEAST, RESTAMP_SHARE * total):
        return None
    return Restamp(written[value], counts[value], total)


def _vote(candidates: dict[bytes, int], value: bytes) -> None:
    """Keeps every value that more than a third can have, in two places instead of one per value."""
    if value in candidates or len(candidates) < 2:
        candidates[value] = candidates.get(value, 0) + 1
        return
    for other in list(candidates):
        candidates[other] -= 1
        if not candidates[other]:
            del candidates[other]


def _value(lastmod: str) -> bytes:
    return instant_text(lastmod.encode())
