"""The raw side of the store's measure: every row that the product wrote for a topic, read back and written again for
a twin of the topic: posts as an upsert, where notes hang, versions, lines of the stream, the place in the topic, and
its words in the search. Nothing is asked, compared or made: the values lie ready.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PAGE = 20
PLACE = ("crawl_cursor_max_floor_number", "crawl_cursor_max_source_post_id", "crawl_backfill_next_page_number",
         "crawl_page_total_last_seen", "updated_at")  # fmt: skip

Rows = list[tuple[Any, ...]]
Statements = list[tuple[str, Rows]]
"""What one page means: statements, each with its rows."""


def new_floors(thread_id: int, twin_id: int) -> list[Statements]:
    columns, rows = _copy("posts", "thread_id = %s ORDER BY floor_number", thread_id, thread_id=twin_id)
    at = columns.index("source_post_id")
    pages: list[Statements] = [
        [
            (_upsert_posts(columns), page),
            *_hanging(thread_id, twin_id, {row[at] for row in page}),
            _place(thread_id, twin_id),
        ]
        for page in _pages(rows)
    ]
    pages[0] += _search(thread_id, twin_id, is_new=True)
    return pages


def edited_floors(thread_id: int, twin_id: int) -> list[Statements]:
    """The floors as they are now, the version that was kept of each, and a line of the stream for each."""
    ids = dict(_select("SELECT p.id, t.id FROM posts p JOIN posts t ON t.floor_number = p.floor_number"
                       " WHERE p.thread_id = %s AND t.thread_id = %s", thread_id, twin_id))  # fmt: skip
    columns, floors = _copy("posts", "thread_id = %s ORDER BY floor_number", thread_id, thread_id=twin_id)
    own = "post_id IN (SELECT id FROM posts WHERE thread_id = %s) ORDER BY id"
    kept_columns, kept = _copy("post_revisions", own, thread_id)
    at = kept_columns.index("post_id")
    kept = [(*row[:at], ids[row[at]], *row[at + 1 :]) for row in kept]
    told_columns, told = _stream(ids)
    parts = zip(_pages(floors), _pages(kept), _pages(told), strict=True)
    pages: list[Statements] = [
        [
            (_insert("post_revisions", kept_columns), versions),
            (_upsert_posts(columns), page),
            (_insert("stream_entries", told_columns), lines),
            _place(thread_id, twin_id),
        ]
        for page, versions, lines in parts
    ]
    pages[0] += _search(thread_id, twin_id, is_new=False)
    return pages


ROWS_OF: dict[str, Callable[[int, int], list[Statements]]] = {"new": new_floors, "edited": edited_floors}


def write(pages: list[Statements]) -> None:
    """A transaction for each page, as a crawl must have it."""
    from django.db import connection, transaction

    for statements in pages:
        with transaction.atomic(), connection.cursor() as cursor:
            for statement, rows in statements:
                cursor.executemany(statement, rows)


def _stream(ids: dict[int, int]) -> tuple[list[str], Rows]:
    columns, rows = _copy("stream_entries", "object_kind = 'nga_post' AND source = %s ORDER BY id", "nga")
    at = columns.index("object_id")
    found = [(*row[:at], str(ids[int(row[at])]), *row[at + 1 :]) for row in rows if int(row[at]) in ids]
    return columns, [tuple(_json(value) for value in row) for row in found]


def _json(value: Any) -> Any:
    from django.db import connection

    return connection.ops.adapt_json_value(value, None) if isinstance(value, dict) else value


def _hanging(thread_id: int, twin_id: int, pids: set[int]) -> Statements:
    """The posts of those notes that are floors of the page."""
    columns, rows = _copy("note_parents", "thread_id = %s ORDER BY id", thread_id, thread_id=twin_id)
    at = columns.index("source_post_id")
    own = [row for row in rows if row[at] in pids]
    return [(_insert("note_parents", columns), own)] if own else []


def _place(thread_id: int, twin_id: int) -> tuple[str, Rows]:
    rows = _select(f"SELECT {', '.join(PLACE)} FROM threads WHERE id = %s", thread_id)
    return f"UPDATE threads SET {', '.join(f'{name} = %s' for name in PLACE)} WHERE id = %s", [(*rows[0], twin_id)]


def _search(thread_id: int, twin_id: int, *, is_new: bool) -> Statements:
    """The opening post's words: the topic's own document, the shared one, and the tokens of the word index."""
    from watchbook.core.search.models import SearchDocument

    own_columns, own = _copy("thread_search_documents", "thread_id = %s", thread_id, thread_id=twin_id)
    columns, shared = _copy("search_documents", "kind = 'nga_thread' AND object_id = %s", str(thread_id))
    document = SearchDocument.objects.get(kind="nga_thread", object_id=str(thread_id))
    # The twin's document has a number of its own that lies above all others.
    number = 10**9 + document.pk
    at = columns.index("object_id")
    shared = [(number, *row[:at], str(twin_id), *row[at + 1 :]) for row in shared]
    statements = [
        (_upsert("thread_search_documents", own_columns, "thread_id"), own),
        (_upsert("search_documents", ["id", *columns], "kind, object_id"), shared),
    ]
    return statements + _words(document, number, is_new=is_new)


_spoken: dict[int, str] = {}
"""What stands in the word index for each document of a twin; SQLite has to be told it to forget it."""


def _words(document: Any, number: int, *, is_new: bool) -> Statements:
    from django.db import connection

    from watchbook.core.search import index
    from watchbook.core.search.dialects import sqlite

    if connection.vendor == "postgresql":
        rows = _select("SELECT words::text FROM search_words WHERE document_id = %s", document.pk)
        return [(_upsert("search_words", ["document_id", "words"], "document_id"), [(number, rows[0][0])])]
    spelt = sqlite._spelt(index._words(document.pk, document.title, document.body))
    forget = "INSERT INTO search_words(search_words, rowid, words) VALUES ('delete', %s, %s)"
    first = [] if is_new else [(forget, [(number, _spoken[number])])]
    _spoken[number] = spelt
    return [*first, ("INSERT INTO search_words(rowid, words) VALUES (%s, %s)", [(number, spelt)])]


def _upsert_posts(columns: list[str]) -> str:
    return _upsert("posts", columns, "thread_id, source_post_id")


def _upsert(table: str, columns: list[str], unique: str) -> str:
    sets = ", ".join(f"{name} = EXCLUDED.{name}" for name in columns if name != "id" and name not in unique.split(", "))
    return f"{_insert(table, columns)} ON CONFLICT ({unique}) DO UPDATE SET {sets}"


def _insert(table: str, columns: list[str]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})"


def _copy(table: str, condition: str, value: Any, **changed: Any) -> tuple[list[str], Rows]:
    """Rows without their keys, some of their values changed."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table} WHERE {condition}", [value])
        names = [column[0] for column in cursor.description or ()]
        rows = cursor.fetchall()
    kept = [at for at, name in enumerate(names) if name != "id"]
    return [names[at] for at in kept], [tuple(changed.get(names[at], row[at]) for at in kept) for row in rows]


def _select(statement: str, *values: Any) -> Rows:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(statement, list(values))
        return list(cursor.fetchall())


def _pages(rows: Rows) -> list[Rows]:
    return [rows[at : at + PAGE] for at in range(0, len(rows), PAGE)]
