"""What a database must be able to do for the search, and the part of the question that all of them read alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.db.models import Q
from django.db.models.expressions import RawSQL

from watchbook.core.search.models import SearchDocument

if TYPE_CHECKING:
    from watchbook.core.search.compiling import Condition, Expression

# How many of the newest documents are searched before the whole index. A word that occurs in every second
# document would otherwise be sorted by date in its hundred thousands to show thirty.
PROBE = 2000
NEWEST = "ORDER BY d.occurred_at DESC, d.id DESC"


@dataclass(frozen=True)
class Words:
    """What the index keeps of one document."""

    document_id: int
    in_title: frozenset[str]
    anywhere: frozenset[str]


@dataclass(frozen=True)
class Position:
    """A position in the list, newest first; documents after it are older."""

    occurred_at: datetime
    document_id: int


@dataclass(frozen=True)
class Filters:
    """A question to the index: documents with these tokens, newest first, after a position.

    Without an expression the index has nothing to say and the documents themselves are gone through.
    """

    expression: Expression | None
    where: Condition | None
    scopes: tuple[str, ...]
    kinds: tuple[str, ...] | None = None
    since: datetime | None = None
    after: Position | None = None


@dataclass(frozen=True)
class Window:
    """The newest documents after a position: which row numbers they have and where they end."""

    first_id: int
    last_id: int
    # The oldest of them; None when there is no older document at all.
    end: Position | None


class Dialect(ABC):
    """Reads and writes search_words. Answers may hold too many documents, never too few: the text decides."""

    # Whether `rewrite` and `erase` need the old words.
    needs_old_words = False
    # How long after a document came in one with a smaller id may still be committed by a slower writer.
    settle_seconds = 180
    # Removals within this time are cleared from internal blocks together.
    compact_every = timedelta(minutes=1)

    @abstractmethod
    def write(self, words: Sequence[Words]) -> None:
        """Index new documents."""

    @abstractmethod
    def rewrite(self, old: Sequence[Words], new: Sequence[Words]) -> None:
        """Index changed documents; `old` is what the index holds of them."""

    @abstractmethod
    def erase(self, old: Sequence[Words]) -> None:
        """Remove documents."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all documents."""

    @abstractmethod
    def compact(self, *, begin: bool) -> bool:
        """Do one step of removing erased words from internal blocks; False when nothing is left to do."""

    @abstractmethod
    def ask(self, filters: Filters, expression: Expression, limit: int) -> list[int]:
        """Ids in order, from the whole index."""

    def scan(self, filters: Filters, limit: int) -> list[int]:
        """Ids in order, without the word index."""
        where, parameters = conditions(filters)
        sql = f"SELECT d.id FROM search_documents d WHERE 1 = 1{where} {NEWEST} LIMIT %s"  # noqa: S608 - own names
        return ids(sql, [*parameters, limit])

    def window(self, filters: Filters, expression: Expression, width: int) -> Window | None:
        """So many of the newest documents, searched first; None where the whole index answers as quickly."""
        return newest(filters.after, width)

    def wider(self, expression: Expression, width: int) -> int:
        """How many documents to search next when the newest `width` were not enough; 0: the whole index."""
        return 0

    @abstractmethod
    def probe(self, filters: Filters, expression: Expression, window: Window, limit: int) -> list[int]:
        """Ids in order, from the window alone."""


def newest(position: Position | None, width: int) -> Window | None:
    """The newest `width` documents after a position, of any scope; None when there is none."""
    where, parameters = after(position)
    inside = f"SELECT d.id FROM search_documents d WHERE 1 = 1{where} {NEWEST} LIMIT {width}"  # noqa: S608
    end = SearchDocument.objects.order_by("-occurred_at", "-pk")
    if position is not None:
        end = end.filter(occurred_at__lte=position.occurred_at).filter(
            Q(occurred_at__lt=position.occurred_at) | Q(pk__lt=position.document_id)
        )
    # One query where there are so many documents; only where there are fewer it needs a second one.
    bounded = end.annotate(
        first_id=RawSQL(f"SELECT MIN(id) FROM ({inside}) n", parameters),  # noqa: S608, S611 - values are parameters
        last_id=RawSQL(f"SELECT MAX(id) FROM ({inside}) n", parameters),  # noqa: S608, S611
    )
    oldest = bounded.values_list("occurred_at", "pk", "first_id", "last_id")[width - 1 : width]
    for occurred_at, pk, first_id, last_id in oldest:
        return Window(first_id, last_id, Position(occurred_at, pk))
    first_id, last_id = rows(f"SELECT MIN(id), MAX(id) FROM ({inside}) n", parameters)[0]  # noqa: S608
    return None if first_id is None else Window(first_id, last_id, None)


def rows(sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, list(parameters))
        return list(cursor.fetchall())


def ids(sql: str, parameters: Sequence[Any]) -> list[int]:
    return [row[0] for row in rows(sql, parameters)]


def conditions(filters: Filters) -> tuple[str, list[Any]]:
    """Conditions on the document itself, as SQL that begins with AND, and its parameters."""
    sql, parameters = _one_of("d.scope", filters.scopes)
    if filters.kinds is not None:
        more, values = _one_of("d.kind", filters.kinds)
        sql, parameters = sql + more, [*parameters, *values]
    if filters.since is not None:
        # When Watchbook saw it: a note of last year that was collected today is new here.
        sql += " AND d.indexed_at >= %s"
        parameters.append(connection.ops.adapt_datetimefield_value(filters.since))
    if filters.where is not None:
        sql += f" AND {filters.where.sql}"
        parameters += filters.where.parameters
    more, values = after(filters.after)
    return sql + more, [*parameters, *values]


def after(position: Position | None) -> tuple[str, list[Any]]:
    if position is None:
        return "", []
    moment = connection.ops.adapt_datetimefield_value(position.occurred_at)
    # The first half lets every database begin inside its index; MariaDB does not do so for a row comparison.
    sql = " AND d.occurred_at <= %s AND (d.occurred_at < %s OR d.id < %s)"
    return sql, [moment, moment, position.document_id]


def within(window: Window) -> tuple[str, list[Any]]:
    """Not older than the end of the window."""
    if window.end is None:
        return "", []
    moment = connection.ops.adapt_datetimefield_value(window.end.occurred_at)
    return " AND d.occurred_at >= %s AND (d.occurred_at > %s OR d.id >= %s)", [moment, moment, window.end.document_id]


def _one_of(column: str, values: tuple[str, ...]) -> tuple[str, list[Any]]:
    if not values:
        return " AND 1 = 0", []
    return f" AND {column} IN ({', '.join(['%s'] * len(values))})", list(values)


__all__ = ["Dialect", "Filters", "Position", "Words", "dialect"]


def dialect() -> Dialect:
    return _dialect_of(connection.vendor)


@cache
def _dialect_of(vendor: str) -> Dialect:
    # Each has words of its own to prepare; a process speaks one.
    if vendor == "postgresql":
        from watchbook.core.search.dialects.postgres import PostgreSQL

        return PostgreSQL()
    if vendor == "mysql":
        from watchbook.core.search.dialects.mariadb import MariaDB

        return MariaDB()
    from watchbook.core.search.dialects.sqlite import SQLite

    return SQLite()
