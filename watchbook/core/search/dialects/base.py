"""What a database must be able to do for the search, and the part of the question that all of them read alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from django.db import connection
from django.db.models import Q

from watchbook.core.search.models import SearchDocument

if TYPE_CHECKING:
    from watchbook.core.search.query import Lookup

# How many of the newest documents are looked at before the whole index is asked. A word that stands in every second
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
class Place:
    """A position in the list, newest first; documents after it are older."""

    occurred_at: datetime
    document_id: int


@dataclass(frozen=True)
class Wanted:
    """A question to the index: documents with all these tokens, newest first, after a place."""

    lookups: tuple[Lookup, ...]
    in_title: bool
    scopes: tuple[str, ...]
    kinds: tuple[str, ...] | None = None
    since: datetime | None = None
    after: Place | None = None


@dataclass(frozen=True)
class Window:
    """The newest documents after a place: which row numbers they have and where they end."""

    first_id: int
    last_id: int
    # The oldest of them; None when there is no older document at all.
    end: Place | None


class Dialect(ABC):
    """Reads and writes search_words. Answers may hold too many documents, never too few: the text decides."""

    # Whether `rewrite` and `erase` must be told what the index holds.
    needs_old_words = False
    # How long after a document came in one with a smaller id may still be committed by a slower writer.
    settle_seconds = 180

    @abstractmethod
    def write(self, words: Sequence[Words]) -> None:
        """Index new documents."""

    @abstractmethod
    def rewrite(self, old: Sequence[Words], new: Sequence[Words]) -> None:
        """Index changed documents; `old` is what the index holds of them."""

    @abstractmethod
    def erase(self, old: Sequence[Words]) -> None:
        """Forget documents."""

    @abstractmethod
    def clear(self) -> None:
        """Forget everything."""

    @abstractmethod
    def ask(self, wanted: Wanted, limit: int) -> list[int]:
        """Ids in order, from the whole index."""

    def window(self, wanted: Wanted) -> Window | None:
        """The newest documents, to be looked at first; None where the whole index answers as quickly."""
        return newest(wanted.after)

    @abstractmethod
    def probe(self, wanted: Wanted, window: Window, limit: int) -> list[int]:
        """Ids in order, from the window alone."""


def newest(place: Place | None) -> Window | None:
    """The newest PROBE documents after a place, whoever may see them; None when there is none."""
    where, parameters = after(place)
    inside = f"SELECT d.id FROM search_documents d WHERE 1 = 1{where} {NEWEST} LIMIT {PROBE}"  # noqa: S608
    first_id, last_id, count = rows(f"SELECT MIN(id), MAX(id), COUNT(*) FROM ({inside}) n", parameters)[0]  # noqa: S608
    if not count:
        return None
    end = SearchDocument.objects.order_by("-occurred_at", "-pk")
    if place is not None:
        end = end.filter(occurred_at__lte=place.occurred_at).filter(
            Q(occurred_at__lt=place.occurred_at) | Q(pk__lt=place.document_id)
        )
    oldest = list(end.values_list("occurred_at", "pk")[PROBE - 1 : PROBE]) if count == PROBE else []
    return Window(first_id, last_id, Place(*oldest[0]) if oldest else None)


def rows(sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, list(parameters))
        return list(cursor.fetchall())


def ids(sql: str, parameters: Sequence[Any]) -> list[int]:
    return [row[0] for row in rows(sql, parameters)]


def filters(wanted: Wanted) -> tuple[str, list[Any]]:
    """Conditions on the document itself, as SQL that begins with AND, and its parameters."""
    sql, parameters = _one_of("d.scope", wanted.scopes)
    if wanted.kinds is not None:
        more, values = _one_of("d.kind", wanted.kinds)
        sql, parameters = sql + more, [*parameters, *values]
    if wanted.since is not None:
        sql += " AND d.occurred_at >= %s"
        parameters.append(connection.ops.adapt_datetimefield_value(wanted.since))
    more, values = after(wanted.after)
    return sql + more, [*parameters, *values]


def after(place: Place | None) -> tuple[str, list[Any]]:
    if place is None:
        return "", []
    moment = connection.ops.adapt_datetimefield_value(place.occurred_at)
    # The first half lets every database begin inside its index; MariaDB does not do so for a row comparison.
    sql = " AND d.occurred_at <= %s AND (d.occurred_at < %s OR d.id < %s)"
    return sql, [moment, moment, place.document_id]


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
