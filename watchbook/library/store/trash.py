"""Trash and restore. One act is one batch: it takes a page and what is alive below it, and gives back exactly these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from watchbook.base import clock
from watchbook.library.errors import NoLegalPlace
from watchbook.library.models import NodeType, Page, TrashBatch
from watchbook.library.models.walk import subtree
from watchbook.library.store import news
from watchbook.library.store.order import between
from watchbook.library.store.rules import Place, check_place, is_legal

BATCH = 500
OFFERED = 50


def trash(page: Page, user: Any) -> TrashBatch:
    """The page and everything alive below it leave the tree. What was in the trash before stays in its own batch."""
    ids = subtree(page.pk, page.space_id)
    now = clock.now()
    batch = TrashBatch.objects.create(
        space_id=page.space_id, page=page, page_count=len(ids), deleted_by=user, deleted_at=now
    )
    for some in chunks(ids):
        Page.objects.filter(pk__in=some, deleted_at=None).update(deleted_at=now, trash_batch=batch)
    news.remove(ids)
    return batch


def restore(batch: TrashBatch, place: Place | None) -> Page:
    """Back to where it was, or to the given place, if the matrix allows it there. NoLegalPlace offers others."""
    page = Page.objects.with_type().select_related("space").get(pk=batch.page_id)
    if place is None:
        place = _old_place(page)
        if place is None:
            raise NoLegalPlace(details={"targets": offers(page)})
    check_place(place, page.node_type, moved=page)
    if place.parent_id != page.parent_page_id:
        last = Page.objects.below(page.space_id, place.parent_id).order_by("-sort_key").first()
        page.sort_key = between(last.sort_key if last else None, None)
        page.parent_page_id, page.moved_at = place.parent_id, clock.now()
        page.save(update_fields=["sort_key", "parent_page_id", "moved_at"])
    ids = list(batch.pages.values_list("pk", flat=True))
    for some in chunks(ids):
        Page.objects.filter(pk__in=some, trash_batch=batch).update(deleted_at=None, trash_batch=None)
    batch.restored_at = clock.now()
    batch.save(update_fields=["restored_at"])
    for some in chunks(ids):
        news.put(Page.objects.filter(pk__in=some))
    page.deleted_at, page.trash_batch = None, None
    return page


def _old_place(page: Page) -> Place | None:
    """Where it was when that is still there and allowed; a folder may else stand at the top level."""
    top = Place(page.space)
    if page.parent_page_id is None:
        return top if is_legal(top, page.node_type) else None
    parent = Page.objects.live().with_type().filter(pk=page.parent_page_id, space_id=page.space_id).first()
    if parent is not None and is_legal(Place(page.space, parent), page.node_type):
        return Place(page.space, parent)
    return top if is_legal(top, page.node_type) else None


def offers(page: Page) -> list[dict[str, Any]]:
    """Folders of the space that could take it, the newest first."""
    folders = Page.objects.live().folders().filter(space_id=page.space_id).order_by("-updated_at", "id")[:OFFERED]
    found: list[dict[str, Any]] = [{"id": str(folder.pk), "title": folder.title} for folder in folders]
    if page.node_type == NodeType.FOLDER:
        return [{"id": None, "title": page.space.name}, *found]
    return found


def chunks(ids: Sequence[UUID], size: int = BATCH) -> Iterator[Sequence[UUID]]:
    """Pieces that every database takes as one list of parameters."""
    for start in range(0, len(ids), size):
        yield ids[start : start + size]
