"""Health of the library, from rows: failed migrations, failed consistency checks and failed trash jobs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Max
from django.urls import reverse
from django.utils.translation import gettext as _

from watchbook.core import health as core
from watchbook.core.accounts.models import User
from watchbook.core.health import Health
from watchbook.core.jobs.models import JobRun, State
from watchbook.systems.library.access import RUNS_WORKSPACE, spaces_of
from watchbook.systems.library.models import (
    FolderMigrationJob,
    JobStatus,
    PageVersion,
    Reconciliation,
    Workspace,
    WorkspaceMember,
)

TRASH_JOB = "library.empty_trash"
EXPORT_JOB = "library.export"
CLEANING_JOBS = (TRASH_JOB, "library.forget_steps", EXPORT_JOB)


def health(user: User | None = None) -> Health:
    """Return the health of what the user can manage; without a user, of the whole server."""
    saved = PageVersion.objects.all() if user is None else PageVersion.objects.filter(page__space__in=spaces_of(user))
    known: dict[str, Any] = {"last_success_at": saved.aggregate(at=Max("created_at"))["at"]}
    managed = _managed(user)
    found = _failed_check(managed, known) or _failed_migration(managed, known)
    if found is None and (user is None or user.is_staff):
        found = _failed_cleaning(known)
    if found is not None:
        return found
    state = core.HEALTHY if known["last_success_at"] else core.NEVER
    return Health(state, **known, url=reverse("library:overview"))


def _managed(user: User | None) -> list[UUID]:
    """Return the workspaces whose migrations and checks the user can see."""
    rows = Workspace.objects.there().filter(archived_at=None)
    if user is not None:
        mine = WorkspaceMember.objects.filter(user=user, role__in=RUNS_WORKSPACE)
        rows = rows.filter(pk__in=mine.values("workspace_id"))
    return list(rows.values_list("pk", flat=True))


def _failed_check(workspaces: list[UUID], known: dict[str, Any]) -> Health | None:
    """The newest consistency check of each workspace counts."""
    newest = Reconciliation.objects.filter(workspace__in=workspaces).values("workspace").annotate(last=Max("id"))
    failed = Reconciliation.objects.filter(pk__in=newest.values("last"), is_ok=False).select_related("workspace")
    check = failed.order_by("-id").first()
    if check is None:
        return None
    names = ", ".join(str(each["name"]) for each in check.checks if not each["ok"])
    return Health(
        core.ERROR,
        **known,
        last_failure_at=check.created_at,
        reason=_("The consistency check of workspace %(name)s failed.") % {"name": check.workspace.name},
        remedy=_("Open the check to see which counts differ, then run it again."),
        detail=names,
        url=reverse("library:reconciliation", args=[check.workspace_id]),
    )


def _failed_migration(workspaces: list[UUID], known: dict[str, Any]) -> Health | None:
    """The newest migration of each space counts."""
    newest: dict[UUID, FolderMigrationJob] = {}
    jobs = FolderMigrationJob.objects.filter(workspace__in=workspaces, space__deleted_at=None).select_related("space")
    for job in jobs.order_by("created_at", "id"):
        newest[job.space_id] = job
    failed = [job for job in newest.values() if job.status == JobStatus.FAILED]
    if not failed:
        return None
    job = max(failed, key=lambda each: each.updated_at)
    words = {"name": job.space.name, "failed": job.failed_count, "total": job.total_count}
    return Health(
        core.FAILING,
        **known,
        last_failure_at=job.updated_at,
        reason=_("The folder migration of space %(name)s failed for %(failed)s of %(total)s pages.") % words,
        remedy=_("Open the migration, then retry the failed pages or roll it back."),
        url=reverse("library:migration", args=[job.pk]),
    )


def _failed_cleaning(known: dict[str, Any]) -> Health | None:
    for name in CLEANING_JOBS:
        run = _last_run(name)
        if run is not None and run.state == State.FAILED:
            reason = {
                TRASH_JOB: _("The job that deletes old trash failed."),
                EXPORT_JOB: _("The nightly export failed."),
            }.get(name, _("The job that deletes old autosaves failed."))
            return Health(
                core.FAILING,
                **known,
                last_failure_at=run.finished_at,
                reason=reason,
                remedy=_("Nothing was lost. Open the job to see the error; it runs again every night."),
                detail=run.error_code or "",
                url=reverse("job", args=[name]),
            )
    return None


def _last_run(name: str) -> JobRun | None:
    return JobRun.objects.filter(name=name, state__in=[State.DONE, State.FAILED]).order_by("-finished_at").first()
