"""Folder migrations: run, roll back, pause, resume, cancel and retry.

Moving and rolling back work in batches of one transaction each. A killed run continues after the last batch.
Each control function is one transaction under the lock of the space.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.work import crash_point
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.core.jobs.runner import JobContext, Later, Outcome
from watchbook.systems.library.errors import JobConflict, OtherChannel
from watchbook.systems.library.models import FOLDERS_ENABLED, FolderMigrationJob, ItemStatus, JobStatus, Page, Phase
from watchbook.systems.library.store import take, writing
from watchbook.systems.library.store.migrations import (
    CANCELED,
    count,
    enqueue,
    migrate_batch,
    reserve_space,
    rollback_batch,
)
from watchbook.systems.library.store.reconcile import keep
from watchbook.systems.library.store.trash import trash
from watchbook.systems.library.store.workspaces import write_flags

# A run taken by the wrong deployment goes back to the queue, for a worker of the right one.
OTHER_CHANNEL_SECONDS = 30


def migrate(ctx: JobContext, job_id: str) -> Outcome:
    """Move batches until nothing is pending, or until the job was paused or cancelled."""
    while _migrate_step(ctx, UUID(job_id)):
        job = FolderMigrationJob.objects.get(pk=job_id)
        ctx.report(total=job.total_count, moved=job.success_count, failed=job.failed_count)
    job = FolderMigrationJob.objects.get(pk=job_id)
    figures = {"total": job.total_count, "moved": job.success_count, "failed": job.failed_count}
    return Outcome("done", figures) if job.is_over else Outcome("paused", figures)


def _migrate_step(ctx: JobContext, job_id: UUID) -> bool:
    """Lock, check the state, move one batch and count, in one transaction. False at the end."""
    try:
        with ctx.writing():
            found = FolderMigrationJob.objects.select_related("space").get(pk=job_id)
            take(found.space_id)
            job = FolderMigrationJob.objects.select_related("control", "workspace").get(pk=job_id)
            going_on = _advance(job)
        crash_point("library.migrate.batch")
        return going_on
    except OtherChannel:
        raise Later(OTHER_CHANNEL_SECONDS, "another release channel owns the workspace") from None


def _advance(job: FolderMigrationJob) -> bool:
    control = job.control
    if job.is_over or control.phase != Phase.MIGRATE:
        return False
    if control.paused_at is not None:
        job.status = JobStatus.PENDING
        job.save(update_fields=["status"])
        return False
    if control.started_at is None:
        control.started_at = clock.now()
        control.save(update_fields=["started_at"])
    job.status = JobStatus.RUNNING
    settled = migrate_batch(job)
    if not settled:
        _finish_migration(job)
    job.save(update_fields=["status", "success_count", "failed_count", "updated_at"])
    if not settled:
        keep(job.workspace, job.created_by, job)
    return settled > 0


def _finish_migration(job: FolderMigrationJob) -> None:
    count(job)
    job.status = JobStatus.FAILED if job.items.filter(status=ItemStatus.FAILED).exists() else JobStatus.SUCCESS
    release(job)


def release(job: FolderMigrationJob) -> None:
    """The space is free for the next job."""
    control = job.control
    control.active_space_id, control.finished_at, control.paused_at = None, clock.now(), None
    control.save(update_fields=["active_space_id", "finished_at", "paused_at"])
    crash_point("library.migrate.released")


def roll_back(ctx: JobContext, job_id: str) -> Outcome:
    """Move batches back, each after the last one. A killed run starts again and finds most of the work done."""
    last: UUID | None = None
    going_on = True
    while going_on:
        going_on, last = _rollback_step(ctx, UUID(job_id), last)
        ctx.report(**_rollback_figures(job_id))
    return Outcome("done", _rollback_figures(job_id))


def _rollback_figures(job_id: str) -> dict[str, Any]:
    items = FolderMigrationJob.objects.get(pk=job_id).items
    return {
        "rolled_back": items.filter(status=ItemStatus.ROLLED_BACK).count(),
        "left_alone": items.filter(status=ItemStatus.CONFLICT).count(),
    }


def _rollback_step(ctx: JobContext, job_id: UUID, last: UUID | None) -> tuple[bool, UUID | None]:
    try:
        with ctx.writing():
            found = FolderMigrationJob.objects.get(pk=job_id)
            take(found.space_id, for_rollback=True)
            job = FolderMigrationJob.objects.select_related("control", "workspace", "created_by").get(pk=job_id)
            if job.control.phase != Phase.ROLLBACK or job.control.active_space_id is None:
                return False, last
            items = rollback_batch(job, last)
            if not items:
                _finish_rollback(job)
        crash_point("library.rollback.batch")
    except OtherChannel:
        raise Later(OTHER_CHANNEL_SECONDS, "another release channel owns the workspace") from None
    return bool(items), items[-1].page_id if items else last


def _finish_rollback(job: FolderMigrationJob) -> None:
    _trash_folder(job)
    job.status, job.updated_at = JobStatus.ROLLED_BACK, clock.now()
    job.save(update_fields=["status", "updated_at"])
    release(job)
    keep(job.workspace, job.created_by, job)


def _trash_folder(job: FolderMigrationJob) -> None:
    """The folder that the job made goes to the trash when nothing is left in it."""
    control = job.control
    if not control.is_folder_ours or control.folder_page_id is None:
        return
    folder = Page.objects.live().with_type().select_related("space").filter(pk=control.folder_page_id).first()
    if folder is not None and not Page.objects.filter(parent_page_id=folder.pk).exists():
        trash(folder, job.created_by)


@contextmanager
def _held(job: FolderMigrationJob, user: User | None, what: str) -> Iterator[FolderMigrationJob]:
    with writing(job.space_id, structural=False):
        held = FolderMigrationJob.objects.select_related("control", "workspace", "space").get(pk=job.pk)
        yield held
        audit.record(f"library.migration_{what}", actor=user, subject=str(job.space_id), job=job.pk)


def pause(job: FolderMigrationJob, user: User | None) -> None:
    """Stop the job before its next batch. It keeps its reservation of the space."""
    with _held(job, user, "paused") as held:
        _only_at_work(held)
        held.control.paused_at = clock.now()
        held.control.save(update_fields=["paused_at"])
        held.status = JobStatus.PENDING
        _save(held)


def resume(job: FolderMigrationJob, user: User | None, *, queued: bool = True) -> None:
    """Continue after a pause, or after the worker was lost."""
    with _held(job, user, "resumed") as held:
        if held.control.active_space_id is None:
            raise _job_finished()
        held.control.paused_at = None
        held.control.save(update_fields=["paused_at"])
        if queued:
            enqueue(held.control)


def cancel(job: FolderMigrationJob, user: User | None) -> None:
    """Fail the pending items. Moved pages stay where they are."""
    with _held(job, user, "canceled") as held:
        _only_at_work(held)
        held.items.filter(status=ItemStatus.PENDING).update(
            status=ItemStatus.FAILED, error_code=CANCELED, updated_at=clock.now()
        )
        count(held)
        held.status = JobStatus.CANCELED
        _save(held)
        release(held)
        keep(held.workspace, user, held)


def retry(job: FolderMigrationJob, user: User | None, *, queued: bool = True) -> None:
    """Failed items become pending once more."""
    with _held(job, user, "retried") as held:
        if held.status not in (JobStatus.FAILED, JobStatus.CANCELED) or held.control.phase != Phase.MIGRATE:
            raise JobConflict(_("Only failed or cancelled jobs can be retried."), code="not_failed")
        reserve_space(held.control, held.space_id)
        held.items.filter(status=ItemStatus.FAILED).update(
            status=ItemStatus.PENDING, error_code=None, updated_at=clock.now()
        )
        count(held)
        held.status = JobStatus.PENDING
        held.control.finished_at = None
        held.control.save(update_fields=["finished_at"])
        _save(held)
        if queued:
            enqueue(held.control)


def begin_rollback(job: FolderMigrationJob, user: User | None, *, queued: bool = True) -> None:
    """Start the rollback of a finished job. Pages that users moved since are skipped and reported.

    In the order of the seed: no other change of the page tree is accepted (`store.take`), folders are disabled, the
    parents are restored, the consistency check runs and is stored.
    """
    with _held(job, user, "rollback") as held:
        if not held.is_over:
            raise JobConflict
        reserve_space(held.control, held.space_id)
        held.control.phase, held.control.finished_at = Phase.ROLLBACK, None
        held.control.save(update_fields=["phase", "finished_at"])
        write_flags(held.workspace, user, {FOLDERS_ENABLED: False})
        # The pages leave their new folder from now on: the job is no success any more.
        held.status = JobStatus.RUNNING
        _save(held)
        if queued:
            enqueue(held.control)


def _only_at_work(job: FolderMigrationJob) -> None:
    if job.is_over or job.control.phase != Phase.MIGRATE:
        raise _job_finished()


def _job_finished() -> JobConflict:
    return JobConflict(_("This job has finished."), code="job_over")


def _save(job: FolderMigrationJob) -> None:
    job.updated_at = clock.now()
    job.save(update_fields=["status", "success_count", "failed_count", "updated_at"])
