"""The children of a page, a piece at a time: pins first, then in order. Any piece costs as much as the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from watchbook.core.cursors import BadPlace, as_moment, as_text, as_value, beyond, read_place, write_place
from watchbook.library.models.pages import Page, PageNodeMeta, PageQuerySet

USUAL, MOST = 100, 500
FEW = 500
# How an order is named, the column it follows, and whether it runs backwards.
ORDERS = {"custom": ("sort_key", False), "updated": ("updated_at", True), "title": ("title", False)}


class BadCursor(ValueError):
    """Not a cursor that this list gave out."""


@dataclass(frozen=True)
class Children:
    """One piece; each page has node_type, is_pinned, pinned_at and has_children. `next` is empty at the end."""

    items: Sequence[Page]
    next: str


def children(
    space_id: UUID, parent_id: UUID | None, *, cursor: str = "", limit: int = USUAL, order: str = "custom"
) -> Children:
    """Live children of a page (or of the top level): pinned ones first, the newest pin on top, then by `order`."""
    if order not in ORDERS:
        raise KeyError(order)
    limit = min(max(limit, 1), MOST)
    stage, key, pk = _open(cursor, order) if cursor else ("pinned", "", "")
    rows = _rows(space_id, parent_id)
    found: list[Page] = []
    if stage == "pinned":
        found = list(_pinned(rows, space_id, key, pk)[: limit + 1])
        key, pk = "", ""
    if len(found) <= limit:
        found += _unpinned(rows, order, key, pk)[: limit + 1 - len(found)]
    shown = found[:limit]
    return Children(shown, _cursor(shown[-1], order) if len(found) > limit else "")


def _rows(space_id: UUID, parent_id: UUID | None) -> PageQuerySet:
    below = Page.objects.filter(parent_page_id=OuterRef("pk"), space_id=OuterRef("space_id"), deleted_at=None)
    return Page.objects.below(space_id, parent_id).with_type().annotate(has_children=Exists(below)).defer("content")


def _pinned(rows: PageQuerySet, space_id: UUID, key: str, pk: str) -> PageQuerySet:
    # By the index of the space's pins, of which there are few: a join would look at every one of 4,000 children.
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
    return write_place([order, stage, as_text(value), str(page.pk)])


def _open(cursor: str, order: str) -> tuple[str, str, str]:
    try:
        given, stage, key, pk = read_place(cursor, 4)
        if given != order or stage not in ("pinned", "rest"):
            raise BadPlace
        if stage == "pinned" or order == "updated":
            as_moment(key)
        return stage, key, str(as_value(Page._meta.pk, pk))
    except BadPlace:
        raise BadCursor("The cursor is not one that this list gave out.") from None
