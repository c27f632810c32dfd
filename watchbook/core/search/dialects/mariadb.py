"""InnoDB FULLTEXT over an ASCII column. Its parser knows no Chinese, so every token is spelt in letters and digits.

`b` + four base-36 digits per character for pairs and single characters, `q_` + the word for words, where a letter that
is not ASCII is `_` + four digits; a `t` in front says title. Never shorter than 3 nor longer than 84 characters, the
bounds of the index. InnoDB indexes at commit: a transaction does not find what it has just written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from django.db import connection

from watchbook.core.search.dialects.base import NEWEST, Dialect, Wanted, Window, Words, filters, ids, within
from watchbook.core.search.tokens import DENSE

if TYPE_CHECKING:
    from watchbook.core.search.query import Lookup

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_DENSE = re.compile(f"[{DENSE}]")


class MariaDB(Dialect):
    def write(self, words: Sequence[Words]) -> None:
        if not words:
            return
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO search_words (document_id, words) VALUES (%s, %s)"
                " ON DUPLICATE KEY UPDATE words = VALUES(words)",
                [(each.document_id, _spelt(each)) for each in words],
            )

    def rewrite(self, old: Sequence[Words], new: Sequence[Words]) -> None:
        self.write(new)

    def erase(self, old: Sequence[Words]) -> None:
        if not old:
            return
        with connection.cursor() as cursor:
            places = ", ".join(["%s"] * len(old))
            cursor.execute(
                f"DELETE FROM search_words WHERE document_id IN ({places})",  # noqa: S608 - values are parameters
                [each.document_id for each in old],
            )

    def clear(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DELETE FROM search_words")

    def ask(self, wanted: Wanted, limit: int) -> list[int]:
        where, parameters = filters(wanted)
        sql = (
            "SELECT d.id FROM search_words w JOIN search_documents d ON d.id = w.document_id"  # noqa: S608
            f" WHERE MATCH (w.words) AGAINST (%s IN BOOLEAN MODE){where} {NEWEST} LIMIT %s"
        )
        return ids(sql, [_expression(wanted), *parameters, limit])

    def probe(self, wanted: Wanted, window: Window, limit: int) -> list[int]:
        where, parameters = filters(wanted)
        inside, moments = within(window)
        has = " AND LOCATE(%s, w.words) > 0" * len(wanted.lookups)
        # STRAIGHT_JOIN: by date first, then each document's words.
        sql = (
            "SELECT STRAIGHT_JOIN d.id FROM search_documents d JOIN search_words w ON w.document_id = d.id"  # noqa: S608
            f" WHERE 1 = 1{where}{inside}{has} {NEWEST} LIMIT %s"
        )
        spelt = [_inside(lookup, in_title=wanted.in_title) for lookup in wanted.lookups]
        return ids(sql, [*parameters, *moments, *spelt, limit])


def _spelt(words: Words) -> str:
    # Spaces at both ends, so that a whole token can be looked for inside the text.
    return f" {' '.join([*map(spell, words.anywhere), *('t' + spell(token) for token in words.in_title)])} "


def _expression(wanted: Wanted) -> str:
    mark = "t" if wanted.in_title else ""
    return " ".join(f"+{mark}{spell(each.token)}{'*' if each.is_prefix else ''}" for each in wanted.lookups)


def _inside(lookup: Lookup, *, in_title: bool) -> str:
    return f" {'t' if in_title else ''}{spell(lookup.token)}{'' if lookup.is_prefix else ' '}"


@lru_cache(maxsize=100_000)
def spell(token: str) -> str:
    """A token in ASCII. The spelling of a beginning is the beginning of the spelling, so prefixes still work."""
    if _DENSE.match(token):
        return "b" + "".join(map(_digits, token))
    return "q_" + "".join(letter if letter.isascii() else "_" + _digits(letter) for letter in token)


@lru_cache(maxsize=100_000)
def _digits(character: str) -> str:
    number, found = ord(character), ""
    for _ in range(4):
        number, digit = divmod(number, 36)
        found = DIGITS[digit] + found
    return found
