"""Moving the files of a top level into a folder, a batch at a time; killed anywhere, the next run goes on."""

from __future__ import annotations

from uuid import UUID

from watchbook.base import clock
from watchbook.base.crash import crash_point
from watchbook.core.jobs.context import JobContext, Outcome
from watchbook.core.jobs.errors import Later
from watchbook.library.errors import WrongChannel
from watchbook.library.models import FolderMigrationJob, ItemStatus, JobStatus, Phase
from watchbook.library.store.lock import take
from watchbook.library.store.migration import count
from watchbook.library.store.moves import migrate_batch
from watchbook.library.store.reconcile import keep

# A run taken by the wrong deployment goes back to the queue, for a worker of the right one.
OTHER_CHANNEL_SECONDS = 30


def migrate(ctx: JobContext, job_id: str) -> Outcome:
    """Goes on until nothing is pending, or until the job was paused or cancelled."""
    while _step(ctx, UUID(job_id)):
        job = FolderMigrationJob.objects.get(pk=job_id)
        ctx.report(total=job.total_count, moved=job.success_count, failed=job.failed_count)
    job = FolderMigrationJob.objects.get(pk=job_id)
    figures = {"total": job.total_count, "moved": job.success_count, "failed": job.failed_count}
    return Outcome("done", figures) if job.is_over else Outcome("paused", figures)


def _step(ctx: JobContext, job_id: UUID) -> bool:
    """One transaction: lock, look whether it should go on, move a batch, count. False at the end."""
    try:
        with ctx.writing():
            found = FolderMigrationJob.objects.select_related("space").get(pk=job_id)
            take(found.space_id)
            job = FolderMigrationJob.objects.select_related("control", "workspace").get(pk=job_id)
            going_on = _advance(job)
        crash_point("library.migrate.batch")
        return going_on
    except WrongChannel:
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
        _finish(job)
    job.save(update_fields=["status", "success_count", "failed_count", "updated_at"])
    if not settled:
        keep(job.workspace, job.created_by, job)
    return settled > 0


def _finish(job: FolderMigrationJob) -> None:
    count(job)
    job.status = JobStatus.FAILED if job.items.filter(status=ItemStatus.FAILED).exists() else JobStatus.SUCCESS
    release(job)


def release(job: FolderMigrationJob) -> None:
    """The space is free for the next job."""
    control = job.control
    control.active_space_id, control.finished_at, control.paused_at = None, clock.now(), None
    control.save(update_fields=["active_space_id", "finished_at", "paused_at"])
    crash_point("library.migrate.released")
