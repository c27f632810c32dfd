"""Removing for good. What is purged is marked in one transaction and is nowhere from then on; its rows go in pieces.

So a subtree of any size needs only short locks, and a crash in between leaves nothing that is half there: what is
marked cannot be restored, and the next run of the job takes the rest away.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.crash import crash_point
from watchbook.core.accounts import audit
from watchbook.core.jobs import queue
from watchbook.core.jobs.actions import exclusive_name
from watchbook.library.errors import Conflict, JobConflict
from watchbook.library.models import (
    FolderMigrationControl,
    FolderMigrationJob,
    ItemStatus,
    Page,
    Space,
    TrashBatch,
    Workspace,
)
from watchbook.library.options import TRASH_DAYS
from watchbook.library.store import news

# Pages removed in one transaction, with all their versions.
PIECE = 200
JOB = "library.empty_trash"


def stays_until(deleted_at: datetime) -> datetime | None:
    """When something in the trash is removed for good; None when it stays for ever."""
    return deleted_at + timedelta(days=TRASH_DAYS.value) if TRASH_DAYS.value else None


def purge(batch: TrashBatch, user: Any = None) -> None:
    """Nobody can restore it any more. The caller holds the lock of the space."""
    check_free(batch.space_id)
    if _held(TrashBatch.objects.filter(pk=batch.pk)):
        raise Conflict(_("A page below it is in use. Move that page first."), code="in_use")
    batch.purged_at = clock.now()
    batch.save(update_fields=["purged_at"])
    audit.record(
        "library.purged", actor=user, subject=str(batch.space_id), title=batch.page.title, pages=batch.page_count
    )


def purge_all(space: Space, user: Any) -> int:
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
    """A migration counts on its pages while it is at work."""
    if FolderMigrationControl.objects.filter(active_space_id=space_id).exists():
        raise JobConflict


def _held(batches: Any) -> list[UUID]:
    """Those with a page in use below one of theirs. There should be none; such a page must never lose its place."""
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


def remove_place(place: Workspace | Space) -> None:
    """The row itself and its small rows, when no page is left in it."""
    kind = "workspace" if isinstance(place, Workspace) else "space"
    audit.record("library.purged", subject=str(place.pk), place=kind, title=place.name)
    place.delete()


def _remove(ids: Sequence[UUID]) -> None:
    """Pages with all that hangs on them: versions, links, favourites, origins, search documents, stream lines."""
    jobs = list(FolderMigrationJob.objects.filter(items__page_id__in=ids).distinct())
    # Trashed by an earlier act, these stay: their old place is gone, and a restore will ask for another.
    Page.objects.filter(parent_page_id__in=ids).update(parent_page=None, moved_at=clock.now())
    # First: MariaDB looks at once whether a batch still points to a page that goes.
    TrashBatch.objects.filter(page_id__in=ids).delete()
    news.forget(ids)
    Page.objects.filter(pk__in=ids).only("pk").delete()
    for job in jobs:
        _recount(job)
    crash_point("library.purge.piece")


def _recount(job: FolderMigrationJob) -> None:
    """A migration does not count what is gone for good; its books would never agree again."""
    done = ~Q(status__in=[ItemStatus.FAILED, ItemStatus.PENDING])
    found = job.items.aggregate(
        total=Count("page_id"), failed=Count("page_id", filter=Q(status=ItemStatus.FAILED)),
        success=Count("page_id", filter=done),
    )  # fmt: skip
    FolderMigrationJob.objects.filter(pk=job.pk).update(
        total_count=found["total"], failed_count=found["failed"], success_count=found["success"]
    )
