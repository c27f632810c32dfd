"""Long lists by key: {"items": [...], "next": cursor or null}, any page as fast as the first.

    @router.get("/threads")
    def threads(request, page: Query[PageQuery]):
        return keyset(Thread.objects.all(), page, by="-thread_created_at", make=thread_out)

The rows are ordered by one column and then by the primary key, both in the same direction. The column has no NULLs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.db import models
from django.db.models import Q
from ninja import Schema
from pydantic import ValidationInfo, field_validator

from watchbook.base.text import clean_text
from watchbook.kit.paging import InvalidCursor, as_text, as_value, beyond, decode_cursor, encode_cursor

M = TypeVar("M", bound=models.Model)

USUAL = 50
MOST = 200


class PageQuery(Schema):
    """?cursor=&limit= of every list. A limit out of bounds is drawn in; a cursor must be one of ours."""

    cursor: str = ""
    limit: int = USUAL

    @field_validator("*", mode="before")
    @classmethod
    def _fit_for_a_database(cls, value: Any, info: ValidationInfo) -> Any:
        """Filters come in the address, past the reader of bodies; PostgreSQL refuses to compare with a NUL."""
        if info.field_name == "cursor":
            return value  # refused when it is not one of ours, not mended
        if isinstance(value, list):
            return [clean_text(one) if isinstance(one, str) else one for one in value]
        return clean_text(value) if isinstance(value, str) else value

    @field_validator("limit")
    @classmethod
    def _within_bounds(cls, value: int) -> int:
        return min(max(value, 1), MOST)


def keyset(
    rows: models.QuerySet[M],
    page: PageQuery,
    *,
    by: str = "-id",
    make: Callable[[M], Any] = lambda row: row,
) -> dict[str, Any]:
    """One page of the rows and the cursor of the next. One query."""
    field, descending = by.removeprefix("-"), by.startswith("-")
    key = rows.model._meta.pk.name
    field = key if field in {"id", "pk"} else field
    if getattr(rows.model._meta.get_field(field), "null", False):
        raise TypeError(f"{field} may be NULL: databases disagree where such rows stand, and pages would lose them")
    if page.cursor:
        rows = rows.filter(_beyond(rows.model, field, key, descending, _open(page.cursor, by)))
    order = [field] if field == key else [field, key]
    found = list(rows.order_by(*(f"-{name}" if descending else name for name in order))[: page.limit + 1])
    shown = found[: page.limit]
    more = len(found) > page.limit
    return {"items": [make(row) for row in shown], "next": _cursor(shown[-1], by, field) if more else None}


def _beyond(model: type[models.Model], field: str, key: str, descending: bool, place: list[str]) -> Q:
    value, pk = (as_value(model._meta.get_field(name), text) for name, text in zip((field, key), place, strict=True))
    if field == key:
        return Q(**{f"{key}__{'lt' if descending else 'gt'}": pk})
    return beyond(field, value, key, pk, is_backwards=descending)


def _cursor(row: models.Model, by: str, field: str) -> str:
    return encode_cursor([by, as_text(getattr(row, field)), as_text(row.pk)])


def _open(cursor: str, by: str) -> list[str]:
    order, *place = decode_cursor(cursor, 3)
    # A cursor of another order would silently skip rows.
    if order != by:
        raise InvalidCursor
    return place
