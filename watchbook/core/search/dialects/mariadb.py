"""InnoDB FULLTEXT over an ASCII column. Its parser knows no Chinese, so every token is spelt in letters and digits.

`b` + four base-36 digits per character for pairs and single characters, `q_` + the word for words, where a letter that
is not ASCII is `_` + four digits, `x` + the digest of an attribute; a `t` in front says title. Never shorter than 3 nor
longer than 84 characters, the bounds of the index. InnoDB indexes at commit: a transaction does not find what it has
just written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from django.db import OperationalError, connection

from watchbook.core.search.compiling import Every, Expression, Some
from watchbook.core.search.dialects import NEWEST, Dialect, Filters, Window, Words, conditions, ids, within
from watchbook.core.search.tokens import ATTRIBUTE, DENSE

if TYPE_CHECKING:
    from watchbook.core.search.tokens import Lookup

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
# How long the rebuild waits for writers that hold the table.
LOCK_SECONDS = 30
_DENSE = re.compile(f"[{DENSE}]")


class MariaDB(Dialect):
    # A rebuild costs as much for one word as for a thousand.
    compact_every = timedelta(hours=1)

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

    def compact(self, *, begin: bool) -> bool:
        """Rebuild the table: InnoDB keeps words of deleted rows in its internal full-text tables until then.

        One statement, at most once an hour. Searches continue; writers of the index wait until it ends. A table that
        others hold locked for longer than LOCK_SECONDS fails the run, and its next attempt follows.
        """
        if connection.in_atomic_block:
            return False  # the statement would commit what the caller has begun
        with connection.cursor() as cursor:
            # The rebuilt index takes the list of stop words from this session; ours has none.
            cursor.execute(
                "SET SESSION innodb_ft_enable_stopword = OFF, SESSION lock_wait_timeout = %s", [LOCK_SECONDS]
            )
            try:
                cursor.execute("OPTIMIZE TABLE search_words")
                said = [str(row[3]) for row in cursor.fetchall() if str(row[2]).lower() == "error"]
            finally:
                cursor.execute("SET SESSION innodb_ft_enable_stopword = DEFAULT, SESSION lock_wait_timeout = DEFAULT")
        if said:
            raise OperationalError(said[0])
        return False

    def ask(self, filters: Filters, expression: Expression, limit: int) -> list[int]:
        where, parameters = conditions(filters)
        sql = (
            "SELECT d.id FROM search_words w JOIN search_documents d ON d.id = w.document_id"  # noqa: S608
            f" WHERE MATCH (w.words) AGAINST (%s IN BOOLEAN MODE){where} {NEWEST} LIMIT %s"
        )
        return ids(sql, [spelled(expression), *parameters, limit])

    def probe(self, filters: Filters, expression: Expression, window: Window, limit: int) -> list[int]:
        where, parameters = conditions(filters)
        inside, moments = within(window)
        has, spelt = _located(expression)
        # STRAIGHT_JOIN: by date first, then each document's words.
        sql = (
            "SELECT STRAIGHT_JOIN d.id FROM search_documents d JOIN search_words w ON w.document_id = d.id"  # noqa: S608
            f" WHERE 1 = 1{where}{inside} AND {has} {NEWEST} LIMIT %s"
        )
        return ids(sql, [*parameters, *moments, *spelt, limit])


def _spelt(words: Words) -> str:
    # Spaces at both ends, so that a whole token can be looked for inside the text.
    return f" {' '.join([*map(spell, words.anywhere), *('t' + spell(token) for token in words.in_title)])} "


def spelled(expression: Expression) -> str:
    """The expression in boolean mode: a plus means that it must be there, of those without one any is enough."""
    if isinstance(expression, Every):
        return " ".join(f"+{_part(each)}" for each in expression.parts)
    if isinstance(expression, Some):
        return " ".join(map(_part, expression.parts))
    return f"+{_part(expression)}"


def _part(expression: Expression) -> str:
    if isinstance(expression, Every | Some):
        return f"({spelled(expression)})"
    mark = "t" if expression.in_title else ""
    return f"{mark}{spell(expression.token)}{'*' if expression.is_prefix else ''}"


def _located(expression: Expression) -> tuple[str, list[str]]:
    """The expression as a condition on one document's words, and its parameters."""
    if isinstance(expression, Every | Some):
        parts = [_located(each) for each in expression.parts]
        between = " AND " if isinstance(expression, Every) else " OR "
        return f"({between.join(sql for sql, _words in parts)})", [word for _sql, words in parts for word in words]
    return "LOCATE(%s, w.words) > 0", [_inside(expression)]


def _inside(lookup: Lookup) -> str:
    return f" {'t' if lookup.in_title else ''}{spell(lookup.token)}{'' if lookup.is_prefix else ' '}"


@lru_cache(maxsize=100_000)
def spell(token: str) -> str:
    """A token in ASCII. The spelling of a beginning is the beginning of the spelling, so prefixes still work."""
    if token[0] == ATTRIBUTE:
        return "x" + token[1:]
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
