"""The raw side of the store's measure: rows that the product wrote, read back and written again for another topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

POST = (
    "thread_id", "source_post_id", "floor_number", "author_name", "author_source_user_id", "post_created_at",
    "content_html", "content_fingerprint_sha256", "is_deleted_by_source", "is_folded_by_source",
    "content_last_changed_at", "created_at", "updated_at",
)  # fmt: skip
CHANGED = (
    "content_html", "content_fingerprint_sha256", "is_deleted_by_source", "is_folded_by_source",
    "content_last_changed_at", "updated_at",
)  # fmt: skip
REVISION = (
    "post_id", "revision_created_at", "source_edited_at", "content_html", "content_fingerprint_sha256",
    "change_detected_reason", "crawl_run_thread_id",
)  # fmt: skip
PAGE = 20

Rows = list[tuple[Any, ...]]
Statements = list[tuple[str, Rows]]
"""What one page means: statements, each with its rows."""


def insert(table: str, columns: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})"


def new_floors(thread_id: int, twin_id: int) -> list[Statements]:
    rows = _select(f"SELECT {', '.join(POST)} FROM posts WHERE thread_id = %s ORDER BY floor_number", thread_id)
    return [[(insert("posts", POST), page)] for page in _pages([(twin_id, *row[1:]) for row in rows])]


def edited_floors(thread_id: int, twin_id: int) -> list[Statements]:
    """The floors as they are now, and the version that was kept of each."""
    ids = dict(_select("SELECT floor_number, id FROM posts WHERE thread_id = %s", twin_id))
    joined = (
        f"SELECT p.floor_number, {', '.join(f'p.{name}' for name in CHANGED)}, {', '.join(f'r.{n}' for n in REVISION)}"
        " FROM posts p JOIN post_revisions r ON r.post_id = p.id WHERE p.thread_id = %s ORDER BY p.floor_number"
    )
    sets = ", ".join(f"{name} = %s" for name in CHANGED)
    end = 1 + len(CHANGED)
    return [
        [
            (insert("post_revisions", REVISION), [(ids[row[0]], *row[end + 1 :]) for row in page]),
            (f"UPDATE posts SET {sets} WHERE id = %s", [(*row[1:end], ids[row[0]]) for row in page]),
        ]
        for page in _pages(_select(joined, thread_id))
    ]


ROWS_OF: dict[str, Callable[[int, int], list[Statements]]] = {"new": new_floors, "edited": edited_floors}


def write(pages: list[Statements]) -> None:
    """A transaction for each page, as a crawl must have it."""
    from django.db import connection, transaction

    for statements in pages:
        with transaction.atomic(), connection.cursor() as cursor:
            for statement, rows in statements:
                cursor.executemany(statement, rows)


def _select(statement: str, thread_id: int) -> Rows:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement, [thread_id])
        return list(cursor.fetchall())


def _pages(rows: Rows) -> list[Rows]:
    return [rows[at : at + PAGE] for at in range(0, len(rows), PAGE)]
