"""Pages by key for lists that may be long: the hundredth page costs what the first one does.

Newest first by one column and the primary key. `keyset(rows, request.GET, by="occurred_at")` makes one query, at most
two; "kit/_pager.html" draws Newer and Older. The column must not be null and should be in an index with the key.

A cursor is text in an address: `encode_cursor` writes it, `decode_cursor` reads it and trusts nothing.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from django.core.exceptions import ValidationError
from django.db import connections, models
from django.db.models import Model, Q, QuerySet
from django.http import QueryDict

from watchbook.base.text import clean_text

LONGEST = 4000
LARGEST = 2**63


class InvalidCursor(ValueError):
    """Not a place that a list of ours gave out."""


def encode_cursor(parts: Sequence[str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts, ensure_ascii=False).encode()).decode().rstrip("=")


def decode_cursor(text: str, count: int) -> list[str]:
    """The parts that `encode_cursor` was given, so many of them, each fit for a database."""
    try:
        if len(text) > LONGEST or not text.isascii():
            raise InvalidCursor
        parts = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError):
        raise InvalidCursor from None
    if not isinstance(parts, list) or len(parts) != count:
        raise InvalidCursor
    if any(not isinstance(part, str) or part != clean_text(part) for part in parts):
        raise InvalidCursor
    return parts


def as_text(value: Any) -> str:
    """A column's value as a part of a place."""
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def as_value(field: Any, text: str) -> Any:
    """A part of a place as its column has it."""
    try:
        value = as_moment(text) if isinstance(field, models.DateTimeField) else field.to_python(text)
    except (ValidationError, ValueError, OverflowError):
        raise InvalidCursor from None
    # A number that no column can hold makes databases fail instead of finding nothing.
    if isinstance(value, int) and abs(value) >= LARGEST:
        raise InvalidCursor
    return value


def as_moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidCursor from None
    # At the ends of the calendar a zone overflows.
    if moment.tzinfo is None or not 1900 <= moment.year <= 2200:
        raise InvalidCursor
    return moment.astimezone(UTC)


def beyond(column: str, value: Any, key: str, pk: Any, *, is_backwards: bool, key_runs_on: bool = False) -> Q:
    """What comes after a row in a list ordered by a column and then by the key; `key_runs_on`: the key forwards."""
    past = "lt" if is_backwards else "gt"
    tie = "gt" if key_runs_on else past
    # The first condition repeats what the second implies: planners use an index for it and not for the OR.
    return Q(**{f"{column}__{past}e": value}) & (
        Q(**{f"{column}__{past}": value}) | Q(**{column: value, f"{key}__{tie}": pk})
    )


Row = TypeVar("Row", bound=Model)
# The parameters of the position in a list; other filters start at the first page.
PLACES = ("older", "newer", "cursor")


@dataclass(frozen=True)
class Page(Generic[Row]):
    """Rows, and the cursors of the pages beside this one; an empty cursor: there is none."""

    items: list[Row]
    newer: str = ""
    older: str = ""

    def __iter__(self) -> Iterator[Row]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


def keyset(
    rows: QuerySet[Row],
    asked: Mapping[str, Any],
    *,
    by: str = "pk",
    size: int = 30,
    is_rising: bool = False,
    has_ties: bool = False,
    null: str = "",
) -> Page[Row]:
    """The page that `?older=…` or `?newer=…` asks for; anything unreadable is the first page.

    With `is_rising` the list begins with the smallest value, and `older` leads to greater ones. `has_ties` and `null`:
    as in `after`.
    """
    older, newer = read_cursor(rows, by, asked.get("older")), read_cursor(rows, by, asked.get("newer"))
    if older:
        found = after(rows, by, older, size + 1, is_rising=is_rising, has_ties=has_ties, null=null)
        return _page(found[:size], by, has_newer=True, has_older=len(found) > size)
    if newer:
        found = after(rows, by, newer, size + 1, is_rising=not is_rising, has_ties=has_ties, null=null)
        # A first page that is not full would look as if rows were lost: show the true first page.
        if len(found) > size:
            return _page(found[:size][::-1], by, has_newer=True, has_older=True)
    found = after(rows, by, None, size + 1, is_rising=is_rising, null=null)
    return _page(found[:size], by, has_newer=False, has_older=len(found) > size)


def after(
    rows: QuerySet[Row],
    by: str,
    cursor: tuple[Any, Any] | None,
    most: int,
    *,
    is_rising: bool = False,
    has_ties: bool = False,
    null: str = "",
) -> list[Row]:
    """So many rows after a place, or the first ones.

    `has_ties`: very many rows may have the same value. A place among them is then asked for in two queries, first for
    the rest of its value: no database finds it by one condition without walking over all of them.

    `null`: a column that is NULL in all these rows and stands before `by` in their index.
    """
    sign, side = ("", "gt") if is_rising else ("-", "lt")
    order = _order(rows, sign, null, by)
    if cursor and has_ties and by != "pk":
        value, key = cursor
        found = list(rows.filter(**{by: value, f"pk__{side}": key}).order_by(*_order(rows, sign, null))[:most])
        if len(found) < most:
            found += rows.filter(**{f"{by}__{side}": value}).order_by(*order)[: most - len(found)]
        return found
    if cursor:
        rows = rows.filter(_past(by, cursor, side))
    return list(rows.order_by(*order)[:most])


def _order(rows: QuerySet[Any], sign: str, null: str, by: str = "pk") -> list[str]:
    """An order by a column, then by the key.

    PostgreSQL does not see that a column that is NULL everywhere leaves the order as it is: it uses the index only if
    the order names the column, too. MariaDB sees it, and sorts if the order names it.
    """
    needs_null = null and connections[rows.db].vendor == "postgresql"
    return [f"{sign}{column}" for column in dict.fromkeys([null if needs_null else by, by, "pk"])]


def keyset_among(
    rows: QuerySet[Row],
    among: QuerySet[Row],
    asked: Mapping[str, Any],
    *,
    by: str,
    size: int,
    most: int,
    null: str = "",
) -> tuple[Page[Row], bool]:
    """A page of rows that no index finds, newest first: looked for among so many rows of a list that has an index.

    Where this limit ends the search, `older` continues there, and the second value is true. `null`: as in `after`, a
    column of both lists.
    """
    start = read_cursor(rows, by, asked.get("older"))
    edge = _edge(among, by, start, most, null)
    found: list[Row] = []
    for part in _ranges(by, start, edge):
        found += rows.filter(part).order_by(*_order(rows, "-", null, by))[: size + 1 - len(found)]
        if len(found) > size:
            return _page(found[:size], by, has_newer=False, has_older=True), edge is not None
    older = encode_cursor([as_text(part) for part in edge]) if edge else ""
    return Page(found, older=older), edge is not None


def _edge(rows: QuerySet[Any], by: str, start: tuple[Any, Any] | None, most: int, null: str) -> tuple[Any, Any] | None:
    """The last of so many rows after a place; None if there are not so many."""
    left = most
    for part in _ranges(by, start, None):
        places = rows.filter(part).order_by(*_order(rows, "-", null, by)).values_list(by, "pk")
        if last := list(places[left - 1 : left]):
            return last[0][0], last[0][1]
        left -= places[:left].count()
    return None


def _ranges(by: str, start: tuple[Any, Any] | None, edge: tuple[Any, Any] | None) -> Iterator[Q]:
    """What lies after one place up to another, newest first, as conditions of which each is one range of an index."""
    if start and edge and start[0] == edge[0]:
        yield Q(**{by: start[0], "pk__lt": start[1], "pk__gte": edge[1]})
        return
    if start:
        yield Q(**{by: start[0], "pk__lt": start[1]})
    yield Q(**({f"{by}__lt": start[0]} if start else {}), **({f"{by}__gt": edge[0]} if edge else {}))
    if edge:
        yield Q(**{by: edge[0], "pk__gte": edge[1]})


def batches(rows: QuerySet[Row], *, by: str = "pk", is_rising: bool = False, size: int = 1000) -> Iterator[list[Row]]:
    """The whole list in pieces, each a query of its own: drivers that fetch whole answers stay small, too."""
    cursor: tuple[Any, Any] | None = None
    while found := after(rows, by, cursor, size, is_rising=is_rising):
        yield found
        if len(found) < size:
            return
        cursor = (getattr(found[-1], by), found[-1].pk)


def _past(by: str, cursor: tuple[Any, Any], side: str) -> Q:
    value, key = cursor
    if by == "pk":
        return Q(**{f"pk__{side}": key})
    return beyond(by, value, "pk", key, is_backwards=side == "lt")


def _page(items: list[Row], by: str, *, has_newer: bool, has_older: bool) -> Page[Row]:
    if not items:
        return Page([])
    return Page(
        items,
        newer=write_cursor(items[0], by) if has_newer else "",
        older=write_cursor(items[-1], by) if has_older else "",
    )


def write_cursor(row: Model, by: str) -> str:
    return encode_cursor([as_text(getattr(row, by)), as_text(row.pk)])


def read_cursor(rows: QuerySet[Any], by: str, text: object) -> tuple[Any, Any] | None:
    """What `write_cursor` wrote, checked by the types of the columns; None for anything else."""
    if not isinstance(text, str) or not text:
        return None
    meta = rows.model._meta
    try:
        value, key = decode_cursor(text, 2)
        return as_value(meta.pk if by == "pk" else meta.get_field(by), value), as_value(meta.pk, key)
    except InvalidCursor:
        return None


def with_values(asked: QueryDict, **values: str) -> str:
    """The query of this page with other values; an empty one is omitted, and the list starts at its first page."""
    made = asked.copy()
    for name in (*PLACES, *values):
        made.pop(name, None)
    for name, value in values.items():
        if value:
            made[name] = value
    return f"?{made.urlencode()}" if made else "?"
