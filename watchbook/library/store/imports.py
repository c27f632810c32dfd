"""Pages that come from files: all of them or none, in the place somebody chose, as the matrix wants it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

from watchbook.base import clock
from watchbook.library.models import NodeType, Page, PageNodeMeta
from watchbook.library.parse.archive import PageRecord
from watchbook.library.store.order import many_after
from watchbook.library.store.pages import NewPage, add_page, clean_content, clean_title, insert
from watchbook.library.store.rules import Place, check_new, is_legal


def add_all(place: Place, records: Sequence[PageRecord], user: Any, *, wrap_title: str, reason: str) -> list[Page]:
    """Makes the pages at the end of the place. Files that may not stand there get a folder around all of them."""
    tops = [record for record in records if record.parent is None]
    wrapping: list[Page] = []
    if any(not is_legal(place, record.node_type) for record in tops):
        wrapping = [add_page(place, NewPage(wrap_title, NodeType.FOLDER), user, reason=reason)]
        place = Place(place.space, wrapping[0])
    for node_type in {record.node_type for record in tops}:
        check_new(place, node_type)
    rows = _rows(place, records, user)
    insert([(page, page.node_type) for page in rows], reason=reason, user=user, told=False)
    _pin(rows)
    return [*wrapping, *rows]


def _rows(place: Place, records: Sequence[PageRecord], user: Any) -> list[Page]:
    now = clock.now()
    keys = _keys(place, records)
    rows: list[Page] = []
    for record, key in zip(records, keys, strict=True):
        page = Page(
            id=uuid4(), space=place.space, title=clean_title(record.title), content=clean_content(record.content),
            parent_page_id=rows[record.parent].pk if record.parent is not None else place.parent_id,
            sort_key=key, created_by=user, updated_by=user, created_at=now, updated_at=now,
        )  # fmt: skip
        page.node_type, page.is_pinned, page.pinned_at = record.node_type, record.is_pinned, None
        rows.append(page)
    return rows


def _keys(place: Place, records: Sequence[PageRecord]) -> list[str]:
    """Siblings in the order of the list, behind those who are there already."""
    last = Page.objects.below(place.space.pk, place.parent_id).order_by("-sort_key").values_list("sort_key", flat=True)
    counts: dict[int | None, int] = {}
    for record in records:
        counts[record.parent] = counts.get(record.parent, 0) + 1
    waiting = {
        parent: iter(many_after(last.first() if parent is None else None, count)) for parent, count in counts.items()
    }
    return [next(waiting[record.parent]) for record in records]


def _pin(rows: Sequence[Page]) -> None:
    pinned: list[UUID] = [page.pk for page in rows if page.is_pinned]
    if pinned:
        PageNodeMeta.objects.filter(page_id__in=pinned).update(is_pinned=True, pinned_at=clock.now())
