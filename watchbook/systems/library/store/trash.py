"""Trash, restore and permanent deletion.

One deletion is one batch: a page and all live pages below it. A restore covers exactly these pages. A permanent
deletion marks the batch first; its rows are then removed in pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.work import crash_point
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.core.jobs import queue
from watchbook.core.jobs.queue import exclusive_name
from watchbook.systems.library.errors import Conflict, JobConflict, NoAllowedParent
from watchbook.systems.library.models import (
    FolderMigrationControl,
    FolderMigrationJob,
    ItemStatus,
    NodeType,
    Page,
    Space,
    TrashBatch,
    Workspace,
)
from watchbook.systems.library.models.tree import Narrow, between, subtree
from watchbook.systems.library.options import TRASH_DAYS
from watchbook.systems.library.store import Parent, check_parent, chunks, guards, is_legal, publish

OFFERED = 50


def trash(page: Page, user: User | None) -> TrashBatch:
    """Move the page and all live pages below it to the trash. Earlier batches stay as they are."""
    ids = subtree(page.pk, page.space_id)
    now = clock.now()
    batch = TrashBatch.objects.create(
        space_id=page.space_id, page=page, page_count=len(ids), deleted_by=user, deleted_at=now
    )
    for some in chunks(ids):
        Page.objects.filter(pk__in=some, deleted_at=None).update(deleted_at=now, trash_batch=batch)
    publish.remove(ids)
    return batch


def restore(batch: TrashBatch, place: Parent | None, narrow: Narrow) -> Page:
    """Restore to the old parent or to the given one. NoAllowedParent lists folders that `narrow` leaves."""
    page = Page.objects.with_type().select_related("space").get(pk=batch.page_id)
    if place is None:
        place = _old_parent(page)
        if place is None:
            raise NoAllowedParent(details={"targets": offers(page, narrow)})
    check_parent(place, page.node_type, moved=page)
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
    # What is above it may have been restricted in between.
    guards.recompute(ids)
    page.deleted_at, page.trash_batch = None, None
    return page


def _old_parent(page: Page) -> Parent | None:
    """Return the old parent if it exists and is allowed; otherwise the top level for a folder, or None."""
    top = Parent(page.space)
    if page.parent_page_id is None:
        return top if is_legal(top, page.node_type) else None
    parent = Page.objects.live().with_type().filter(pk=page.parent_page_id, space_id=page.space_id).first()
    if parent is not None and is_legal(Parent(page.space, parent), page.node_type):
        return Parent(page.space, parent)
    return top if is_legal(top, page.node_type) else None


def offers(page: Page, narrow: Narrow) -> list[dict[str, Any]]:
    """Return the folders of the space that could hold the page, newest first."""
    rows = narrow(Page.objects.live().filter(space_id=page.space_id)).folders()
    folders = rows.order_by("-updated_at", "id")[:OFFERED]
    found: list[dict[str, Any]] = [{"id": str(folder.pk), "title": folder.title} for folder in folders]
    if page.node_type == NodeType.FOLDER:
        return [{"id": None, "title": page.space.name}, *found]
    return found


# Pages removed in one transaction, with all their versions.
PIECE = 200
JOB = "library.empty_trash"


def stays_until(deleted_at: datetime) -> datetime | None:
    """Return when something in the trash is deleted permanently; None for never."""
    return deleted_at + timedelta(days=TRASH_DAYS.value) if TRASH_DAYS.value else None


def purge(batch: TrashBatch, user: User | None = None) -> None:
    """Mark a batch as permanently deleted. The caller holds the lock of the space."""
    check_free(batch.space_id)
    if _held(TrashBatch.objects.filter(pk=batch.pk)):
        raise Conflict(_("A page below this page is not in the trash. Move that page first."), code="in_use")
    batch.purged_at = clock.now()
    batch.save(update_fields=["purged_at"])
    audit.record("library.purged", actor=user, subject=str(batch.space_id), page=batch.page_id, pages=batch.page_count)


def purge_all(space: Space, user: User) -> int:
    """The whole trash of a space, in three queries; gives how many acts of trashing it held."""
    check_free(space.pk)
    found = TrashBatch.objects.open().filter(space=space)
    chosen = found.exclude(pk__in=_held(found))
    pages = sum(chosen.values_list("page_count", flat=True))
    count = chosen.update(purged_at=clock.now())
    if count:
        audit.record("library.purged", actor=user, subject=str(space.pk), items=count, pages=pages)
    return count


def soon() -> None:
    """The rows go right after the commit, not only at night."""
    queue.enqueue(JOB, exclusive=exclusive_name(JOB))


def check_free(space_id: UUID) -> None:
    """A migration counts on its pages while it runs."""
    if FolderMigrationControl.objects.filter(active_space_id=space_id).exists():
        raise JobConflict


def _held(batches: Any) -> list[UUID]:
    """Return batches with a live page below one of theirs. There should be none; such a page must keep its parent."""
    live = Page.objects.live().filter(parent_page__trash_batch__in=batches.values("pk"))
    return list(live.values_list("parent_page__trash_batch_id", flat=True).distinct())


def remove_piece(batch: TrashBatch) -> int:
    """Some pages of a purged batch, its top with the last of them; gives how many. The batch goes with its top."""
    rows = Page.objects.filter(trash_batch=batch).exclude(pk=batch.page_id)
    ids = list(rows.order_by("pk").values_list("pk", flat=True)[:PIECE])
    if len(ids) < PIECE:
        ids.append(batch.page_id)
    _remove(ids)
    return len(ids)


def remove_piece_of(space: Space) -> int:
    """Some pages of a space whose days in the trash are over; 0 when none is left."""
    ids = list(Page.objects.filter(space=space).order_by("pk").values_list("pk", flat=True)[:PIECE])
    if ids:
        _remove(ids)
    return len(ids)


def remove_container(place: Workspace | Space) -> None:
    """The row itself and its small rows, when no page is left in it."""
    kind = "workspace" if isinstance(place, Workspace) else "space"
    audit.record("library.purged", subject=str(place.pk), place=kind, title=place.name)
    place.delete()


def _remove(ids: Sequence[UUID]) -> None:
    """Delete pages with versions, links, favourites, origins, search documents and activity entries."""
    jobs = list(FolderMigrationJob.objects.filter(items__page_id__in=ids).distinct())
    # Trashed by an earlier act, these stay: their old place is gone, and a restore will ask for another.
    left = guards.keep_hidden(ids)
    Page.objects.filter(parent_page_id__in=ids).update(parent_page=None, moved_at=clock.now())
    # First: MariaDB checks immediately whether a batch still points to a page that goes.
    TrashBatch.objects.filter(page_id__in=ids).delete()
    publish.erase_pages(ids)
    Page.objects.filter(pk__in=ids).only("pk").delete()
    guards.recompute(left)
    for job in jobs:
        _recount(job)
    crash_point("library.purge.piece")


def _recount(job: FolderMigrationJob) -> None:
    """Recount migrations without the deleted pages; otherwise their consistency check would fail."""
    done = ~Q(status__in=[ItemStatus.FAILED, ItemStatus.PENDING])
    found = job.items.aggregate(
        total=Count("page_id"), failed=Count("page_id", filter=Q(status=ItemStatus.FAILED)),
        success=Count("page_id", filter=done),
    )  # fmt: skip
    FolderMigrationJob.objects.filter(pk=job.pk).update(
        total_count=found["total"], failed_count=found["failed"], success_count=found["success"]
    )
