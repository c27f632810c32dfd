"""What owners and admins do with migration jobs, and the comparison of the books."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from watchbook.library import access
from watchbook.library.errors import NotFound
from watchbook.library.jobs import steer
from watchbook.library.models import FolderMigrationJob, Reconciliation, Space, SpaceRole, Workspace, WorkspaceRole
from watchbook.library.store import migration
from watchbook.library.store.guard import writing_workspace
from watchbook.library.store.lock import writing
from watchbook.library.store.migration import Plan
from watchbook.library.store.reconcile import Check, keep, reconcile

ADMIN = WorkspaceRole.ADMIN


def _space(user: Any, space_id: UUID) -> Space:
    """A job is a matter of the workspace: its owners and admins start and steer it."""
    space = access.space_for(user, space_id, SpaceRole.READER)
    access.workspace_for(user, space.workspace_id, ADMIN)
    return space


def plan_migration(user: Any, space_id: UUID, *, folder_page_id: UUID | None = None) -> Plan:
    """A dry run: every file of the top level, where it would go, and what stands in the way. Stores nothing."""
    return migration.plan(_space(user, space_id), folder_page_id)


def start_migration(user: Any, space_id: UUID, *, folder_page_id: UUID | None = None) -> FolderMigrationJob:
    """All items are written as pending, then a background job moves them. JobConflict when one is at work."""
    space = _space(user, space_id)
    with writing(space.pk):
        return migration.start(space, user, folder_page_id)


def open_migration(user: Any, job_id: UUID) -> FolderMigrationJob:
    """The job as it is now, with `control` and its last reconciliation."""
    job = FolderMigrationJob.objects.select_related("control", "space", "created_by").filter(pk=job_id).first()
    if job is None:
        raise NotFound
    _space(user, job.space_id)
    return job


def list_migrations(user: Any, space_id: UUID) -> Any:
    """QuerySet of a space's jobs, the newest first."""
    rows = FolderMigrationJob.objects.filter(space=_space(user, space_id)).select_related("control", "created_by")
    return rows.order_by("-created_at", "id")


def list_items(user: Any, job_id: UUID, *, status: str = "") -> Any:
    """QuerySet of a job's items in a fixed order; `status` keeps one kind."""
    items = open_migration(user, job_id).items.select_related("page").order_by("page_id")
    return items.filter(status=status) if status else items


def pause_migration(user: Any, job_id: UUID) -> FolderMigrationJob:
    steer.pause(open_migration(user, job_id), user)
    return open_migration(user, job_id)


def resume_migration(user: Any, job_id: UUID) -> FolderMigrationJob:
    steer.resume(open_migration(user, job_id), user)
    return open_migration(user, job_id)


def cancel_migration(user: Any, job_id: UUID) -> FolderMigrationJob:
    steer.cancel(open_migration(user, job_id), user)
    return open_migration(user, job_id)


def retry_migration(user: Any, job_id: UUID) -> FolderMigrationJob:
    steer.retry(open_migration(user, job_id), user)
    return open_migration(user, job_id)


def rollback_migration(user: Any, job_id: UUID) -> FolderMigrationJob:
    """Every page back to where it was; what people moved since is left alone and reported."""
    steer.begin_rollback(open_migration(user, job_id), user)
    return open_migration(user, job_id)


def check_workspace(user: Any, workspace_id: UUID) -> tuple[Workspace, list[Check]]:
    """The checks as they come out now. Stores nothing. For owners and admins."""
    workspace = access.workspace_for(user, workspace_id, ADMIN)
    return workspace, reconcile(workspace)


def store_reconciliation(user: Any, workspace_id: UUID) -> Reconciliation:
    """The checks as they come out now, stored. For owners and admins."""
    workspace = access.workspace_for(user, workspace_id, ADMIN)
    with writing_workspace(workspace.pk):
        return keep(workspace, user)


def last_reconciliation(user: Any, workspace_id: UUID) -> Reconciliation | None:
    workspace = access.workspace_for(user, workspace_id, ADMIN)
    return Reconciliation.objects.filter(workspace=workspace).order_by("-id").first()
