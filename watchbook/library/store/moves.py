"""One batch of a migration, forward or back. The caller holds the lock of the space, so what is read stays true."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from watchbook.base.crash import crash_point
from watchbook.library.models import FolderMigrationJob, FolderMigrationJobItem, ItemStatus, NodeType, Page
from watchbook.library.store.migration import count, mark

# Pages moved in one transaction: the space is locked for as long as that takes.
BATCH = 500

MOVED_SINCE = "conflict_moved_since"
DELETED = "page_deleted"
TARGET_GONE = "target_gone"
NOT_A_FILE = "not_a_file"
CANCELED = "canceled"


def migrate_batch(job: FolderMigrationJob) -> int:
    """Moves the next pending items; gives how many were settled."""
    items = list(job.items.filter(status=ItemStatus.PENDING).order_by("page_id")[:BATCH])
    if not items:
        return 0
    pages = Page.objects.with_type().in_bulk([item.page_id for item in items])
    targets = _live_folders(job, items)
    verdicts: dict[str, list[FolderMigrationJobItem]] = {}
    for item in items:
        verdicts.setdefault(_verdict(job, item, pages.get(item.page_id), targets), []).append(item)
    for code, some in verdicts.items():
        ids = [item.page_id for item in some]
        if code:
            mark(job, ids, ItemStatus.FAILED, code)
        else:
            _set_parent(some, forward=True)
            crash_point("library.migrate.moved")
            mark(job, ids, ItemStatus.SUCCESS)
    count(job)
    return len(items)


def rollback_batch(job: FolderMigrationJob, after: UUID | None) -> Sequence[FolderMigrationJobItem]:
    """Moves the next items back to exactly where they were; what stands elsewhere by now is left alone and named."""
    wanted = job.items.filter(status__in=[ItemStatus.SUCCESS, ItemStatus.CONFLICT]).order_by("page_id")
    items = list((wanted.filter(page_id__gt=after) if after else wanted)[:BATCH])
    parents = dict(Page.objects.filter(pk__in=[item.page_id for item in items]).values_list("pk", "parent_page_id"))
    there = [item for item in items if parents.get(item.page_id) == item.new_parent_page_id]
    elsewhere = [item.page_id for item in items if parents.get(item.page_id) != item.new_parent_page_id]
    _set_parent(there, forward=False)
    crash_point("library.rollback.moved")
    mark(job, [item.page_id for item in there], ItemStatus.ROLLED_BACK)
    mark(job, elsewhere, ItemStatus.CONFLICT, MOVED_SINCE)
    return items


def _verdict(job: FolderMigrationJob, item: FolderMigrationJobItem, page: Page | None, targets: set[UUID]) -> str:
    """Empty when the item may be moved, else the code of what is in its way."""
    if page is None or page.deleted_at is not None:
        return DELETED
    if page.parent_page_id != item.old_parent_page_id or page.space_id != job.space_id:
        return MOVED_SINCE
    if page.node_type != NodeType.FILE:
        return NOT_A_FILE
    return "" if item.new_parent_page_id in targets else TARGET_GONE


def _live_folders(job: FolderMigrationJob, items: Sequence[FolderMigrationJobItem]) -> set[UUID]:
    wanted = {item.new_parent_page_id for item in items}
    folders = Page.objects.live().folders().filter(space_id=job.space_id, pk__in=wanted)
    return set(folders.values_list("pk", flat=True))


def _set_parent(items: Sequence[FolderMigrationJobItem], *, forward: bool) -> None:
    """Compare-and-set in the statement itself, for each pair of parents: nothing but the parent is written."""
    by_pair: dict[tuple[UUID | None, UUID | None], list[UUID]] = {}
    for item in items:
        pair = (item.old_parent_page_id, item.new_parent_page_id)
        by_pair.setdefault(pair if forward else pair[::-1], []).append(item.page_id)
    for (have, want), ids in by_pair.items():
        Page.objects.filter(pk__in=ids, parent_page_id=have).update(parent_page_id=want)
