"""The rows of a migration job: planned, written before the first move, moved and moved back by compare-and-set.

A job takes only files that stand at the top level. It writes `parent_page_id` and nothing else of a page: no text, no
`updated_at`, no key among the siblings. What a person moved meanwhile is left where he put it and named.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.core.accounts import audit
from watchbook.core.jobs import queue
from watchbook.library.errors import Conflict, JobConflict
from watchbook.library.models import (
    FolderMigrationControl,
    FolderMigrationJob,
    FolderMigrationJobItem,
    ItemStatus,
    JobStatus,
    NodeType,
    Page,
    Phase,
    Space,
)
from watchbook.library.store.pages import NewPage, add_page
from watchbook.library.store.rules import Place, check_place, folders_enabled, place_at

BATCH = 500
RUNS = {Phase.MIGRATE: "library.migrate", Phase.ROLLBACK: "library.rollback"}


@dataclass(frozen=True)
class PlannedMove:
    """One file of the top level and where it would go. `conflicts` are remarks; none of them stops the job."""

    page_id: UUID
    title: str
    new_parent_page_id: UUID | None
    new_parent_title: str
    conflicts: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """A dry run: what a job would do. Nothing of it is stored."""

    space: Space
    moves: tuple[PlannedMove, ...]
    folder_title: str
    folder_page_id: UUID | None
    # Why a job could not be started now; empty when it could.
    obstacles: tuple[str, ...]


def folder_title() -> str:
    return _("Unfiled pages")


def root_files(space: Space) -> Any:
    return Page.objects.below(space.pk, None).files()


def plan(space: Space, folder_page_id: UUID | None = None) -> Plan:
    folder = place_at(space, folder_page_id).parent
    title = folder.title if folder else folder_title()
    taken = set(Page.objects.below(space.pk, folder.pk).values_list("title", flat=True)) if folder else set()
    moves = tuple(
        PlannedMove(pk, name, folder.pk if folder else None, title, ("same_title",) if name in taken else ())
        for pk, name in root_files(space).in_order().values_list("pk", "title")
    )
    obstacles = [] if folders_enabled(space) else ["folders_disabled"]
    if FolderMigrationControl.objects.filter(active_space_id=space.pk).exists():
        obstacles.append("job_active")
    return Plan(space, moves, title, folder.pk if folder else None, tuple(obstacles))


def start(space: Space, user: Any, folder_page_id: UUID | None = None, *, queued: bool = True) -> FolderMigrationJob:
    """Job, folder and every item as pending, in the caller's transaction: the first move comes later."""
    if not folders_enabled(space):
        raise Conflict(_("Folders are switched off in this workspace."), code="folders_disabled")
    job = FolderMigrationJob(workspace_id=space.workspace_id, space=space, status=JobStatus.PENDING, created_by=user)
    job.save(force_insert=True)
    control = FolderMigrationControl(job=job, active_space_id=space.pk)
    try:
        with transaction.atomic():
            control.save(force_insert=True)
    except IntegrityError:
        raise JobConflict from None
    pending = list(root_files(space).in_order().values_list("pk", flat=True))
    if folder_page_id is None and pending:
        folder_page_id = add_page(Place(space), NewPage(folder_title(), NodeType.FOLDER), user, last=False).pk
        control.is_folder_ours = True
    elif folder_page_id is not None:
        check_place(place_at(space, folder_page_id), NodeType.FILE)
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
    """One more run of the job; the round in its key makes it one, however often the same request arrives."""
    control.round += 1
    control.save(update_fields=["round"])
    queue.enqueue(
        RUNS[Phase(control.phase)],
        {"job_id": str(control.job_id)},
        key=f"library:{control.job_id}:{control.round}",
        exclusive=f"library:{control.active_space_id}",
    )


def take_slot(control: FolderMigrationControl, space_id: UUID) -> None:
    """One job per space: the database keeps it."""
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
