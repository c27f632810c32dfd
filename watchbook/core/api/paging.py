"""Long lists by key: {"items": [...], "next": cursor or null}, any page as fast as the first.

    @router.get("/threads")
    def threads(request, page: Query[PageQuery]):
        return keyset(Thread.objects.all(), page, by="-thread_created_at", make=thread_out)

The rows are ordered by one column and then by the primary key, both in the same direction. The column has no NULLs.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from ninja import Schema
from pydantic import ValidationInfo, field_validator

from watchbook.base.text import clean_text
from watchbook.core.api.errors import Invalid

M = TypeVar("M", bound=models.Model)

USUAL = 50
MOST = 200
LONGEST_CURSOR = 1000


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
    without_nulls: bool = False,
) -> dict[str, Any]:
    """One page of the rows and the cursor of the next. One query. `without_nulls`: the caller has left them out."""
    field, descending = by.removeprefix("-"), by.startswith("-")
    key = rows.model._meta.pk.name
    field = key if field in {"id", "pk"} else field
    if getattr(rows.model._meta.get_field(field), "null", False) and not without_nulls:
        raise TypeError(f"{field} may be NULL: databases disagree where such rows stand, and pages would lose them")
    if page.cursor:
        rows = rows.filter(_beyond(rows.model, field, key, descending, _open(page.cursor, by)))
    order = [field] if field == key else [field, key]
    found = list(rows.order_by(*(f"-{name}" if descending else name for name in order))[: page.limit + 1])
    shown = found[: page.limit]
    more = len(found) > page.limit
    return {"items": [make(row) for row in shown], "next": _cursor(shown[-1], by, field) if more else None}


def _beyond(model: type[models.Model], field: str, key: str, descending: bool, place: list[str]) -> Q:
    try:
        columns: list[Any] = [model._meta.get_field(name) for name in (field, key)]
        value, pk = (_typed(column, text) for column, text in zip(columns, place, strict=True))
    except (ValidationError, ValueError, OverflowError):
        raise _bad_cursor() from None
    past = "lt" if descending else "gt"
    if field == key:
        return Q(**{f"{key}__{past}": pk})
    # The first condition repeats what the second implies: planners use an index for it and not for the OR.
    return Q(**{f"{field}__{past}e": value}) & (
        Q(**{f"{field}__{past}": value}) | Q(**{field: value, f"{key}__{past}": pk})
    )


def _typed(column: Any, text: str) -> Any:
    if not isinstance(column, models.DateTimeField):
        return column.to_python(text)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("not a moment")
    if not 1900 <= moment.year <= 2200:
        raise ValueError("not a moment of ours")  # at the ends of the calendar a zone overflows
    return moment.astimezone(UTC)


def _cursor(row: models.Model, by: str, field: str) -> str:
    place = [by, _text(getattr(row, field)), _text(row.pk)]
    return base64.urlsafe_b64encode(json.dumps(place, ensure_ascii=False).encode()).decode().rstrip("=")


def _text(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _open(cursor: str, by: str) -> list[str]:
    try:
        if len(cursor) > LONGEST_CURSOR or not cursor.isascii():
            raise ValueError("not a cursor")
        place = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError):
        raise _bad_cursor() from None
    # A cursor of another order would silently skip rows.
    if not isinstance(place, list) or len(place) != 3 or place[0] != by or not all(isinstance(x, str) for x in place):
        raise _bad_cursor()
    if any(text != clean_text(text) for text in place):
        raise _bad_cursor()
    return place[1:]


def _bad_cursor() -> Invalid:
    return Invalid("The cursor is not one that this list gave out.", code="bad_cursor")
