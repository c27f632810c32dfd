"""API endpoints for folder migrations: plan, start, list, control, roll back."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _
from ninja import Query, Router, Schema, Status

from watchbook.core.accounts.access import person_of
from watchbook.core.api.lists import PageQuery, keyset
from watchbook.core.api.schemas import Answer, Kept, Listing, said
from watchbook.core.api.shell import refuses
from watchbook.systems.library import actions
from watchbook.systems.library.errors import Wrong
from watchbook.systems.library.models import (
    FolderMigrationJob,
    FolderMigrationJobItem,
    ItemStatus,
    Reconciliation,
)
from watchbook.systems.library.store.migrations import Plan
from watchbook.systems.library.store.reconcile import title_of


class PlannedMove(Answer):
    """A top-level page and its planned target folder."""

    page_id: UUID
    title: str
    old_parent_page_id: UUID | None
    new_parent_page_id: UUID | None = said("Null if the migration creates the folder.")
    new_parent_title: str
    conflicts: list[str] = said("Warnings. They do not stop the job.")


class PlanOut(Answer):
    """Preview of a folder migration. Nothing is changed."""

    dry_run: bool
    space_id: UUID
    total_count: int
    folder_page_id: UUID | None = said("The target folder. Null if the migration creates one.")
    folder_title: str
    obstacles: list[str] = said("Reasons that prevent a migration. Empty if it can start.")
    items: list[PlannedMove]


class ItemOut(Answer):
    """One page of a folder migration."""

    row = FolderMigrationJobItem

    page_id: UUID
    old_parent_page_id: UUID | None
    new_parent_page_id: UUID | None
    status: str = said("pending, success, failed, rolled_back or conflict.")
    error_code: str | None
    updated_at: datetime


class ItemList(Listing[ItemOut]):
    """Pages of a folder migration. `next` is the last page id."""


class CheckOut(Kept):
    """One consistency check. Passed if `expected` equals `actual`."""

    name: str
    expected: int
    actual: int
    ok: bool
    title: str


class ReconciliationOut(Answer):
    """A stored result of the consistency check of a workspace."""

    ok: bool
    checks: list[CheckOut]
    created_at: datetime
    job_id: UUID | None = said("The migration that triggered the check. Null if a user started it.")


class ReconciliationNow(Answer):
    """The current result of the consistency check, and the last stored result."""

    ok: bool
    checks: list[CheckOut]
    stored: ReconciliationOut | None


class MigrationOut(Answer):
    """A folder migration: moves top-level pages into a folder."""

    row = FolderMigrationJob

    id: UUID
    workspace_id: UUID
    space_id: UUID
    status: str = said("pending, running, success, failed, rolled_back or canceled.")
    total_count: int
    success_count: int
    failed_count: int
    created_at: datetime
    updated_at: datetime
    created_by: UUID | None
    phase: str = said("migrate or rollback.")
    is_paused: bool
    is_at_work: bool = said("True while the job runs. No other migration of the space can start then.")
    folder_page_id: UUID | None
    started_at: datetime | None
    finished_at: datetime | None
    errors: list[ItemOut] = said("The first 100 failed pages.")
    reconciliation: ReconciliationOut | None


class MigrationList(Listing[MigrationOut]):
    """Folder migrations, newest first."""


def plan_out(plan: Plan) -> dict[str, Any]:
    return {
        "dry_run": True,
        "space_id": plan.space.pk,
        "total_count": len(plan.moves),
        "folder_page_id": plan.folder_page_id,
        "folder_title": plan.folder_title,
        "obstacles": list(plan.obstacles),
        "items": [
            {
                "page_id": move.page_id, "title": move.title, "old_parent_page_id": None,
                "new_parent_page_id": move.new_parent_page_id, "new_parent_title": move.new_parent_title,
                "conflicts": list(move.conflicts),
            }
            for move in plan.moves
        ],
    }  # fmt: skip


def job_out(job: FolderMigrationJob) -> dict[str, Any]:
    control, last = job.control, job.reconciliations.order_by("-id").first()
    return MigrationOut.of(
        job,
        created_by=job.created_by_id,
        phase=control.phase,
        is_paused=control.paused_at is not None,
        is_at_work=control.active_space_id is not None,
        folder_page_id=control.folder_page_id,
        started_at=control.started_at,
        finished_at=control.finished_at,
        errors=[ItemOut.of(item) for item in job.items.exclude(error_code=None).order_by("page_id")[:100]],
        reconciliation=reconciliation_out(last) if last else None,
    )


def reconciliation_out(found: Reconciliation) -> dict[str, Any]:
    checks = [{**check, "title": title_of(check["name"])} for check in found.checks]
    return {"ok": found.is_ok, "checks": checks, "created_at": found.created_at, "job_id": found.job_id}


router = Router()


class MigrationIn(Schema):
    dry_run: bool = False
    # An existing target folder. Without it the migration creates a folder.
    folder_page_id: UUID | None = None


class ItemsQuery(PageQuery):
    status: Literal[""] | ItemStatus = ""


@router.post(
    "/spaces/{uuid:space_id}/migrations",
    response={200: PlanOut, 201: MigrationOut},
    openapi_extra=refuses(409, 423),
)
def start(request: HttpRequest, space_id: UUID, body: MigrationIn) -> Status[dict[str, Any]]:
    """Start a folder migration. With `dry_run`: return the plan and change nothing."""
    if body.dry_run:
        plan = actions.plan_migration(person_of(request), space_id, folder_page_id=body.folder_page_id)
        return Status(200, plan_out(plan))
    job = actions.start_migration(person_of(request), space_id, folder_page_id=body.folder_page_id)
    return Status(201, job_out(actions.open_migration(person_of(request), job.pk)))


@router.get("/spaces/{uuid:space_id}/migrations", response=MigrationList)
def jobs(request: HttpRequest, space_id: UUID, page: Query[PageQuery]) -> dict[str, Any]:
    """List the folder migrations of a space, newest first."""
    return keyset(actions.list_migrations(person_of(request), space_id), page, by="-created_at", make=job_out)


@router.get("/migrations/{uuid:job_id}", response=MigrationOut)
def job(request: HttpRequest, job_id: UUID) -> dict[str, Any]:
    """Get a folder migration with its counts, first errors and last consistency check."""
    return job_out(actions.open_migration(person_of(request), job_id))


@router.get("/migrations/{uuid:job_id}/items", response=ItemList)
def items(request: HttpRequest, job_id: UUID, page: Query[ItemsQuery]) -> dict[str, Any]:
    """List the pages of a folder migration. `status`: pending, success, failed, rolled_back or conflict."""
    rows = actions.list_items(person_of(request), job_id, status=page.status)
    if page.cursor:
        rows = rows.filter(page_id__gt=_uuid(page.cursor))
    found = list(rows[: page.limit + 1])
    shown = found[: page.limit]
    more = len(found) > page.limit
    return {"items": [ItemOut.of(item) for item in shown], "next": str(shown[-1].page_id) if more else None}


def _uuid(cursor: str) -> UUID:
    try:
        return UUID(cursor)
    except ValueError:
        raise Wrong("cursor", _("The cursor is not valid for this list."), code="bad_cursor") from None


STEPS = {
    "rollback": (
        actions.rollback_migration,
        "Move every page back. Pages that users moved after the migration are skipped.",
    ),
    "pause": (actions.pause_migration, "Pause before the next batch."),
    "resume": (actions.resume_migration, "Continue a paused job."),
    "cancel": (actions.cancel_migration, "Cancel the job. Moved pages stay where they are."),
    "retry": (actions.retry_migration, "Retry the failed pages."),
}


def _step(name: str) -> None:
    act, words = STEPS[name]

    def call(request: HttpRequest, job_id: UUID) -> dict[str, Any]:
        return job_out(act(person_of(request), job_id))

    call.__name__, call.__doc__ = name, words
    router.post(
        f"/migrations/{{uuid:job_id}}/{name}",
        response=MigrationOut,
        openapi_extra=refuses(409, 423),
        url_name=f"library-migration-{name}",
    )(call)


for _name in STEPS:
    _step(_name)
