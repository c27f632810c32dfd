"""Reads of the page tree, and the keys that sort siblings.

A key is text of [0-9a-z], because every collation of every database sorts these alike: a whole number with a head that
gives its length, then a fraction. Appending and prepending count up and down (100,000 appends end at five characters),
inserting between two neighbours grows the fraction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import OuterRef, Q, Subquery
from django.db.models.lookups import IsNull

from watchbook.kit.paging import InvalidCursor, as_moment, as_text, as_value, beyond, decode_cursor, encode_cursor
from watchbook.systems.library.models.listing import as_uuid, others, pinned
from watchbook.systems.library.models.pages import Page, PageNodeMeta, PageQuerySet

UP = """
WITH RECURSIVE up (id, parent_page_id, title) AS (
    SELECT id, parent_page_id, title FROM pages WHERE id = %s
    UNION
    SELECT above.id, above.parent_page_id, above.title FROM pages above JOIN up ON above.id = up.parent_page_id
)
SELECT id, parent_page_id, title FROM up
"""
# For showing, and asked with every page: counted instead of compared, which is quicker, and cut off in a ring.
WAY = """
WITH RECURSIVE up (id, parent_page_id, title, step) AS (
    SELECT id, parent_page_id, title, 0 FROM pages WHERE id = %s
    UNION ALL
    SELECT above.id, above.parent_page_id, above.title, up.step + 1
    FROM up JOIN pages above ON above.id = up.parent_page_id WHERE up.step < 500
)
SELECT id, title FROM up ORDER BY step DESC
"""
# Trashed pages and what hangs below them are passed over.
DOWN = """
WITH RECURSIVE down (id) AS (
    SELECT id FROM pages WHERE id = %s
    UNION
    SELECT below.id FROM pages below JOIN down ON below.parent_page_id = down.id
    WHERE below.deleted_at IS NULL AND below.space_id = %s
)
SELECT id FROM down
"""
# With what is in the trash: a restriction covers it too.
DOWN_ALL = """
WITH RECURSIVE down (id) AS (
    SELECT id FROM pages WHERE id = %s
    UNION
    SELECT below.id FROM pages below JOIN down ON below.parent_page_id = down.id
)
SELECT id FROM down
"""
LIVE_FROM_ROOTS = """
WITH RECURSIVE down (id) AS (
    SELECT id FROM pages WHERE space_id = %s AND parent_page_id IS NULL AND deleted_at IS NULL
    UNION
    SELECT below.id FROM pages below JOIN down ON below.parent_page_id = down.id
    WHERE below.deleted_at IS NULL AND below.space_id = %s
)
SELECT COUNT(*) FROM down
"""
# MariaDB stops a recursion silently after 1,000 steps unless set otherwise.
DEEPER = "SET STATEMENT max_recursive_iterations = 4294967295 FOR "


class Crumb(NamedTuple):
    """One level of a breadcrumb."""

    id: UUID
    title: str


def ancestors(page_id: UUID) -> list[Crumb]:
    """Return the path from the top level to the page; empty if the page does not exist. One query."""
    return [Crumb(as_uuid(pk), title) for pk, title in ask(WAY, page_id)]


def ancestors_and_self(page_id: UUID) -> set[UUID]:
    return {as_uuid(row[0]) for row in ask(UP, page_id)}


def subtree(page_id: UUID, space_id: UUID) -> list[UUID]:
    """The page and everything alive below it, parents before their children."""
    return [as_uuid(row[0]) for row in ask(DOWN, page_id, space_id)]


def whole_subtree(page_id: UUID) -> list[UUID]:
    """The page and everything below it, in the trash or not, parents before their children."""
    return [as_uuid(row[0]) for row in ask(DOWN_ALL, page_id)]


def paths(page_ids: Sequence[UUID]) -> dict[UUID, list[Crumb]]:
    """The path of each page from the top level down to the folder it is in. One query."""
    if not page_ids:
        return {}
    sql = UP.replace("id = %s", f"id IN ({', '.join(['%s'] * len(page_ids))})", 1)
    rows = {as_uuid(pk): (as_uuid(parent) if parent else None, title) for pk, parent, title in ask(sql, *page_ids)}
    found: dict[UUID, list[Crumb]] = {}
    for page_id in page_ids:
        here = rows.get(page_id, (None, ""))[0]
        way: list[Crumb] = []
        while here is not None and here in rows and len(way) < MOST:
            way.append(Crumb(here, rows[here][1]))
            here = rows[here][0]
        found[page_id] = way[::-1]
    return found


def reachable(space_id: UUID) -> int:
    """Count the live pages that can be reached from the top level of a space."""
    return int(ask(LIVE_FROM_ROOTS, space_id, space_id)[0][0])


def whole(ids: Iterable[UUID]) -> list[UUID]:
    """The given pages without those that are below another of them: each subtree is named by its top. One query."""
    wanted = list(dict.fromkeys(ids))
    if not wanted:
        return []
    sql = UP.replace("id = %s", f"id IN ({', '.join(['%s'] * len(wanted))})", 1)
    parents = {as_uuid(pk): as_uuid(parent) if parent else None for pk, parent, _title in ask(sql, *wanted)}
    return [pk for pk in wanted if not _is_below(pk, parents, set(wanted))]


def _is_below(pk: UUID, parents: dict[UUID, UUID | None], tops: set[UUID]) -> bool:
    seen: set[UUID] = {pk}
    here = parents.get(pk)
    while here is not None and here not in seen:
        if here in tops:
            return True
        seen.add(here)
        here = parents.get(here)
    return False


def ask(sql: str, *ids: UUID) -> list[tuple[Any, ...]]:
    """Return the rows of a plain query whose values are ids."""
    # The connection itself: each look through Django's stand-in for it costs as much as a step of the walk.
    database = connections[DEFAULT_DB_ALIAS]
    takes_uuid = database.features.has_native_uuid_field
    with database.cursor() as cursor:
        cursor.execute(
            DEEPER + sql if database.vendor == "mysql" else sql, [pk if takes_uuid else pk.hex for pk in ids]
        )
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


USUAL, MOST = 100, 500
FEW = 500
# How an order is named, the column it follows, and whether it runs backwards.
ORDERS = {"custom": ("sort_key", False), "updated": ("updated_at", True), "title": ("title", False)}


@dataclass(frozen=True)
class Children:
    """One screen of children with node_type, is_pinned, pinned_at and has_children. `next` is empty at the end."""

    items: Sequence[Page]
    next: str


Narrow = Callable[[PageQuerySet], PageQuerySet]


def children(
    space_id: UUID, parent_id: UUID | None, *, narrow: Narrow | None, cursor: str = "", limit: int = USUAL,
    order: str = "custom",
) -> Children:  # fmt: skip
    """Live children of a page (or of the top level): pinned ones first, the newest pin on top, then by `order`.

    `narrow` leaves those that the user can read; None: all of them.
    """
    if order not in ORDERS:
        raise KeyError(order)
    limit = min(max(limit, 1), MOST)
    stage, key, pk = _open(cursor, order) if cursor else ("pinned", "", "")
    read_pinned, read_others = _plain(space_id, parent_id) if narrow is None else _narrowed(space_id, parent_id, narrow)
    found: list[Page] = []
    if stage == "pinned":
        found = read_pinned(key, pk, limit + 1)
        key, pk = "", ""
    if len(found) <= limit:
        found += read_others(order, key, pk, limit + 1 - len(found))
    shown = found[:limit]
    return Children(shown, _cursor(shown[-1], order) if len(found) > limit else "")


Pinned = Callable[[str, str, int], list[Page]]
Others = Callable[[str, str, str, int], list[Page]]


def _plain(space_id: UUID, parent_id: UUID | None) -> tuple[Pinned, Others]:
    """How to read where nothing is hidden."""

    def read_pinned(key: str, pk: str, limit: int) -> list[Page]:
        return pinned(space_id, parent_id, limit, (as_moment(key), UUID(pk)) if pk else None)

    def read_others(order: str, key: str, pk: str, limit: int) -> list[Page]:
        column, is_backwards = ORDERS[order]
        after = (as_value(Page._meta.get_field(column), key), UUID(pk)) if pk else None
        return others(space_id, parent_id, limit, column=column, is_backwards=is_backwards, after=after)

    return read_pinned, read_others


def _narrowed(space_id: UUID, parent_id: UUID | None, narrow: Narrow) -> tuple[Pinned, Others]:
    rows = _rows(space_id, parent_id, narrow)
    return (
        lambda key, pk, limit: list(_pinned(rows, space_id, key, pk)[:limit]),
        lambda order, key, pk, limit: list(_unpinned(rows, order, key, pk)[:limit]),
    )


def _rows(space_id: UUID, parent_id: UUID | None, narrow: Narrow) -> PageQuerySet:
    below = Page.objects.filter(parent_page_id=OuterRef("pk"), space_id=OuterRef("space_id"), deleted_at=None)
    # As in `listing`: not EXISTS, and in the order of the index.
    first = narrow(below).in_order().values("pk")[:1]
    rows = narrow(Page.objects.below(space_id, parent_id)).with_type()
    return rows.annotate(has_children=IsNull(Subquery(first), rhs=False)).defer("content")


def _pinned(rows: PageQuerySet, space_id: UUID, key: str, pk: str) -> PageQuerySet:
    # By the index of the space's pins, of which there are few: a join would read each of 4,000 children.
    # IN, because SQLite uses no index for a bare boolean.
    pins = PageNodeMeta.objects.filter(space_id=space_id, is_pinned__in=[True]).values_list("page_id", flat=True)
    found = list(pins[: FEW + 1])
    rows = rows.filter(pk__in=found) if len(found) <= FEW else rows.filter(node_meta__is_pinned=True)
    rows = rows.order_by("-node_meta__pinned_at", "id")
    if not pk:
        return rows
    at = as_moment(key)
    return rows.filter(Q(node_meta__pinned_at__lt=at) | Q(node_meta__pinned_at=at, id__gt=pk))


def _unpinned(rows: PageQuerySet, order: str, key: str, pk: str) -> PageQuerySet:
    column, is_backwards = ORDERS[order]
    rows = rows.filter(Q(node_meta__is_pinned=False) | Q(node_meta__isnull=True))
    rows = rows.order_by(f"-{column}" if is_backwards else column, "id")
    if not pk:
        return rows
    value = as_value(Page._meta.get_field(column), key)
    return rows.filter(beyond(column, value, "id", pk, is_backwards=is_backwards, key_runs_on=True))


def _cursor(page: Page, order: str) -> str:
    is_pin = page.is_pinned and page.pinned_at
    stage, value = ("pinned", page.pinned_at) if is_pin else ("rest", getattr(page, ORDERS[order][0]))
    return encode_cursor([order, stage, as_text(value), str(page.pk)])


def _open(cursor: str, order: str) -> tuple[str, str, str]:
    given, stage, key, pk = decode_cursor(cursor, 4)
    if given != order or stage not in ("pinned", "rest"):
        raise InvalidCursor
    if stage == "pinned" or order == "updated":
        as_moment(key)
    return stage, key, str(as_value(Page._meta.pk, pk))


DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
BASE = len(DIGITS)
# Heads 0 … h are for numbers below zero, i … z for the others; the further from the middle, the more digits follow.
MIDDLE = DIGITS.index("i")
# Longer than this, and the whole row of siblings gets fresh keys.
LONG = 40


def between(before: str | None, after: str | None) -> str:
    """A key behind `before` and in front of `after`; None is the end of the row."""
    if before is not None and after is not None and before >= after:
        raise ValueError(f"{before!r} does not stand before {after!r}")
    if before is None and after is None:
        return "i0"
    if before is None:
        whole, fraction = _split(str(after))
        return whole if fraction else _step(whole, -1)
    if after is None:
        return _step(_split(before)[0], 1)
    return _inside(before, after)


def many_after(before: str | None, count: int) -> list[str]:
    """So many keys in a row, all behind `before`."""
    keys: list[str] = []
    for _ in range(count):
        before = between(before, None)
        keys.append(before)
    return keys


def _inside(before: str, after: str) -> str:
    whole, fraction = _split(before)
    other, other_fraction = _split(after)
    if whole == other:
        return whole + _fraction_between(fraction, other_fraction)
    following = _step(whole, 1)
    return following if following < after else whole + _fraction_between(fraction, "")


def _fraction_between(low: str, high: str) -> str:
    """A fraction above `low` and below `high`; an empty `high` is one. None ends in 0, so there is room below each."""
    shared = ""
    while high and (low[:1] or "0") == high[0]:
        shared, low, high = shared + high[0], low[1:], high[1:]
    first = DIGITS.index(low[0]) if low else 0
    last = DIGITS.index(high[0]) if high else BASE
    if last - first > 1:
        return shared + DIGITS[(first + last) // 2]
    if len(high) > 1:
        return shared + high[0]
    return shared + DIGITS[first] + _fraction_between(low[1:], "")


def _split(key: str) -> tuple[str, str]:
    size = 1 + _digits_of(key[0])
    if len(key) < size or any(character not in DIGITS for character in key):
        raise ValueError(f"{key!r} is not a key")
    return key[:size], key[size:]


def _digits_of(head: str) -> int:
    place = DIGITS.index(head)
    return place - MIDDLE + 1 if place >= MIDDLE else MIDDLE - place


def _step(whole: str, by: int) -> str:
    """The next or the previous whole number; past the last of its length the head changes."""
    head, digits = whole[0], list(whole[1:])
    for place in reversed(range(len(digits))):
        value = DIGITS.index(digits[place]) + by
        digits[place] = DIGITS[value % BASE]
        if 0 <= value < BASE:
            return head + "".join(digits)
    at = DIGITS.index(head) + by
    if not 0 <= at < BASE:
        raise ValueError("no key beyond this one")
    return DIGITS[at] + DIGITS[0 if by > 0 else -1] * _digits_of(DIGITS[at])
