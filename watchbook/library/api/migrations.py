"""Migration jobs: plan, start, look, steer, take back."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status

from watchbook.core.api.document import refuses
from watchbook.core.api.paging import PageQuery, keyset
from watchbook.library import actions
from watchbook.library.api.shapes import (
    ItemList,
    ItemOut,
    MigrationList,
    MigrationOut,
    PlanOut,
    job_out,
    plan_out,
)
from watchbook.library.errors import Wrong
from watchbook.library.models import ItemStatus

router = Router()


class MigrationIn(Schema):
    dry_run: bool = False
    # An existing folder that takes the files; without one a new folder is made.
    folder_page_id: UUID | None = None


class ItemsQuery(PageQuery):
    status: Literal[""] | ItemStatus = ""


@router.post(
    "/spaces/{uuid:space_id}/migrations",
    response={200: PlanOut, 201: MigrationOut},
    openapi_extra=refuses(409, 423),
)
def start(request: HttpRequest, space_id: UUID, body: MigrationIn) -> Status[dict[str, Any]]:
    """With `dry_run` the plan: every file of the top level and where it would go. Else the job."""
    if body.dry_run:
        plan = actions.plan_migration(request.user, space_id, folder_page_id=body.folder_page_id)
        return Status(200, plan_out(plan))
    job = actions.start_migration(request.user, space_id, folder_page_id=body.folder_page_id)
    return Status(201, job_out(actions.open_migration(request.user, job.pk)))


@router.get("/spaces/{uuid:space_id}/migrations", response=MigrationList)
def jobs(request: HttpRequest, space_id: UUID, page: Query[PageQuery]) -> dict[str, Any]:
    """Jobs of a space, the newest first."""
    return keyset(actions.list_migrations(request.user, space_id), page, by="-created_at", make=job_out)


@router.get("/migrations/{uuid:job_id}", response=MigrationOut)
def job(request: HttpRequest, job_id: UUID) -> dict[str, Any]:
    """The job with its counts, its first errors and its last reconciliation."""
    return job_out(actions.open_migration(request.user, job_id))


@router.get("/migrations/{uuid:job_id}/items", response=ItemList)
def items(request: HttpRequest, job_id: UUID, page: Query[ItemsQuery]) -> dict[str, Any]:
    """Its pages; `status` keeps pending, success, failed, rolled_back or conflict. The cursor is the last page id."""
    rows = actions.list_items(request.user, job_id, status=page.status)
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
        raise Wrong("cursor", "The cursor is not one that this list gave out.", code="bad_cursor") from None


STEPS = {
    "rollback": (actions.rollback_migration, "Every page back to where it was; what was moved since is left alone."),
    "pause": (actions.pause_migration, "Stop before the next batch."),
    "resume": (actions.resume_migration, "Go on where it stopped."),
    "cancel": (actions.cancel_migration, "Move nothing more; what is moved stays moved."),
    "retry": (actions.retry_migration, "Try the failed items once more."),
}


def _step(name: str) -> None:
    act, words = STEPS[name]

    def call(request: HttpRequest, job_id: UUID) -> dict[str, Any]:
        return job_out(act(request.user, job_id))

    call.__name__, call.__doc__ = name, words
    router.post(
        f"/migrations/{{uuid:job_id}}/{name}",
        response=MigrationOut,
        openapi_extra=refuses(409, 423),
        url_name=f"library-migration-{name}",
    )(call)


for _name in STEPS:
    _step(_name)
