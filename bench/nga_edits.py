"""Edits on old forum pages: how many are found, and how late, for a daily budget of requests.

Histories are made up: sixty days of a board whose posts are edited soon after they are written, some of them again and
again, and whose reserved posts are filled in later. The same histories for all: crawls alone, all pages one after the
other (fixed), and the pages with the most expected edits (adaptive, with the functions of the product). Bar: at each
budget adaptive finds at least as many edits as fixed, and sooner.
"""

from __future__ import annotations

import argparse
import heapq
import random
import statistics
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from bench.reddit_days import prepare

START = datetime(2026, 6, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
BUDGETS = (25, 50, 100, 200, 400, 800)
CRAWL_HOURS = 12


@dataclass(eq=False)
class Page:
    """Twenty posts: when the last was written, and the edits of each post in hours."""

    written: float
    edits: list[list[float]]
    reserved: dict[int, float]
    """Posts that reserve their place, with the hour at which their words are replaced."""
    read: float = 0.0
    times: list[float] = field(default_factory=list)

    def look(self, now: float) -> tuple[float, int, bool]:
        """What a reading shows: the newest event, how many posts carry an edit stamp, whether one is reserved."""
        last = [max((at for at in edits if at <= now), default=-1.0) for edits in self.edits]
        is_reserved = any(now < until for until in self.reserved.values())
        return max(self.written, *last), sum(at >= 0 for at in last), is_reserved


def history(days: int, topics: int, seed: int) -> list[Page]:
    chance = random.Random(seed)
    pages = []
    for _topic in range(days * topics):
        begin = chance.uniform(0, days * 24)
        is_guide = chance.random() < 0.03
        for number in range(max(1, min(60, round(chance.lognormvariate(0.6, 1.0))))):
            written = begin + number * chance.uniform(0.2, 6)
            page = Page(written, [], {})
            for post in range(20):
                page.edits.append(_edits(chance, page, post, is_guide=is_guide and number == post == 0))
            pages.append(page)
    return pages


def _edits(chance: random.Random, page: Page, post: int, *, is_guide: bool) -> list[float]:
    """Edit times of one post. Delays have heavy tails: the middle one after half an hour, some after weeks."""
    at = page.written - chance.uniform(0, 2)
    if is_guide:
        return sorted(at + chance.uniform(0, 45 * 24) for _ in range(chance.randint(4, 20)))
    if chance.random() < 0.008:
        filled = [at + chance.lognormvariate(2.5, 1.3) for _ in range(chance.randint(1, 5))]
        page.reserved[post] = min(filled)
        return sorted(filled)
    found = []
    while chance.random() < (0.05 if not found else 0.4):
        at += chance.lognormvariate(-0.7 if not found else 2.5, 2.0)
        found.append(at)
    return found


def crawls(page: Page) -> list[float]:
    """Runs that read this page anyway: the first after it was written, and one more where it was the last page."""
    first = (page.written // CRAWL_HOURS + 1) * CRAWL_HOURS
    return [first, first + CRAWL_HOURS] if hash(page.written) % 3 == 0 else [first]


def simulate(pages: list[Page], days: int, budget: int, chooser: Any) -> None:
    """Hour by hour: crawls, then this hour's part of the budget."""
    coming = [(at, index) for index, page in enumerate(pages) for at in crawls(page)]
    heapq.heapify(coming)
    for page in pages:
        page.times = []
    spent = 0.0
    for hour in range(days * 24):
        while coming and coming[0][0] <= hour:
            _at, index = heapq.heappop(coming)
            chooser.was_read(pages[index], hour)
            pages[index].times.append(hour)
        spent += budget / 24
        for page in chooser.choose(hour, int(spent)):
            spent -= 1
            chooser.was_read(page, hour)
            page.times.append(hour)
        spent = min(spent, budget)


class Fixed:
    """All stored pages, one after the other."""

    def __init__(self) -> None:
        self.queue: list[tuple[float, int, Page]] = []
        self.number = 0
        self.newest: dict[int, float] = {}

    def was_read(self, page: Page, now: float) -> None:
        self.number += 1
        self.newest[id(page)] = now
        heapq.heappush(self.queue, (now, self.number, page))

    def choose(self, now: float, most: int) -> list[Page]:
        found: list[Page] = []
        while self.queue and len(found) < most and self.queue[0][0] < now:
            at, _number, page = heapq.heappop(self.queue)
            if self.newest[id(page)] == at:
                found.append(page)
        return found


class Adaptive:
    """The product's own functions: due times, weights, expected edits."""

    def __init__(self) -> None:
        self.state: dict[Page, tuple[datetime, datetime, int, datetime]] = {}

    def was_read(self, page: Page, now: float) -> None:
        from watchbook.systems.nga.store import runs

        newest, edited, is_reserved = page.look(now)
        weight = runs.ORDINARY
        if edited or is_reserved:
            both = edited >= runs.LIVELY_EDITS or (edited and is_reserved)
            weight = runs.LIVELY if both else runs.LIKELY
        read_at, quiet = START + now * HOUR, START + min(newest, now) * HOUR
        self.state[page] = (read_at, quiet, weight, runs.next_reading(read_at, quiet, weight))

    def choose(self, now: float, most: int) -> list[Page]:
        from watchbook.systems.nga.store import runs

        moment = START + now * HOUR
        due = [(page, kept) for page, kept in self.state.items() if kept[3] <= moment]
        due.sort(key=lambda each: -runs.expected_edits(*each[1][:3], moment))
        return [page for page, _kept in due[:most]]


@dataclass(frozen=True)
class Result:
    edits: int
    kept: int
    delays: tuple[float, ...]
    requests: float

    def line(self, name: str) -> str:
        delays = sorted(self.delays)
        late = delays[int(len(delays) * 0.9)] if delays else 0.0
        middle = statistics.median(delays) if delays else 0.0
        return (
            f"  {name:9} {self.requests:6.0f} requests/day  {self.kept / self.edits:6.1%} of edits kept"
            f"  delay: median {middle:6.1f} h, mean {statistics.fmean(delays):6.1f} h, p90 {late:7.1f} h"
        )


def judge(pages: list[Page], days: int) -> Result:
    """An edit is kept if a reading comes before the next edit of its post. Only edits after the first reading count."""
    edits, delays, runs = 0, [], 0
    end = days * 24.0
    for page in pages:
        times = sorted(page.times)
        runs += len(times)
        for post in page.edits:
            for at, following in pairwise([*post, end]):
                if not times or at < times[0] or at >= end - 24:
                    continue
                edits += 1
                seen = next((time for time in times if time >= at), None)
                if seen is not None and seen < following:
                    delays.append(seen - at)
    first = sum(len(crawls(page)) for page in pages)
    return Result(edits, len(delays), tuple(delays), (runs - first) / days)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--topics", type=int, default=40, help="new topics a day")
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    prepare()
    is_good = True
    for seed in range(1, given.seeds + 1):
        pages = history(given.days, given.topics, seed)
        print(f"history {seed}: {given.days} days, {len(pages):,} pages")
        simulate(pages, given.days, 0, Fixed())
        none = judge(pages, given.days)
        print(f"  crawls alone: {none.kept} of {none.edits} later edits kept")
        for budget in BUDGETS:
            print(f" budget {budget} a day")
            found = {}
            for name, chooser in (("fixed", Fixed()), ("adaptive", Adaptive())):
                simulate(pages, given.days, budget, chooser)
                found[name] = judge(pages, given.days)
                print(found[name].line(name), flush=True)
            mean = {name: statistics.fmean(one.delays) for name, one in found.items()}
            is_good &= found["adaptive"].kept >= found["fixed"].kept and mean["adaptive"] <= mean["fixed"]
    print(f"  bar: {'met' if is_good else 'MISSED'}")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
