"""A tsvector of our own tokens and a GIN index; for common words the newest documents are looked at first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db import connection

from watchbook.core.search.dialects.base import (
    NEWEST,
    Dialect,
    Wanted,
    Window,
    Words,
    after,
    filters,
    ids,
    rows,
    within,
)

if TYPE_CHECKING:
    from watchbook.core.search.query import Lookup

TITLE = "¶"
# A word found this often in so many of the newest documents stands in one of seventy: sorting all of them by date
# would take longer than looking at the newest.
SAMPLE, COMMON = 200, 3


class PostgreSQL(Dialect):
    def write(self, words: Sequence[Words]) -> None:
        if not words:
            return
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO search_words (document_id, words)"
                " SELECT id, array_to_tsvector(string_to_array(tokens, ' '))"
                " FROM unnest(%s::bigint[], %s::text[]) AS given (id, tokens)"
                " ON CONFLICT (document_id) DO UPDATE SET words = EXCLUDED.words",
                [[each.document_id for each in words], [_spelt(each) for each in words]],
            )

    def rewrite(self, old: Sequence[Words], new: Sequence[Words]) -> None:
        self.write(new)

    def erase(self, old: Sequence[Words]) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM search_words WHERE document_id = ANY(%s)", [[each.document_id for each in old]])

    def clear(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM search_words")

    def ask(self, wanted: Wanted, limit: int) -> list[int]:
        where, parameters = filters(wanted)
        # MATERIALIZED: by the words first. Left to itself the planner takes every unknown word for one in two hundred
        # documents and walks through all dates to find thirty of them.
        sql = (
            "WITH found AS MATERIALIZED (SELECT w.document_id FROM search_words w WHERE w.words @@ %s::tsquery)"  # noqa: S608
            " SELECT d.id FROM found JOIN search_documents d ON d.id = found.document_id"
            f" WHERE 1 = 1{where} {NEWEST} LIMIT %s"
        )
        return ids(sql, [_expression(wanted), *parameters, limit])

    def window(self, wanted: Wanted) -> Window | None:
        """Only for a word that is common among the very newest; any other is found faster by the index."""
        place, parameters = after(wanted.after)
        sql = (
            "SELECT COUNT(*) FROM (SELECT d.id FROM search_documents d"  # noqa: S608
            f" WHERE 1 = 1{place} {NEWEST} LIMIT {SAMPLE}) n"
            " JOIN search_words w ON w.document_id = n.id WHERE w.words @@ %s::tsquery"
        )
        is_common = rows(sql, [*parameters, _expression(wanted)])[0][0] >= COMMON
        return super().window(wanted) if is_common else None

    def probe(self, wanted: Wanted, window: Window, limit: int) -> list[int]:
        where, parameters = filters(wanted)
        inside, moments = within(window)
        sql = (
            "SELECT d.id FROM search_documents d JOIN search_words w ON w.document_id = d.id"  # noqa: S608
            f" WHERE w.words @@ %s::tsquery{where}{inside} {NEWEST} LIMIT %s"
        )
        return ids(sql, [_expression(wanted), *parameters, *moments, limit])


def _spelt(words: Words) -> str:
    return " ".join([*words.anywhere, *(TITLE + token for token in words.in_title)])


def _expression(wanted: Wanted) -> str:
    mark = TITLE if wanted.in_title else ""
    return " & ".join(_lexeme(mark, lookup) for lookup in wanted.lookups)


def _lexeme(mark: str, lookup: Lookup) -> str:
    return f"'{mark}{lookup.token}'{':*' if lookup.is_prefix else ''}"
