"""What is asked about a topic and its stored floors before a page is written: one query each, in plain SQL."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from django.db import DEFAULT_DB_ALIAS, connections

from watchbook.base.store.rows import Columns, run
from watchbook.sources.nga.models import Thread

# What storing a page needs of its topic; anything else that is asked of it is read when it is asked.
THREAD = Columns(
    Thread,
    [
        "id", "forum_id", "source_thread_id", "title", "author_name", "thread_created_at", "is_digest",
        "crawl_page_total_last_seen", "crawl_backfill_next_page_number", "crawl_cursor_max_floor_number",
        "crawl_cursor_max_source_post_id",
    ],
)  # fmt: skip
# As Thread.is_mirror says it, which every address of the topic needs.
IS_MIRROR = "EXISTS (SELECT 1 FROM threads o WHERE o.source_thread_id = threads.source_thread_id AND o.id < threads.id)"
# The text, by far the largest, is read when needed.
FLOORS = """
SELECT p.id, p.source_post_id, p.floor_number, p.author_name, p.content_fingerprint_sha256, p.is_deleted_by_source,
    p.is_folded_by_source, a.reading_count, a.crawl_run_id, n.parent_source_post_id
FROM posts p LEFT JOIN post_absences a ON a.post_id = p.id
    LEFT JOIN note_parents n ON n.thread_id = p.thread_id AND n.source_post_id = p.source_post_id
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
    parent_post_id: int | None
    """The post under which it hangs, as far as is known; only notes do."""


def hold_thread(thread_id: int) -> Thread:
    """The topic's row, locked until the end of the transaction."""
    lock = " FOR UPDATE" if connections[DEFAULT_DB_ALIAS].features.has_select_for_update else ""
    found = THREAD.select(f"id = %s{lock}", [thread_id], also=IS_MIRROR)
    if not found:
        raise Thread.DoesNotExist(f"no topic has the row {thread_id}")
    *values, is_mirror = found[0]
    thread = Thread.from_db(DEFAULT_DB_ALIAS, THREAD.names, values)
    thread.is_mirror = bool(is_mirror)
    return thread


def floors(thread_id: int, span: range, numbers: Collection[int], pids: Collection[int]) -> dict[int, KnownFloor]:
    """Stored floors that have a number of the span or one of these numbers or post ids, by post id."""
    within = (span.start, span.stop - 1)
    wanted: list[tuple[str, Collection[int]]] = []
    if span:
        wanted.append(("p.floor_number BETWEEN %s AND %s", within))
    if beyond := set(numbers).difference(span):
        wanted.append((f"p.floor_number IN ({', '.join(['%s'] * len(beyond))})", beyond))
    if pids:
        # Most of them are in the span and need not be given twice.
        condition = f"p.source_post_id IN ({', '.join(['%s'] * len(pids))}) AND p.floor_number NOT BETWEEN %s AND %s"
        wanted.append((condition, (*pids, *within)))
    # Not by OR: SQLite would read all floors of the topic, which may be twenty thousand.
    statement = " UNION ALL ".join(FLOORS + condition for condition, _ in wanted)
    found = run(statement, [value for _, values in wanted for value in (thread_id, *values)])
    return {floor.source_post_id: floor for floor in map(KnownFloor._make, found)}
