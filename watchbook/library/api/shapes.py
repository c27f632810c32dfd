"""What the endpoints of the library answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from watchbook.core.api.answers import Answer, Kept, Listing, said
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
from watchbook.library.store.purge import stays_until
from watchbook.library.store.reconcile import title_of


class FlagsOut(Answer):
    """What a workspace has switched on."""

    folders_enabled: bool
    sharing_enabled: bool


class WorkspaceOut(Answer):
    """A team's own shelf of spaces."""

    row = Workspace

    id: UUID
    name: str
    created_at: datetime
    archived_at: datetime | None = said("Null while it is in use.")
    deleted_at: datetime | None = said("Null unless it is in the trash.")
    role: str = said("Yours: owner, admin or member.")
    flags: FlagsOut
    release_channel: str | None = said("The deployment that may write it: prod or staging; null when none may.")


class WorkspaceList(Listing[WorkspaceOut]):
    """Workspaces, the oldest first."""


class MemberOut(Answer):
    """Somebody who belongs to a workspace or a space."""

    user_id: UUID
    email: str
    role: str = said("In a workspace owner, admin or member; in a space admin, writer or reader.")


class MemberList(Listing[MemberOut]):
    """Everybody who has a role, in one page."""


class SpaceOut(Answer):
    """One tree of pages."""

    row = Space

    id: UUID
    workspace_id: UUID
    name: str
    tree_version: int = said("Grows with every change of the tree.")
    created_at: datetime
    archived_at: datetime | None = said("Null while it is in use.")
    deleted_at: datetime | None = said("Null unless it is in the trash.")
    role: str = said("Yours: admin, writer or reader.")


class SpaceList(Listing[SpaceOut]):
    """Spaces, the oldest first."""


class PageHead(Answer):
    """A folder or a file, without its text."""

    row = Page

    id: UUID
    parent_page_id: UUID | None = said("Null at the top level.")
    node_type: str = said("file or folder.")
    title: str
    version: int = said("Grows with every save; a change names the one it was made on.")


class PageList(Listing[PageHead]):
    """Pages."""


class PageOut(PageHead):
    """A page with its text."""

    space_id: UUID
    content: str = said("Cleaned HTML.")
    is_pinned: bool
    pinned_at: datetime | None
    created_by_id: UUID | None
    updated_by_id: UUID | None
    created_at: datetime
    updated_at: datetime = said("When title or text changed; a move does not touch it.")
    moved_at: datetime | None
    deleted_at: datetime | None = said("Null unless it is in the trash.")


class CrumbOut(Answer):
    """One step of the way to a page."""

    id: UUID
    title: str


class PageWhole(PageOut):
    """A page with its text and the way to it."""

    workspace_id: UUID
    breadcrumb: list[CrumbOut] = said("From the top level down to the page itself.")


class ChildOut(PageHead):
    """A page among its siblings."""

    is_pinned: bool
    pinned_at: datetime | None
    updated_at: datetime
    has_children: bool


class ChildList(Listing[ChildOut]):
    """Pins first, then in order."""


class ImportOut(Answer):
    """What an import made."""

    page_count: int
    items: list[PageHead] = said("The first 200 of them.")


class PageVersionOut(Answer):
    """A page as it was saved, without its text."""

    row = PageVersion

    number: int
    title: str
    reason: str = said("created, saved, autosaved, restored, imported, clipped or copied.")
    created_at: datetime
    author: str | None = said("The address of whoever saved it; null when the account is gone.")


class PageVersionList(Listing[PageVersionOut]):
    """Versions, the newest first."""


class PageVersionWhole(PageVersionOut):
    """A page as it was saved."""

    content: str


class DiffSegment(Answer):
    """A piece of text that stayed, went or came."""

    kind: str = said("same, del or ins.")
    text: str


class DiffParagraph(Answer):
    """The pieces of a changed paragraph, or how many unchanged ones follow each other."""

    segments: list[DiffSegment]
    unchanged: int


class DifferenceOut(Answer):
    """What changed between two versions, word by word."""

    paragraphs: list[DiffParagraph]
    added: int = said("Characters that came.")
    removed: int = said("Characters that went.")
    is_coarse: bool = said("Some places are shown as whole replacements.")
    is_too_large: bool = said("Too long to compare; then there are no paragraphs.")


class ShareOut(Answer):
    """A read-only link, without its token."""

    row = ShareLink

    id: UUID
    page_id: UUID
    created_at: datetime
    expires_at: datetime | None = said("Null when it does not expire.")
    revoked_at: datetime | None


class ShareList(Listing[ShareOut]):
    """Links that were not revoked, in one page."""


class ShareMade(ShareOut):
    """A read-only link and its token, this one time."""

    token: str = said("It is never shown again.")


class BatchOut(Answer):
    """One act of trashing: a page and what was alive below it."""

    row = TrashBatch

    id: UUID
    page_id: UUID
    page_count: int
    deleted_at: datetime
    until: datetime | None = said("From then on it is removed for good; null when it stays for ever.")
    title: str


class BatchList(Listing[BatchOut]):
    """What was trashed, the newest first."""


class PlannedMove(Answer):
    """A file of the top level and where it would go."""

    page_id: UUID
    title: str
    old_parent_page_id: UUID | None
    new_parent_page_id: UUID | None = said("Null when the folder would be made.")
    new_parent_title: str
    conflicts: list[str] = said("Remarks; none of them stops the job.")


class PlanOut(Answer):
    """A dry run: what a migration would do. Nothing of it is stored."""

    dry_run: bool
    space_id: UUID
    total_count: int
    folder_page_id: UUID | None = said("The folder that takes the files; null when one would be made.")
    folder_title: str
    obstacles: list[str] = said("Why a migration could not be started now; empty when it could.")
    items: list[PlannedMove]


class ItemOut(Answer):
    """One page of a migration."""

    row = FolderMigrationJobItem

    page_id: UUID
    old_parent_page_id: UUID | None
    new_parent_page_id: UUID | None
    status: str = said("pending, success, failed, rolled_back or conflict.")
    error_code: str | None
    updated_at: datetime


class ItemList(Listing[ItemOut]):
    """Pages of a migration; `next` is the last page id."""


class CheckOut(Kept):
    """One comparison of the books; right when both numbers are the same."""

    name: str
    expected: int
    actual: int
    ok: bool
    title: str


class ReconciliationOut(Answer):
    """The checks of a workspace at one moment, as they were stored."""

    ok: bool
    checks: list[CheckOut]
    created_at: datetime
    job_id: UUID | None = said("The migration after which it was made; null when a person asked for it.")


class ReconciliationNow(Answer):
    """The checks as they come out now, and the last stored result."""

    ok: bool
    checks: list[CheckOut]
    stored: ReconciliationOut | None


class MigrationOut(Answer):
    """A migration job: files of the top level into a folder."""

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
    is_at_work: bool = said("While it is, no other migration of the space can be started.")
    folder_page_id: UUID | None
    started_at: datetime | None
    finished_at: datetime | None
    errors: list[ItemOut] = said("The first hundred.")
    reconciliation: ReconciliationOut | None


class MigrationList(Listing[MigrationOut]):
    """Migrations, the newest first."""


def workspace_out(workspace: Workspace, user: Any) -> dict[str, Any]:
    channel = WorkspaceReleaseChannel.objects.filter(workspace=workspace).values_list("release_channel", flat=True)
    return WorkspaceOut.of(
        workspace,
        role=access.workspace_role(user, workspace.pk),
        flags=workspace.flags(),
        release_channel=channel.first(),
    )


def space_out(space: Space, user: Any) -> dict[str, Any]:
    return SpaceOut.of(space, role=access.space_role(user, space))


def version_out(version: PageVersion) -> dict[str, Any]:
    return PageVersionOut.of(version, author=version.author.email if version.author else None)


def batch_out(batch: TrashBatch) -> dict[str, Any]:
    return BatchOut.of(batch, title=batch.page.title, until=stays_until(batch.deleted_at))


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
