"""What the endpoints of the library answer."""

from __future__ import annotations

from typing import Any

from watchbook.library import access
from watchbook.library.models import (
    FolderMigrationJob,
    FolderMigrationJobItem,
    Page,
    PageVersion,
    Reconciliation,
    ShareLink,
    Space,
    TrashBatch,
    Workspace,
    WorkspaceReleaseChannel,
)
from watchbook.library.store.migration import Plan
from watchbook.library.store.reconcile import title_of

PAGE_HEAD = ("id", "parent_page_id", "node_type", "title", "version")
PAGE_REST = (
    "space_id", "content", "is_pinned", "pinned_at", "created_by_id", "updated_by_id", "created_at", "updated_at",
    "moved_at", "deleted_at",
)  # fmt: skip
JOB_NAMES = (
    "id", "workspace_id", "space_id", "status", "total_count", "success_count", "failed_count", "created_at",
    "updated_at",
)  # fmt: skip
ITEM_NAMES = ("page_id", "old_parent_page_id", "new_parent_page_id", "status", "error_code", "updated_at")


def _named(row: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def workspace_out(workspace: Workspace, user: Any) -> dict[str, Any]:
    channel = WorkspaceReleaseChannel.objects.filter(workspace=workspace).values_list("release_channel", flat=True)
    return {
        **_named(workspace, ("id", "name", "created_at")),
        "role": access.workspace_role(user, workspace.pk),
        "flags": workspace.flags(),
        "release_channel": channel.first(),
    }


def space_out(space: Space, user: Any) -> dict[str, Any]:
    role = access.space_role(user, space)
    return {**_named(space, ("id", "workspace_id", "name", "tree_version", "created_at")), "role": role}


def page_head(page: Page) -> dict[str, Any]:
    return _named(page, PAGE_HEAD)


def page_out(page: Page) -> dict[str, Any]:
    return {**page_head(page), **_named(page, PAGE_REST)}


def child_out(page: Any) -> dict[str, Any]:
    return {**page_head(page), **_named(page, ("is_pinned", "pinned_at", "updated_at", "has_children"))}


def version_out(version: PageVersion) -> dict[str, Any]:
    return {
        **_named(version, ("number", "title", "reason", "created_at")),
        "author": version.author.email if version.author else None,
    }


def share_out(link: ShareLink) -> dict[str, Any]:
    return _named(link, ("id", "page_id", "created_at", "expires_at", "revoked_at"))


def batch_out(batch: TrashBatch) -> dict[str, Any]:
    return {**_named(batch, ("id", "page_id", "page_count", "deleted_at")), "title": batch.page.title}


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
    return {
        **_named(job, JOB_NAMES),
        "created_by": job.created_by_id,
        "phase": control.phase,
        "is_paused": control.paused_at is not None,
        "is_at_work": control.active_space_id is not None,
        "folder_page_id": control.folder_page_id,
        "started_at": control.started_at,
        "finished_at": control.finished_at,
        "errors": [item_out(item) for item in job.items.exclude(error_code=None).order_by("page_id")[:100]],
        "reconciliation": reconciliation_out(last) if last else None,
    }


def item_out(item: FolderMigrationJobItem) -> dict[str, Any]:
    return _named(item, ITEM_NAMES)


def reconciliation_out(found: Reconciliation) -> dict[str, Any]:
    checks = [{**check, "title": title_of(check["name"])} for check in found.checks]
    return {"ok": found.is_ok, "checks": checks, "created_at": found.created_at, "job_id": found.job_id}
