"""Rows of a folder migration: plan, items, and moves in both directions.

A migration takes only pages at the top level. It writes `parent_page_id` and nothing else of a page: no text, no
`updated_at`, no sort key. Pages that a user moved in the meantime stay where they are and are listed.
Callers of the batch functions hold the lock of the space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.work import crash_point
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.core.jobs import queue
from watchbook.systems.library.errors import Conflict, JobConflict
from watchbook.systems.library.models import (
    FolderMigrationControl,
    FolderMigrationJob,
    FolderMigrationJobItem,
    ItemStatus,
    JobStatus,
    NodeType,
    Page,
    PageGuard,
    Phase,
    Space,
)
from watchbook.systems.library.store import Parent, check_parent, folders_enabled, guards, parent_at
from watchbook.systems.library.store.pages import NewPage, add_page

BATCH = 500
NOTHING_TO_MOVE = "nothing_to_move"
RUNS = {Phase.MIGRATE: "library.migrate", Phase.ROLLBACK: "library.rollback"}


@dataclass(frozen=True)
class PlannedMove:
    """One top-level page and its target. `conflicts` are warnings; none of them stops the job."""

    page_id: UUID
    title: str
    new_parent_page_id: UUID | None
    new_parent_title: str
    conflicts: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """A dry run. Nothing of it is stored."""

    space: Space
    moves: tuple[PlannedMove, ...]
    folder_title: str
    folder_page_id: UUID | None
    # Why a job could not be started now; empty when it could.
    obstacles: tuple[str, ...]


def folder_title() -> str:
    return _("Unsorted pages")


def root_files(space: Space) -> Any:
    return Page.objects.below(space.pk, None).files()


def plan(space: Space, folder_page_id: UUID | None = None) -> Plan:
    folder = parent_at(space, folder_page_id).parent
    title = folder.title if folder else folder_title()
    taken = set(Page.objects.below(space.pk, folder.pk).values_list("title", flat=True)) if folder else set()
    moves = tuple(
        PlannedMove(pk, name, folder.pk if folder else None, title, ("same_title",) if name in taken else ())
        for pk, name in root_files(space).in_order().values_list("pk", "title")
    )
    obstacles = [] if folders_enabled(space) else ["folders_disabled"]
    if FolderMigrationControl.objects.filter(active_space_id=space.pk).exists():
        obstacles.append("job_active")
    if not moves:
        obstacles.append(NOTHING_TO_MOVE)
    return Plan(space, moves, title, folder.pk if folder else None, tuple(obstacles))


def start(
    space: Space, user: User | None, folder_page_id: UUID | None = None, *, queued: bool = True
) -> FolderMigrationJob:
    """Job, folder and every item as pending, in the caller's transaction: the first move comes later."""
    if not folders_enabled(space):
        raise Conflict(_("Folders are disabled in this workspace."), code="folders_disabled")
    if folder_page_id is not None:
        check_parent(parent_at(space, folder_page_id), NodeType.FILE)
    if FolderMigrationControl.objects.filter(active_space_id=space.pk).exists():
        raise JobConflict
    pending = list(root_files(space).in_order().values_list("pk", flat=True))
    if not pending:
        raise JobConflict(
            _("This space has no pages at the top level. There is nothing to move."), code=NOTHING_TO_MOVE
        )
    job = FolderMigrationJob(workspace_id=space.workspace_id, space=space, status=JobStatus.PENDING, created_by=user)
    job.save(force_insert=True)
    control = FolderMigrationControl(job=job, active_space_id=space.pk)
    try:
        with transaction.atomic():
            control.save(force_insert=True)
    except IntegrityError:
        raise JobConflict from None
    if folder_page_id is None:
        folder_page_id = add_page(Parent(space), NewPage(folder_title(), NodeType.FOLDER), user, last=False).pk
        control.is_folder_ours = True
    control.folder_page_id = folder_page_id
    control.save(update_fields=["folder_page_id", "is_folder_ours"])
    _write_items(job, pending, folder_page_id)
    audit.record("library.migration", actor=user, subject=str(space.pk), job=job.pk, pages=len(pending))
    if queued:
        enqueue(control)
    return job


def _write_items(job: FolderMigrationJob, pages: list[UUID], folder_page_id: UUID | None) -> None:
    now = clock.now()
    FolderMigrationJobItem.objects.bulk_create(
        [
            FolderMigrationJobItem(
                job=job, page_id=pk, old_parent_page_id=None, new_parent_page_id=folder_page_id,
                status=ItemStatus.PENDING, updated_at=now,
            )
            for pk in pages
        ],
        batch_size=BATCH,
    )  # fmt: skip
    job.total_count = len(pages)
    job.save(update_fields=["total_count"])


def enqueue(control: FolderMigrationControl) -> None:
    """Queue one run of the job. The round in its key makes repeated requests one run."""
    control.round += 1
    control.save(update_fields=["round"])
    queue.enqueue(
        RUNS[Phase(control.phase)],
        {"job_id": str(control.job_id)},
        key=f"library:{control.job_id}:{control.round}",
        exclusive=f"library:{control.active_space_id}",
    )


def reserve_space(control: FolderMigrationControl, space_id: UUID) -> None:
    """Reserve the space for this job. A unique column allows one job per space."""
    control.active_space_id = space_id
    try:
        with transaction.atomic():
            control.save(update_fields=["active_space_id"])
    except IntegrityError:
        raise JobConflict from None


def count(job: FolderMigrationJob) -> None:
    """Counts come from the items, never from adding up. A rollback does not change what the migration did."""
    found = dict(job.items.values_list("status").annotate(n=Count("page_id")).values_list("status", "n"))
    job.failed_count = found.get(ItemStatus.FAILED, 0)
    pending = found.get(ItemStatus.PENDING, 0)
    job.success_count = sum(found.values()) - job.failed_count - pending
    job.updated_at = clock.now()


def mark(job: FolderMigrationJob, pages: list[UUID], status: str, error_code: str | None = None) -> None:
    if pages:
        job.items.filter(page_id__in=pages).update(status=status, error_code=error_code, updated_at=clock.now())


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
    """Move the next items back to their old parents. Skip and mark pages that are elsewhere now."""
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
    """Return an empty code if the item can be moved, otherwise the reason."""
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
        # Most folders are open: then nothing changes for what is moved.
        if PageGuard.objects.filter(page__in=[pk for pk in (have, want) if pk]).exists():
            for page in Page.objects.filter(pk__in=ids).select_related("space"):
                guards.follow(page)
