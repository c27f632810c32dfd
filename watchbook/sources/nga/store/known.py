"""What is asked about a topic and its stored floors before a page is written: one query each, in plain SQL."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from django.db import DEFAULT_DB_ALIAS, connections

from watchbook.base.store.rows import Columns
from watchbook.sources.nga.models import Thread

THREAD = Columns(Thread, [field.attname for field in Thread._meta.concrete_fields])
# The text, by far the largest, is read when needed.
FLOORS = """
SELECT p.id, p.source_post_id, p.floor_number, p.author_name, p.content_fingerprint_sha256, p.is_deleted_by_source,
    p.is_folded_by_source, a.reading_count, a.crawl_run_id
FROM posts p LEFT JOIN post_absences a ON a.post_id = p.id
WHERE p.thread_id = %s AND """


class KnownFloor(NamedTuple):
    """A stored floor, and how often whole readings of its page did not show it."""

    pk: int
    source_post_id: int
    floor_number: int
    author_name: str
    content_fingerprint_sha256: str
    is_deleted_by_source: bool
    is_folded_by_source: bool
    absent_count: int | None
    """None: it was there when its page was last read."""
    absent_run_id: int | None


def hold_thread(thread_id: int) -> Thread:
    """The topic's row, locked until the end of the transaction."""
    lock = " FOR UPDATE" if connections[DEFAULT_DB_ALIAS].features.has_select_for_update else ""
    found = THREAD.select(f"id = %s{lock}", [thread_id])
    if not found:
        raise Thread.DoesNotExist(f"no topic has the row {thread_id}")
    return Thread.from_db(DEFAULT_DB_ALIAS, THREAD.names, found[0])


def floors(thread_id: int, span: range, numbers: Collection[int], pids: Collection[int]) -> dict[int, KnownFloor]:
    """Stored floors that have a number of the span or one of these numbers or post ids, by post id."""
    wanted: list[tuple[str, Collection[int]]] = []
    if span:
        wanted.append(("p.floor_number BETWEEN %s AND %s", (span.start, span.stop - 1)))
    for column, named in (("floor_number", set(numbers) - set(span)), ("source_post_id", pids)):
        if named:
            wanted.append((f"p.{column} IN ({', '.join(['%s'] * len(named))})", named))
    # Not by OR: SQLite would read all floors of the topic, which may be twenty thousand.
    statement = " UNION ALL ".join(FLOORS + condition for condition, _ in wanted)
    with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
        cursor.execute(statement, [value for _, values in wanted for value in (thread_id, *values)])
        found = [KnownFloor._make(row) for row in cursor.fetchall()]
    return {floor.source_post_id: floor for floor in found}
