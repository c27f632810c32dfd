"""Freshness at equal requests: pages that change at very different rates, read by three orders."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass
from datetime import timedelta

from watchbook.systems.pages import schedule

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Result:
    """How fresh the copies were: share of pages that were up to date, and hours until a change was seen."""

    fresh_share: float
    hours_late: float
    looks: int


@dataclass
class _Page:
    changes: list[float]
    has_lastmod: bool
    seen: int = 0
    at: int = 0
    last: float = 0.0
    observed: int = 0

    def read(self, now: float) -> list[float]:
        """Look at the page; returns how late each change is seen."""
        while self.at < len(self.changes) and self.changes[self.at] <= now:
            self.at += 1
        late = [now - moment for moment in self.changes[self.seen : self.at]]
        self.observed += bool(late)
        self.seen, self.last = self.at, now
        return late

    def stale(self, since: float, now: float) -> float:
        """Days of this span in which the copy was old."""
        first = next((moment for moment in self.changes[self.seen :] if moment <= now), None)
        return now - max(first, since) if first is not None else 0.0


def make_pages(count: int, days: int, seed: int) -> list[_Page]:
    """Most pages rarely change, a few several times a day; half of them say so in their lastmod."""
    chance = random.Random(seed)
    pages = []
    for _ in range(count):
        rate = min(0.01 * chance.paretovariate(0.7), 8.0)
        moments, moment = [], chance.expovariate(rate)
        while moment < days:
            moments.append(moment)
            moment += chance.expovariate(rate)
        pages.append(_Page(moments, chance.random() < 0.5))
    return pages


def simulate(order: str, *, count: int = 400, daily: int = 80, days: int = 60, seed: int = 1) -> Result:
    """Play one order: `round_robin`, `lastmod` (only pages whose lastmod changed) or `adaptive`."""
    pages = make_pages(count, days, seed)
    late: list[float] = []
    stale = looks = 0.0
    queue = [(number / count, number) for number in range(count)]
    heapq.heapify(queue)
    step = 1 / daily
    now = 0.0
    while now < days:
        number = _next(order, pages, queue, now)
        now += step
        if number is None:
            continue
        page = pages[number]
        before = page.last
        stale += page.stale(before, now)
        late += page.read(now)
        looks += 1
        if order == "adaptive":
            _plan(pages, queue, number, now, daily)
        elif order == "round_robin":
            heapq.heappush(queue, (now, number))
    stale += sum(page.stale(page.last, days) for page in pages)
    late += [days - moment for page in pages for moment in page.changes[page.seen :]]
    return Result(1 - stale / (count * days), 24 * sum(late) / max(len(late), 1), int(looks))


def _next(order: str, pages: list[_Page], queue: list[tuple[float, int]], now: float) -> int | None:
    """The page to read now: those with a new lastmod first, as the list says; then the order itself."""
    if order != "round_robin":
        for number, page in enumerate(pages):
            if page.has_lastmod and page.seen < len(page.changes) and page.changes[page.seen] <= now:
                return number
    if order == "lastmod":
        return None
    return heapq.heappop(queue)[1] if queue else None


def _plan(pages: list[_Page], queue: list[tuple[float, int]], number: int, now: float, daily: int) -> None:
    weights = [schedule.weight(page.observed, now) for page in pages]
    wait = schedule.interval(weights[number], sum(weights), daily) / DAY
    queue[:] = [entry for entry in queue if entry[1] != number]
    heapq.heapify(queue)
    heapq.heappush(queue, (now + wait, number))
