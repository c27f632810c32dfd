"""Floors a second from an answer's bytes to rows, beside raw executemany of the very same rows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from standins.nga_board import NgaBoard, answers, dialect

TOPICS, PAGES_EACH = 40, 5
BAR, MOST_QUERIES = 0.40, 3
COLUMNS = (
    "thread_id", "source_post_id", "floor_number", "author_name", "author_source_user_id", "post_created_at",
    "content_html", "content_fingerprint_sha256", "is_deleted_by_source", "is_folded_by_source",
    "content_last_changed_at", "created_at", "updated_at",
)  # fmt: skip


def bodies() -> list[list[bytes]]:
    """Topics as the source prints them, page by page."""
    board = NgaBoard()
    made = []
    for _ in range(TOPICS + 1):
        tid = board.life.topic(PAGES_EACH * 20 - 1)
        topic = board.world.topics[tid]
        pages = range(1, topic.pages + 1)
        data = [answers.topic_data(board.world, topic, page, board.dialect) for page in pages]
        made.append([dialect.as_11({"data": one, "encode": "gbk", "time": board.world.now}) for one in data])
    board.close()
    return made


def measure() -> dict[str, Any]:
    from django.db import connection

    made = bodies()
    floors, seconds = 0, {}
    first = [_read(body) for body in made[0]]
    with timed(seconds, "parse"):
        read = [[_read(body) for body in topic] for topic in made[1:]]
    own, *threads = _threads([first, *read])
    _store(own, first)  # the first of its kind pays for imports and caches
    with timed(seconds, "store"):
        for thread, pages in zip(threads, read, strict=True):
            floors += _store(thread, pages)
    queries = _queries_of_an_unchanged_page(threads[0], read[0])
    with timed(seconds, "unchanged"):
        for thread, pages in zip(threads, read, strict=True):
            _store(thread, pages)
    rows = _rows(connection, threads, _twins(threads))
    with timed(seconds, "raw"):
        _raw(connection, rows)
    return _report(floors, sum(map(len, read)), queries, seconds)


def _report(floors: int, pages: int, queries: int, seconds: dict[str, float]) -> dict[str, Any]:
    whole = seconds["parse"] + seconds["store"]
    ratio = seconds["raw"] / whole
    missed = [] if ratio >= BAR else [f"storing is {ratio:.0%} of raw executemany, the bar is {BAR:.0%}"]
    missed += [] if queries <= MOST_QUERIES else [f"an unchanged page costs {queries} queries"]
    return {
        "floors": floors,
        "floors_per_second": {
            "parse": floors / seconds["parse"],
            "store": floors / seconds["store"],
            "parse and store": floors / whole,
            "raw executemany": floors / seconds["raw"],
        },
        "ratio": ratio,
        "ratio_of_store_alone": seconds["raw"] / seconds["store"],
        "unchanged_pages_per_second": pages / seconds["unchanged"],
        "unchanged_queries": queries,
        "missed": missed,
    }


@contextmanager
def timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - began


def _read(body: bytes) -> Any:
    from watchbook.sources.nga.parse import read_topic

    return read_topic(body, content_type="text/javascript; charset=GBK")


def _threads(read: list[list[Any]]) -> list[Any]:
    """A row for each topic as the list would have made it, and a twin of each for the raw rows."""
    from django.utils import timezone

    from watchbook.sources.nga.models import Forum, Thread

    now = timezone.now()
    forum, _ = Forum.objects.get_or_create(source_forum_id=7, defaults={"list_url": ""})
    rows = [
        Thread(
            forum=forum, source_thread_id=pages[0].tid + shift, title=pages[0].title, author_name="甲",
            title_prefix_text=next(iter(pages[0].title_prefixes), None), crawl_backfill_next_page_number=1,
            crawl_page_total_last_seen=len(pages), thread_created_at=now, last_reply_at=now, reply_count_display=99,
            created_at=now, updated_at=now,
        )
        for shift in (0, 1_000_000)
        for pages in read
    ]  # fmt: skip
    return list(Thread.objects.bulk_create(rows))[: len(read)]


def _store(thread: Any, pages: list[Any]) -> int:
    """As a crawl does it: a transaction for each page."""
    from django.db import transaction
    from django.utils import timezone

    from watchbook.sources.nga.store.floors import store_page
    from watchbook.sources.nga.store.records import PageReading

    stored, run, row = 0, *_run_of(thread)
    for number, page in enumerate(pages, 1):
        reading = PageReading(
            thread_id=thread.pk, crawl_run_id=run, run_thread_id=row, page=page, floors=page.floors,
            next_page=number + 1 if number < len(pages) else None,
        )  # fmt: skip
        with transaction.atomic():
            stored += store_page(reading, timezone.now()).new_count
    return stored


def _run_of(thread: Any) -> tuple[int, int]:
    from django.utils import timezone

    from watchbook.sources.nga.store.runs import begin_run, begin_thread

    now = timezone.now()
    run = begin_run(thread.forum, "manual", (now.date(), now.date()), now)
    return run.pk, begin_thread(run, thread, is_change=True, now=now).pk


def _queries_of_an_unchanged_page(thread: Any, pages: list[Any]) -> int:
    from django.db import connection, transaction
    from django.test.utils import CaptureQueriesContext
    from django.utils import timezone

    from watchbook.sources.nga.store.floors import store_page
    from watchbook.sources.nga.store.records import PageReading

    last = pages[-1]
    reading = PageReading(thread.pk, 1, 1, last, last.floors, None)
    with transaction.atomic(), CaptureQueriesContext(connection) as caught:
        store_page(reading, timezone.now())
    return len(caught)


def _twins(threads: list[Any]) -> dict[int, int]:
    """Other topics for the raw rows: the same table, the same constraints."""
    from watchbook.sources.nga.models import Thread

    tids = {thread.source_thread_id + 1_000_000: thread.pk for thread in threads}
    return {tids[other.source_thread_id]: other.pk for other in Thread.objects.filter(source_thread_id__in=tids)}


def _rows(connection: Any, threads: list[Any], twins: dict[int, int]) -> list[list[tuple[Any, ...]]]:
    """What was stored, page by page, under the other topics."""
    found = []
    with connection.cursor() as cursor:
        for thread in threads:
            cursor.execute(f"SELECT {', '.join(COLUMNS)} FROM posts WHERE thread_id = %s", [thread.pk])
            rows = [(twins[row[0]], *row[1:]) for row in cursor.fetchall()]
            found += [rows[at : at + 20] for at in range(0, len(rows), 20)]
    return found


def _raw(connection: Any, pages: list[list[tuple[Any, ...]]]) -> None:
    from django.db import transaction

    places = ", ".join(["%s"] * len(COLUMNS))
    statement = f"INSERT INTO posts ({', '.join(COLUMNS)}) VALUES ({places})"
    for rows in pages:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(statement, rows)


def words_of(name: str, report: dict[str, Any]) -> str:
    speeds = ", ".join(f"{what} {speed:,.0f}" for what, speed in report["floors_per_second"].items())
    return (
        f"{name}: {report['floors']:,} floors, floors/s: {speeds}\n"
        f"{name}: parse and store {report['ratio']:.0%} of raw (bar {BAR:.0%}), store alone"
        f" {report['ratio_of_store_alone']:.0%}; unchanged pages/s {report['unchanged_pages_per_second']:,.0f} with"
        f" {report['unchanged_queries']} queries each (bar {MOST_QUERIES})"
    )
