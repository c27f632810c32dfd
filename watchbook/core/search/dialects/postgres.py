"""A tsvector of our own tokens and a GIN index; for common words the newest documents are searched first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.db import connection

from watchbook.core.search.compiling import Every, Expression, Some
from watchbook.core.search.dialects import (
    NEWEST,
    Dialect,
    Filters,
    Window,
    Words,
    after,
    conditions,
    ids,
    rows,
    within,
)

if TYPE_CHECKING:
    from watchbook.core.search.tokens import Lookup

TITLE = "¶"
# A word found this often in so many of the newest documents occurs in one of seventy: sorting all of them by date
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

    def compact(self, *, begin: bool) -> bool:
        """Free the space of erased rows now instead of when autovacuum comes."""
        if not connection.in_atomic_block:
            with connection.cursor() as cursor:
                cursor.execute("VACUUM search_words, search_documents")
        return False

    def ask(self, filters: Filters, expression: Expression, limit: int) -> list[int]:
        where, parameters = conditions(filters)
        # MATERIALIZED: by the words first. Left to itself the planner takes every unknown word for one in two hundred
        # documents and walks through all dates to find thirty of them.
        sql = (
            "WITH found AS MATERIALIZED (SELECT w.document_id FROM search_words w WHERE w.words @@ %s::tsquery)"  # noqa: S608
            " SELECT d.id FROM found JOIN search_documents d ON d.id = found.document_id"
            f" WHERE 1 = 1{where} {NEWEST} LIMIT %s"
        )
        return ids(sql, [spelled(expression), *parameters, limit])

    def window(self, filters: Filters, expression: Expression, width: int) -> Window | None:
        """Only for a word that is common among the very newest; any other is found faster by the index."""
        position, parameters = after(filters.after)
        sql = (
            "SELECT COUNT(*) FROM (SELECT d.id FROM search_documents d"  # noqa: S608
            f" WHERE 1 = 1{position} {NEWEST} LIMIT {SAMPLE}) n"
            " JOIN search_words w ON w.document_id = n.id WHERE w.words @@ %s::tsquery"
        )
        is_common = rows(sql, [*parameters, spelled(expression)])[0][0] >= COMMON
        return super().window(filters, expression, width) if is_common else None

    def probe(self, filters: Filters, expression: Expression, window: Window, limit: int) -> list[int]:
        where, parameters = conditions(filters)
        inside, moments = within(window)
        sql = (
            "SELECT d.id FROM search_documents d JOIN search_words w ON w.document_id = d.id"  # noqa: S608
            f" WHERE w.words @@ %s::tsquery{where}{inside} {NEWEST} LIMIT %s"
        )
        return ids(sql, [spelled(expression), *parameters, *moments, limit])


def _spelt(words: Words) -> str:
    return " ".join([*words.anywhere, *(TITLE + token for token in words.in_title)])


def spelled(expression: Expression) -> str:
    """The expression as tsquery reads it."""
    if isinstance(expression, Every):
        return f"({' & '.join(map(spelled, expression.parts))})"
    if isinstance(expression, Some):
        return f"({' | '.join(map(spelled, expression.parts))})"
    return _lexeme(expression)


def _lexeme(lookup: Lookup) -> str:
    return f"'{TITLE if lookup.in_title else ''}{lookup.token}'{':*' if lookup.is_prefix else ''}"
