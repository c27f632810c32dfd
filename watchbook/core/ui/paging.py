"""Pages by key for lists that may be long: the hundredth page costs what the first one does.

Newest first by one column and the primary key. `keyset(rows, request.GET, by="occurred_at")` makes one query, at most
two; "ui/_pager.html" draws Newer and Older. The column must not be null and should stand in an index with the key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet
from django.http import QueryDict

from watchbook.core.cursors import BadPlace, as_text, as_value, beyond, read_place, write_place

Row = TypeVar("Row", bound=Model)
# What says where in a list somebody is; another question begins at its first page.
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
    return write_place([as_text(getattr(row, by)), as_text(row.pk)])


def read_cursor(rows: QuerySet[Any], by: str, text: object) -> tuple[Any, Any] | None:
    """What `write_cursor` wrote, checked by the types of the columns; None for anything else."""
    if not isinstance(text, str) or not text:
        return None
    meta = rows.model._meta
    try:
        value, key = read_place(text, 2)
        return as_value(meta.pk if by == "pk" else meta.get_field(by), value), as_value(meta.pk, key)
    except BadPlace:
        return None


def with_values(asked: QueryDict, **values: str) -> str:
    """The query of this page with other values; an empty one is left out, and the list begins anew."""
    made = asked.copy()
    for name in (*PLACES, *values):
        made.pop(name, None)
    for name, value in values.items():
        if value:
            made[name] = value
    return f"?{made.urlencode()}" if made else "?"
