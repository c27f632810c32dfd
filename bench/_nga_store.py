"""Floors from an answer's bytes to rows and versions, beside raw executemany of the same rows.

Posts are about 2 KB. First all floors are new; then every one is edited, which rewrites it, keeps a version and writes
activity. The raw side writes every row that the product wrote, read back and ready, with a transaction for each page,
as the product must have: it decodes, parses, renders, compares and asks nothing. Both take turns, some topics each, and
begin with an empty log of SQLite's, so that each pays for emptying what it wrote itself. What
counts is processor time, of this process and of the database's own process for it, since others use the machine too;
wall time is printed beside it. The bar is for rows with their versions: both rounds together, parsing included.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import _nga_raw
from standins.nga_board import NgaBoard, answers, dialect

TOPICS, PAGES_EACH = 96, 5
# SQLite empties its log when it has a thousand pages; this many topics are several times as much.
TOPICS_IN_A_TURN = 12
BAR, MOST_QUERIES = 0.40, 3
ROUNDS = ("new", "edited")
PARTS = ("parse", "store", "raw")
# Most of a long post is prose; a few of the board's own phrases with their tags are in the middle.
PROSE = "那天晚上我们打到最后一个首领，坦克的血线一直很稳，治疗也没有断过蓝，可是谁都没想到会在最后百分之一倒下。"


class Topics:
    """Topics with long posts, and their pages as the source prints them."""

    def __init__(self, count: int) -> None:
        self.board = NgaBoard()
        self.world = self.board.world
        self.tids = [self.board.life.topic(PAGES_EACH * 20 - 1) for _ in range(count)]
        self.write("原文：")

    def write(self, mark: str) -> None:
        """Every post again. Notes stay short, as they are on the site."""
        for tid in self.tids:
            for post in self.world.topics[tid].posts.values():
                words = self.board.life.words()
                text = words if post.parent is not None else f"{PROSE * 5}{words}\n{PROSE * 7}"
                self.world.edit(tid, post.pid, mark + text)

    def bodies(self, tid: int) -> list[bytes]:
        topic = self.world.topics[tid]
        pages = range(1, topic.pages + 1)
        data = [answers.topic_data(self.world, topic, page, self.board.dialect) for page in pages]
        return [dialect.as_11({"data": one, "encode": "gbk", "time": self.world.now}) for one in data]


class Clock:
    """Seconds of processor and of wall time, added up by name."""

    def __init__(self) -> None:
        from django.db import connection

        self.cpu: Counter[str] = Counter()
        self.wall: Counter[str] = Counter()
        self.server: Path | None = None
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_backend_pid()")
                self.server = Path(f"/proc/{cursor.fetchone()[0]}")

    @contextmanager
    def on(self, name: str) -> Iterator[None]:
        cpu, wall = self.spent(), time.perf_counter()
        yield
        self.cpu[name] += self.spent() - cpu
        self.wall[name] += time.perf_counter() - wall

    def spent(self) -> float:
        return time.process_time() + (_seconds_of(self.server) if self.server else 0.0)


def _seconds_of(process: Path) -> float:
    """Processor time of another process: in nanoseconds where the kernel counts them, else in ticks of 10 ms."""
    if (exact := process / "schedstat").exists():
        return int(exact.read_text().split()[0]) / 1e9
    ticks = (process / "stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def measure() -> dict[str, Any]:
    topics = Topics(TOPICS + 1)
    clock, floors = Clock(), Counter[str]()
    pairs = {tid: _pair(_read(topics.bodies(tid)[0])) for tid in topics.tids}
    first, *others = topics.tids
    for name in ROUNDS:
        # The first of its kind pays for imports and caches.
        _turn(name, [(topics.bodies(first), *pairs[first])], Clock())
        for at in range(0, len(others), TOPICS_IN_A_TURN):
            some = others[at : at + TOPICS_IN_A_TURN]
            floors[name] += _turn(name, [(topics.bodies(tid), *pairs[tid]) for tid in some], clock)
        topics.write("改后：")
    queries = _queries_of_an_unchanged_page(pairs[first][0], topics.bodies(first))
    topics.board.close()
    return _report(floors, clock, queries)


def _turn(name: str, topics: list[tuple[list[bytes], Any, Any]], clock: Clock) -> int:
    """Bodies, topic and twin of each: first all of them by the product, then the same rows raw."""
    _empty_log()
    for bodies, thread, _twin in topics:
        run, row = _run_of(thread)
        with clock.on(f"{name} parse"):
            pages = [_read(body) for body in bodies]
        with clock.on(f"{name} store"):
            _store(thread.pk, run, row, pages)
    written = [_nga_raw.ROWS_OF[name](thread.pk, twin.pk) for _bodies, thread, twin in topics]
    _empty_log()
    for pages in written:
        with clock.on(f"{name} raw"):
            _nga_raw.write(pages)
    statements = [statement for pages in written for page in pages for statement in page]
    return sum(len(rows) for statement, rows in statements if "INTO posts " in statement)


def _empty_log() -> None:
    from django.db import connection

    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _read(body: bytes) -> Any:
    from watchbook.systems.nga.parse.answer import read_topic

    return read_topic(body, content_type="text/javascript; charset=GBK")


def _pair(page: Any) -> tuple[Any, Any]:
    """A row for the topic as the list would have made it, and a twin for the raw rows."""
    from django.utils import timezone

    from watchbook.systems.nga.models import Forum, Thread

    now = timezone.now()
    forum, _ = Forum.objects.get_or_create(source_forum_id=7, defaults={"list_url": ""})
    own, twin = (
        Thread.objects.create(
            forum=forum, source_thread_id=tid, title=page.title, author_name="甲",
            title_prefix_text=next(iter(page.title_prefixes), None), crawl_backfill_next_page_number=1,
            crawl_page_total_last_seen=PAGES_EACH, thread_created_at=now, last_reply_at=now, reply_count_display=99,
        )
        for tid in (page.tid, page.tid + 1_000_000)
    )  # fmt: skip
    return own, twin


def _run_of(thread: Any) -> tuple[int, int]:
    from django.utils import timezone

    from watchbook.systems.nga.store.runs import begin_run, begin_thread

    now = timezone.now()
    run = begin_run(thread.forum, "manual", (now.date(), now.date()), now)
    return run.pk, begin_thread(run, thread, is_change=True, now=now).pk


def _store(thread_id: int, run: int, row: int, pages: list[Any]) -> None:
    """As a crawl does it: a transaction for each page."""
    from django.db import transaction
    from django.utils import timezone

    from watchbook.systems.nga.store.posts import store_page
    from watchbook.systems.nga.store.versions import PageReading

    for number, page in enumerate(pages, 1):
        goes_on = number + 1 if number < len(pages) else None
        reading = PageReading(thread_id, run, row, page, page.floors, goes_on)
        with transaction.atomic():
            store_page(reading, timezone.now())


def _queries_of_an_unchanged_page(thread: Any, bodies: list[bytes]) -> int:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    run, row = _run_of(thread)
    pages = [_read(body) for body in bodies]
    _store(thread.pk, run, row, pages)
    with CaptureQueriesContext(connection) as caught:
        _store(thread.pk, run, row, pages[-1:])
    return len([one for one in caught if not one["sql"].startswith(("BEGIN", "COMMIT"))])


def _report(floors: Counter[str], clock: Clock, queries: int) -> dict[str, Any]:
    for seconds in (clock.cpu, clock.wall):
        seconds.update({f"new and edited {part}": sum(seconds[f"{name} {part}"] for name in ROUNDS) for part in PARTS})
    floors["new and edited"] = sum(floors[name] for name in ROUNDS)
    rounds = {
        name: {"floors": count, "cpu": _speeds(name, count, clock.cpu), "wall": _speeds(name, count, clock.wall)}
        for name, count in floors.items()
    }
    reached, missed = rounds["new and edited"]["cpu"]["ratio"], []
    if reached < BAR:
        missed.append(f"parsing and storing floors is {reached:.0%} of raw executemany, the bar is {BAR:.0%}")
    if queries > MOST_QUERIES:
        missed.append(f"an unchanged page costs {queries} queries")
    return {"rounds": rounds, "unchanged_queries": queries, "missed": missed}


def _speeds(name: str, floors: int, seconds: Counter[str]) -> dict[str, float]:
    parse, store, raw = (seconds[f"{name} {part}"] for part in PARTS)
    found = {"parse": floors / parse, "store": floors / store, "both": floors / (parse + store), "raw": floors / raw}
    return {**found, "ratio": raw / (parse + store), "ratio_of_store_alone": raw / store}


def words_of(name: str, report: dict[str, Any]) -> str:
    lines = []
    for kind, found in report["rounds"].items():
        for measured in ("cpu", "wall"):
            at = found[measured]
            speeds = ", ".join(f"{part} {at[part]:,.0f}" for part in ("parse", "store", "both", "raw"))
            lines.append(
                f"{name}: {found['floors']:,} {kind} floors, by {measured} time, floors/s: {speeds}; parse and store"
                f" {at['ratio']:.0%} of raw, store alone {at['ratio_of_store_alone']:.0%}"
            )
    bars = f"bars: parse and store {BAR:.0%} by cpu time, {MOST_QUERIES} queries"
    return "\n".join([*lines, f"{name}: an unchanged page costs {report['unchanged_queries']} queries ({bars})"])
