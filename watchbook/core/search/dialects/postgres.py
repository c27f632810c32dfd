"""A tsvector of our own tokens and a GIN index. No probe: the planner walks the dates itself when a word is common."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection

from watchbook.core.search.dialects.base import NEWEST, Dialect, Wanted, Words, filters, ids
from watchbook.core.search.query import Lookup

TITLE = "¶"


class PostgreSQL(Dialect):
    probes = False

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
        sql = (
            "SELECT d.id FROM search_words w JOIN search_documents d ON d.id = w.document_id"  # noqa: S608
            f" WHERE w.words @@ %s::tsquery{where} {NEWEST} LIMIT %s"
        )
        return ids(sql, [_expression(wanted), *parameters, limit])


def _spelt(words: Words) -> str:
    return " ".join([*words.anywhere, *(TITLE + token for token in words.in_title)])


def _expression(wanted: Wanted) -> str:
    mark = TITLE if wanted.in_title else ""
    return " & ".join(_lexeme(mark, lookup) for lookup in wanted.lookups)


def _lexeme(mark: str, lookup: Lookup) -> str:
    return f"'{mark}{lookup.token}'{':*' if lookup.is_prefix else ''}"
