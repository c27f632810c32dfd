"""Taking a migration back: each page to exactly where it was, whatever the matrix says, as often as asked."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from watchbook.base.crash import crash_point
from watchbook.core.jobs.context import JobContext, Outcome
from watchbook.core.jobs.errors import Later
from watchbook.library.errors import WrongChannel
from watchbook.library.jobs.migrate import OTHER_CHANNEL_SECONDS, release
from watchbook.library.models import FolderMigrationJob, ItemStatus, JobStatus, Page, Phase
from watchbook.library.store.lock import take
from watchbook.library.store.moves import rollback_batch
from watchbook.library.store.reconcile import keep
from watchbook.library.store.trash import trash


def roll_back(ctx: JobContext, job_id: str) -> Outcome:
    """Every batch begins where the last one ended; a killed run begins again and finds most of it done."""
    last: UUID | None = None
    going_on = True
    while going_on:
        going_on, last = _step(ctx, UUID(job_id), last)
        ctx.report(**_figures(job_id))
    return Outcome("done", _figures(job_id))


def _figures(job_id: str) -> dict[str, Any]:
    items = FolderMigrationJob.objects.get(pk=job_id).items
    return {
        "rolled_back": items.filter(status=ItemStatus.ROLLED_BACK).count(),
        "left_alone": items.filter(status=ItemStatus.CONFLICT).count(),
    }


def _step(ctx: JobContext, job_id: UUID, last: UUID | None) -> tuple[bool, UUID | None]:
    try:
        with ctx.writing():
            found = FolderMigrationJob.objects.get(pk=job_id)
            take(found.space_id)
            job = FolderMigrationJob.objects.select_related("control", "workspace", "created_by").get(pk=job_id)
            if job.control.phase != Phase.ROLLBACK or job.control.active_space_id is None:
                return False, last
            items = rollback_batch(job, last)
            if not items:
                _finish(job)
        crash_point("library.rollback.batch")
    except WrongChannel:
        raise Later(OTHER_CHANNEL_SECONDS, "another release channel owns the workspace") from None
    return bool(items), items[-1].page_id if items else last


def _finish(job: FolderMigrationJob) -> None:
    _put_away_folder(job)
    job.status = JobStatus.ROLLED_BACK
    job.save(update_fields=["status"])
    release(job)
    keep(job.workspace, job.created_by, job)


def _put_away_folder(job: FolderMigrationJob) -> None:
    """The folder that the job made goes to the trash when nothing is left in it."""
    control = job.control
    if not control.is_folder_ours or control.folder_page_id is None:
        return
    folder = Page.objects.live().with_type().select_related("space").filter(pk=control.folder_page_id).first()
    if folder is not None and not Page.objects.filter(parent_page_id=folder.pk).exists():
        trash(folder, job.created_by)
