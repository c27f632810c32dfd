"""Lists of the API with the filters and exports of their pages, and cursors for mirrors.

    class RunsQuery(DaysQuery):
        state: str = ""

    @router.get("/jobs/runs", response=RunPage)
    def list_runs(request, page: Query[RunsQuery]):
        return listed(request, RUNS, JobRun.objects.all(), page, make=run_out)

An unknown value is refused by the name of its filter. `format` answers the whole list as a file. `since=beginning`
answers the rows in the order in which they changed, with a cursor that answers only later ones: a mirror that keeps it
never reads the list twice.

Long lists by key: {"items": [...], "next": cursor or null}, any page as fast as the first.

    @router.get("/threads")
    def threads(request, page: Query[PageQuery]):
        return keyset(Thread.objects.all(), page, by="-thread_created_at", make=thread_out)

The rows are ordered by one column and then by the primary key, both in the same direction. The column has no NULLs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Literal, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest
from ninja import Schema
from pydantic import Field, ValidationInfo, field_validator

from watchbook.base import clock
from watchbook.base.text import clean_text
from watchbook.core.accounts.audit import export
from watchbook.core.api.errors import Invalid
from watchbook.kit.lists import List, Shown
from watchbook.kit.lists.shown import Changes, ShownHeld
from watchbook.kit.paging import InvalidCursor, after, as_text, as_value, decode_cursor, encode_cursor

M = TypeVar("M", bound=Model)

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
            return value  # refused when it is not one of ours, not corrected
        if isinstance(value, list):
            return [clean_text(one) if isinstance(one, str) else one for one in value]
        return clean_text(value) if isinstance(value, str) else value

    @field_validator("limit")
    @classmethod
    def _within_bounds(cls, value: int) -> int:
        return min(max(value, 1), MOST)


def keyset(
    rows: QuerySet[M],
    page: PageQuery,
    *,
    by: str = "-id",
    make: Callable[[M], Any] = lambda row: row,
    has_ties: bool = False,
    is_never_null: bool = False,
    null: str = "",
) -> dict[str, Any]:
    """One page of the rows and the cursor of the next. One query; with `has_ties` two.

    `has_ties` and `null`: as `kit.paging.after` says. `is_never_null`: the rows are filtered so that the column has no
    NULL among them.
    """
    field, descending = by.removeprefix("-"), by.startswith("-")
    key = rows.model._meta.pk.name
    field = key if field in {"id", "pk"} else field
    if getattr(rows.model._meta.get_field(field), "null", False) and not is_never_null:
        raise TypeError(f"{field} may be NULL: databases disagree where such rows stand, and pages would lose them")
    place = _place(rows.model, field, key, _open(page.cursor, by)) if page.cursor else None
    column = "pk" if field == key else field
    found = after(rows, column, place, page.limit + 1, is_rising=not descending, has_ties=has_ties, null=null)
    shown = found[: page.limit]
    more = len(found) > page.limit
    return {"items": [make(row) for row in shown], "next": _cursor(shown[-1], by, field) if more else None}


def _place(model: type[Model], field: str, key: str, parts: list[str]) -> tuple[Any, Any]:
    value, pk = (as_value(model._meta.get_field(name), text) for name, text in zip((field, key), parts, strict=True))
    return value, pk


def _cursor(row: Model, by: str, field: str) -> str:
    return encode_cursor([by, as_text(getattr(row, field)), as_text(row.pk)])


def _open(cursor: str, by: str) -> list[str]:
    order, *place = decode_cursor(cursor, 3)
    # A cursor of another order would silently skip rows.
    if order != by:
        raise InvalidCursor
    return place


BEGINNING = "beginning"
# In the cursors of mirrors, so that they are refused elsewhere.
MARK = "since"
# Transactions end in another order than their rows were numbered in; a mirror sees rows once none can come before them.
SETTLED_AFTER = timedelta(seconds=60)


class ListQuery(PageQuery):
    """?format= beside ?cursor=&limit= of every list that has an export."""

    format: Literal["", "json", "csv", "jsonl", "xlsx"] = Field(
        "", description="csv, jsonl or xlsx: the whole list with its filters as a file, without pages."
    )


MIRRORED = (
    "`beginning`: all in the order of their changes, with a cursor in `since` of the response; that cursor: only what "
    "changed after it."
)


class MirrorQuery(PageQuery):
    """?since= of lists that have no filter by time. Any other value than a cursor is refused."""

    since: str = Field("", description=MIRRORED)


def asks_for_changes(page: MirrorQuery) -> bool:
    """Does `since` hold a cursor? May raise Invalid."""
    if page.since and not is_mirror(page):
        raise Invalid(details=[{"field": "since", "message": "beginning, or a cursor that this list gave out"}])
    return bool(page.since)


class DaysQuery(ListQuery):
    """?days=&since=&until=&order= of lists by time."""

    days: str = Field("", description="today, 7d, last_week, or range with `since` and `until`.")
    since: str = Field("", description=f"First day or moment. {MIRRORED}")
    until: str = Field("", description="Last day, which counts whole; or a moment, which does not.")
    order: str = Field("", description="newest, the default, or oldest.")


def listed(
    request: HttpRequest, declared: List, rows: QuerySet[M], page: ListQuery, *, make: Callable[[M], Any]
) -> Any:
    """One page of the list, what changed since a cursor, or the whole list as a file."""
    if declared.changes and is_mirror(page):
        return mirrored(show(declared, rows, page, since="").rows, declared.changes, page, make=make)
    shown = show(declared, rows, page)
    by = f"{'' if shown.order.is_rising else '-'}{shown.order.by}"
    return export(request, shown) or keyset(shown.rows, page, by=by, make=make)


def show(declared: List, rows: QuerySet[M], page: PageQuery, **more: Any) -> Shown[M]:
    """The list as the page shows it. May raise Invalid, which names the filters with unknown values."""
    shown = declared.show(rows, given_filters(page) | more)
    refuse_unknown(shown)
    return shown


def show_held(declared: List, rows: Sequence[Any], page: PageQuery) -> ShownHeld:
    """The same for rows in memory."""
    shown = declared.show_held(rows, given_filters(page))
    refuse_unknown(shown)
    return shown


def given_filters(page: PageQuery) -> dict[str, Any]:
    """The parameters of a list that are given, as its page has them."""
    asked = {name: value for name, value in page.dict().items() if value not in (None, "")}
    return asked | ({"format": ""} if asked.get("format") == "json" else {})


def refuse_unknown(shown: Shown[Any]) -> None:
    if shown.wrong:
        raise Invalid(details=[{"field": name, "message": _values(shown, name)} for name in shown.wrong])


def _values(shown: Shown[Any], name: str) -> str:
    """Say which values a filter takes."""
    if name == "order":
        return f"one of {', '.join(each.name for each in shown.list.orders)}"
    options = [value for each in shown.list.filters if each.name == name for value, _title in each.options()]
    return f"one of {', '.join(options)}" if options else "not a value of this filter"


def is_mirror(page: PageQuery) -> bool:
    """Does `since` hold a cursor (which is no day)?"""
    given = getattr(page, "since", "")
    return isinstance(given, str) and (given == BEGINNING or given.startswith("WyJ"))


def mirrored(rows: QuerySet[M], changes: Changes, page: PageQuery, *, make: Callable[[M], Any]) -> dict[str, Any]:
    """Rows in the order of their changes, oldest first; `since` of the answer leads on, now or next week."""
    given = page.since  # type: ignore[attr-defined]
    settled = {f"{changes.at}__lte": clock.now() - SETTLED_AFTER}
    place = _open_changes(rows.model, changes, given)
    found = after(rows.filter(changes.where, **settled), changes.by, place, page.limit + 1, is_rising=True)
    items = found[: page.limit]
    since = _changes_cursor(changes, items[-1]) if items else given
    return {
        "items": [make(row) for row in items],
        "next": since if len(found) > page.limit else None,
        "since": since,
    }


def _changes_cursor(changes: Changes, row: Model) -> str:
    return encode_cursor([MARK, changes.by, as_text(getattr(row, changes.by)), as_text(row.pk)])


def _open_changes(model: type[Model], changes: Changes, given: str) -> tuple[Any, Any] | None:
    if given == BEGINNING:
        return None
    meta = model._meta
    try:
        mark, by, value, pk = decode_cursor(given, 4)
        if (mark, by) != (MARK, changes.by):
            raise InvalidCursor
        column = meta.pk if by == "pk" else meta.get_field(by)
        return as_value(column, value), as_value(meta.pk, pk)
    except InvalidCursor:
        raise Invalid(details=[{"field": "since", "message": "a cursor that this list gave out"}]) from None
