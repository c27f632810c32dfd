"""Pages by key for lists that may be long: the hundredth page costs what the first one does.

Newest first by one column and the primary key. `keyset(rows, request.GET, by="occurred_at")` makes one query, at most
two; "ui/_pager.html" draws Newer and Older. The column must not be null and should stand in an index with the key.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any, Generic, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import DateTimeField, Model, Q, QuerySet
from django.utils.dateparse import parse_datetime

Row = TypeVar("Row", bound=Model)
LONGEST_CURSOR = 400


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


def keyset(rows: QuerySet[Row], asked: Mapping[str, Any], *, by: str = "pk", size: int = 30) -> Page[Row]:
    """The page that `?older=…` or `?newer=…` asks for; anything unreadable is the first page."""
    older, newer = read_cursor(rows, by, asked.get("older")), read_cursor(rows, by, asked.get("newer"))
    if older:
        found = _ordered(rows.filter(_beyond(by, older, "lt")), by, "-", size)
        return _page(found[:size], by, has_newer=True, has_older=len(found) > size)
    if newer:
        found = _ordered(rows.filter(_beyond(by, newer, "gt")), by, "", size)
        # A first page that is not full would look as if rows were lost: show the true first page.
        if len(found) > size:
            return _page(found[:size][::-1], by, has_newer=True, has_older=True)
    found = _ordered(rows, by, "-", size)
    return _page(found[:size], by, has_newer=False, has_older=len(found) > size)


def _ordered(rows: QuerySet[Row], by: str, sign: str, size: int) -> list[Row]:
    order = [f"{sign}pk"] if by == "pk" else [f"{sign}{by}", f"{sign}pk"]
    return list(rows.order_by(*order)[: size + 1])


def _beyond(by: str, cursor: tuple[Any, Any], side: str) -> Q:
    value, key = cursor
    if by == "pk":
        return Q(**{f"pk__{side}": key})
    # The first condition is implied by the second, but it is the one that every database reads from the index.
    return Q(**{f"{by}__{side}e": value}) & (Q(**{f"{by}__{side}": value}) | Q(**{f"pk__{side}": key}))


def _page(items: list[Row], by: str, *, has_newer: bool, has_older: bool) -> Page[Row]:
    if not items:
        return Page([])
    return Page(
        items,
        newer=write_cursor(items[0], by) if has_newer else "",
        older=write_cursor(items[-1], by) if has_older else "",
    )


def write_cursor(row: Model, by: str) -> str:
    value: Any = None if by == "pk" else getattr(row, by)
    written = value.isoformat() if hasattr(value, "isoformat") else value
    text = json.dumps([written, str(row.pk)], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(rows: QuerySet[Any], by: str, text: object) -> tuple[Any, Any] | None:
    """What `write_cursor` wrote, checked by the types of the columns; None for anything else."""
    if not isinstance(text, str) or not text or len(text) > LONGEST_CURSOR or not text.isascii():
        return None
    meta = rows.model._meta
    try:
        value, key = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        key = meta.pk.to_python(key)
        if by != "pk":
            value = _typed(meta.get_field(by), value)
    except (ValueError, TypeError, binascii.Error, ValidationError, RecursionError, OverflowError):
        return None
    # A number that no column can hold makes databases fail instead of finding nothing.
    if any(isinstance(part, int) and abs(part) >= 2**63 for part in (key, value)):
        return None
    return value, key


def _typed(field: Any, value: Any) -> Any:
    if isinstance(value, str) and isinstance(field, DateTimeField):
        moment = parse_datetime(value)
        # At the ends of the calendar a zone overflows.
        if moment is None or moment.tzinfo is None or not 1900 <= moment.year <= 2200:
            raise ValueError("not a moment")
        return moment.astimezone(UTC)
    if value is None:
        raise ValueError("no value")
    return field.to_python(value)
