"""FTS5, contentless and without positions. Deleting needs the tokens that were put in: the old text is read again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db import connection

from watchbook.core.search.dialects.base import NEWEST, PROBE, Dialect, Wanted, Window, Words, filters, ids, within

if TYPE_CHECKING:
    from watchbook.core.search.query import Lookup

# In front of the tokens of a title. Not ASCII, so the ascii tokenizer takes it for a letter; no token begins with it.
TITLE = "¶"
# The newest documents have neighbouring row numbers unless old material was imported in between. Beyond this spread
# reading the range costs as much as the whole index.
SPREAD = 20 * PROBE


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

    def ask(self, wanted: Wanted, limit: int) -> list[int]:
        where, parameters = filters(wanted)
        # CROSS JOIN keeps SQLite from walking all documents and asking the index for each.
        sql = (
            "SELECT d.id FROM search_words w CROSS JOIN search_documents d"  # noqa: S608 - values are parameters
            f" WHERE w.search_words MATCH %s AND d.id = w.rowid{where} {NEWEST} LIMIT %s"
        )
        return ids(sql, [_expression(wanted), *parameters, limit])

    def window(self, wanted: Wanted) -> Window | None:
        window = super().window(wanted)
        return None if window and window.first_id + SPREAD < window.last_id else window

    def probe(self, wanted: Wanted, window: Window, limit: int) -> list[int]:
        sql = "SELECT rowid FROM search_words WHERE search_words MATCH %s AND rowid BETWEEN %s AND %s"
        found = ids(sql, [_expression(wanted), window.first_id, window.last_id])
        if not found:
            return []
        where, parameters = filters(wanted)
        inside, moments = within(window)
        # Numbers of our own making, not more than SPREAD of them.
        listed = ", ".join(map(str, found))
        sql = f"SELECT d.id FROM search_documents d WHERE d.id IN ({listed}){where}{inside} {NEWEST} LIMIT %s"  # noqa: S608
        return ids(sql, [*parameters, *moments, limit])


def _run_many(sql: str, words: Sequence[Words]) -> None:
    if words:
        with connection.cursor() as cursor:
            cursor.executemany(sql, [(each.document_id, _spelt(each)) for each in words])


def _spelt(words: Words) -> str:
    return " ".join([*words.anywhere, *(TITLE + token for token in words.in_title)])


def _expression(wanted: Wanted) -> str:
    mark = TITLE if wanted.in_title else ""
    return " AND ".join(_phrase(mark, lookup) for lookup in wanted.lookups)


def _phrase(mark: str, lookup: Lookup) -> str:
    return f'"{mark}{lookup.token}"{" *" if lookup.is_prefix else ""}'
