"""FTS5, contentless and without positions. Deleting needs the tokens that were put in: the old text is read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db import connection
from django.db.backends.utils import CursorWrapper

from watchbook.core.search.compiling import Every, Expression, Some
from watchbook.core.search.dialects import NEWEST, Dialect, Filters, Window, Words, conditions, ids, within

if TYPE_CHECKING:
    from watchbook.core.search.tokens import Lookup

# In front of the tokens of a title. Not ASCII, so the ascii tokenizer takes it for a letter; no token begins with it.
TITLE = "¶"
# The newest documents have neighbouring row numbers unless old material was imported in between. Beyond this spread
# reading the range costs as much as the whole index.
SPREAD = 20
# A word in so many documents or fewer is asked of the whole index: each costs a row, wherever it is. With more of them
# thirty are among the newest documents sooner, so that an archive ten times as large takes no longer.
FEW = 2000
WIDER, WIDEST = 4, 500_000


# Pages that one step of a merge writes: 0.1 s with 50,000 documents, so writers hardly wait for it.
MERGE_PAGES = 500


class SQLite(Dialect):
    needs_old_words = True
    # One writer at a time: ids are committed in their order.
    settle_seconds = 0

    def write(self, words: Sequence[Words]) -> None:
        _run_many("INSERT INTO search_words(rowid, words) VALUES (%s, %s)", words)

    def rewrite(self, old: Sequence[Words], new: Sequence[Words]) -> None:
        self.erase(old)
        self.write(new)

    def erase(self, old: Sequence[Words]) -> None:
        _run_many("INSERT INTO search_words(search_words, rowid, words) VALUES ('delete', %s, %s)", old)

    def clear(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO search_words(search_words) VALUES ('delete-all')")

    def compact(self, *, begin: bool) -> bool:
        """Merge all segments of the index into one, step by step.

        FTS5 marks a deleted document with another entry that names its words; only a merge removes both. The option
        `secure-delete` would do it immediately, but needs SQLite 3.42. A negative number begins a merge of all
        segments; the following steps continue it and do not touch what other writers add in between.
        """
        pages = -MERGE_PAGES if begin else MERGE_PAGES
        with connection.cursor() as cursor:
            before = _total_changes(cursor)
            cursor.execute("INSERT INTO search_words(search_words, rank) VALUES ('merge', %s)", [pages])
            is_merging = _total_changes(cursor) - before >= 2
            if not is_merging and not connection.in_atomic_block:
                # The write-ahead log still holds the old pages.
                cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return is_merging

    def ask(self, filters: Filters, expression: Expression, limit: int) -> list[int]:
        where, parameters = conditions(filters)
        # CROSS JOIN keeps SQLite from walking all documents and asking the index for each.
        sql = (
            "SELECT d.id FROM search_words w CROSS JOIN search_documents d"  # noqa: S608 - values are parameters
            f" WHERE w.search_words MATCH %s AND d.id = w.rowid{where} {NEWEST} LIMIT %s"
        )
        return ids(sql, [spelled(expression), *parameters, limit])

    def window(self, filters: Filters, expression: Expression, width: int) -> Window | None:
        window = super().window(filters, expression, width)
        return None if window and window.first_id + SPREAD * width < window.last_id else window

    def wider(self, expression: Expression, width: int) -> int:
        if width >= WIDEST:
            return 0
        # The index reads no further than this limit.
        sql = "SELECT COUNT(*) FROM (SELECT rowid FROM search_words WHERE search_words MATCH %s LIMIT %s)"
        return width * WIDER if ids(sql, [spelled(expression), FEW + 1])[0] > FEW else 0

    def probe(self, filters: Filters, expression: Expression, window: Window, limit: int) -> list[int]:
        sql = "SELECT rowid FROM search_words WHERE search_words MATCH %s AND rowid BETWEEN %s AND %s"
        found = ids(sql, [spelled(expression), window.first_id, window.last_id])
        if not found:
            return []
        where, parameters = conditions(filters)
        inside, moments = within(window)
        # Numbers of our own making, none from outside.
        listed = ", ".join(map(str, found))
        sql = f"SELECT d.id FROM search_documents d WHERE d.id IN ({listed}){where}{inside} {NEWEST} LIMIT %s"  # noqa: S608
        return ids(sql, [*parameters, *moments, limit])


def _total_changes(cursor: CursorWrapper) -> int:
    cursor.execute("SELECT total_changes()")
    return int(cursor.fetchone()[0])


def _run_many(sql: str, words: Sequence[Words]) -> None:
    if words:
        with connection.cursor() as cursor:
            cursor.executemany(sql, [(each.document_id, _spelt(each)) for each in words])


def _spelt(words: Words) -> str:
    return " ".join([*words.anywhere, *(TITLE + token for token in words.in_title)])


def spelled(expression: Expression) -> str:
    """The expression as FTS5 reads it."""
    if isinstance(expression, Every):
        return f"({' AND '.join(map(spelled, expression.parts))})"
    if isinstance(expression, Some):
        return f"({' OR '.join(map(spelled, expression.parts))})"
    return _phrase(expression)


def _phrase(lookup: Lookup) -> str:
    return f'"{TITLE if lookup.in_title else ""}{lookup.token}"{" *" if lookup.is_prefix else ""}'
