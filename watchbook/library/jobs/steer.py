"""Pause, resume, cancel, retry, roll back: each one transaction under the lock of the space."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.core.accounts import audit
from watchbook.library.errors import JobConflict
from watchbook.library.jobs.migrate import release
from watchbook.library.models import FolderMigrationJob, ItemStatus, JobStatus, Phase
from watchbook.library.store.lock import writing
from watchbook.library.store.migration import count, enqueue, take_slot
from watchbook.library.store.moves import CANCELED
from watchbook.library.store.reconcile import keep


@contextmanager
def _held(job: FolderMigrationJob, user: Any, what: str) -> Iterator[FolderMigrationJob]:
    with writing(job.space_id, structural=False):
        held = FolderMigrationJob.objects.select_related("control", "workspace", "space").get(pk=job.pk)
        yield held
        audit.record(f"library.migration_{what}", actor=user, subject=str(job.space_id), job=job.pk)


def pause(job: FolderMigrationJob, user: Any) -> None:
    """It stops before its next batch and keeps the space."""
    with _held(job, user, "paused") as held:
        _only_at_work(held)
        held.control.paused_at = clock.now()
        held.control.save(update_fields=["paused_at"])
        held.status = JobStatus.PENDING
        _save(held)


def resume(job: FolderMigrationJob, user: Any, *, queued: bool = True) -> None:
    """Goes on where it stopped: after a pause, and when its worker was lost for good."""
    with _held(job, user, "resumed") as held:
        if held.control.active_space_id is None:
            raise _over()
        held.control.paused_at = None
        held.control.save(update_fields=["paused_at"])
        if queued:
            enqueue(held.control)


def cancel(job: FolderMigrationJob, user: Any) -> None:
    """What is moved stays moved (roll it back if it should not); what is pending is not touched any more."""
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


def retry(job: FolderMigrationJob, user: Any, *, queued: bool = True) -> None:
    """Failed items become pending once more."""
    with _held(job, user, "retried") as held:
        if held.status not in (JobStatus.FAILED, JobStatus.CANCELED) or held.control.phase != Phase.MIGRATE:
            raise JobConflict(_("Only a job that failed or was cancelled can be tried again."), code="not_failed")
        take_slot(held.control, held.space_id)
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


def begin_rollback(job: FolderMigrationJob, user: Any, *, queued: bool = True) -> None:
    """For a job that is over. What people moved since is left alone and reported."""
    with _held(job, user, "rollback") as held:
        if not held.is_over:
            raise JobConflict
        take_slot(held.control, held.space_id)
        held.control.phase = Phase.ROLLBACK
        held.control.save(update_fields=["phase"])
        if queued:
            enqueue(held.control)


def _only_at_work(job: FolderMigrationJob) -> None:
    if job.is_over or job.control.phase != Phase.MIGRATE:
        raise _over()


def _over() -> JobConflict:
    return JobConflict(_("This job is over."), code="job_over")


def _save(job: FolderMigrationJob) -> None:
    job.updated_at = clock.now()
    job.save(update_fields=["status", "success_count", "failed_count", "updated_at"])
