"""Prepares old pages for folders (steps 2 and 3 of the seed) and checks the consistency of a workspace.

Backfill: a channel for every workspace, a meta row and a baseline for every old page. No parent and no text is changed.
An empty page with children becomes a folder where the hierarchy allows it; a page with text stays a page, because a
folder would hide the text. The checks are four and the sample of the seed, and three of our own; they only read, and
`keep` stores the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction
from django.db.models import F, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from watchbook.base import clock
from watchbook.base.work import crash_point
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.systems.library.errors import Conflict, JobConflict, OtherChannel
from watchbook.systems.library.models import (
    FOLDERS_ENABLED,
    FolderMigrationControl,
    FolderMigrationJob,
    FolderMigrationJobItem,
    ItemStatus,
    JobStatus,
    NodeType,
    Page,
    PageNodeMeta,
    PageParentBaseline,
    PageVersion,
    Reconciliation,
    Space,
    Workspace,
    WorkspaceReleaseChannel,
)
from watchbook.systems.library.models.tree import reachable
from watchbook.systems.library.models.workspaces import PROD
from watchbook.systems.library.options import RELEASE_CHANNEL
from watchbook.systems.library.parse.html import to_text
from watchbook.systems.library.store import chunks, owned_workspaces, take, writing_workspace

BACKFILL_BATCH = 500


@dataclass
class Filled:
    """Counts of a backfill. `kept_as_files` are empty pages with children below a page."""

    channels: int = 0
    folders: int = 0
    files: int = 0
    kept_as_files: int = 0
    skipped_workspaces: int = 0

    def as_json(self) -> dict[str, int]:
        return dict(vars(self))


def backfill(progress: Callable[[dict[str, Any]], None] = lambda figures: None) -> Filled:
    """Fill missing rows. Safe to repeat and to interrupt: each batch is one transaction."""
    filled = Filled(channels=_fill_channels())
    owned = set(owned_workspaces())
    filled.skipped_workspaces = Workspace.objects.exclude(pk__in=owned).count()
    for space in Space.objects.in_use().filter(workspace_id__in=owned).order_by("pk"):
        _fill_space(space, filled, progress)
    return filled


def clear_meta(workspace: Workspace) -> dict[str, int]:
    """Delete the type and pin rows of a workspace, the seed's way back of `page_node_meta`. Backfill adds them again.

    Only while folders are disabled: without its row a folder is a page, which is allowed everywhere then.
    """
    with writing_workspace(workspace.pk):
        for pk in Space.objects.filter(workspace=workspace).order_by("pk").values_list("pk", flat=True):
            take(pk, in_use=False)
        if workspace.flags()[FOLDERS_ENABLED]:
            raise Conflict(_("Disable folders in this workspace first."), code="folders_enabled")
        if FolderMigrationControl.objects.filter(job__workspace=workspace).exclude(active_space_id=None).exists():
            raise JobConflict
        rows = PageNodeMeta.objects.filter(workspace=workspace)
        folders, pins = rows.filter(node_type=NodeType.FOLDER).count(), rows.filter(is_pinned=True).count()
        cleared = {"rows": rows.delete()[0], "folders": folders, "pins": pins}
        audit.record("library.meta_cleared", actor=None, subject=str(workspace.pk), rows=cleared["rows"])
    return cleared


def _fill_channels() -> int:
    """Old workspaces belong to prod. Another deployment leaves them to it."""
    if RELEASE_CHANNEL.value != PROD:
        return 0
    try:
        with transaction.atomic():
            missing = Workspace.objects.filter(release_channel_row=None).values_list("pk", flat=True)
            rows = [WorkspaceReleaseChannel(workspace_id=pk, release_channel=PROD) for pk in missing]
            WorkspaceReleaseChannel.objects.bulk_create(rows, ignore_conflicts=True, batch_size=BACKFILL_BATCH)
            return len(rows)
    except DatabaseError:
        raise OtherChannel from None


def _fill_space(space: Space, filled: Filled, progress: Callable[[dict[str, Any]], None]) -> None:
    """Parents before children: what a page may be depends on what its parent became."""
    missing = _without_meta(space)
    for some in chunks(missing):
        with transaction.atomic():
            take(space.pk, structural=False)
            _fill_batch(space, list(some), filled)
            crash_point("library.backfill.batch")
        progress({"folders": filled.folders, "files": filled.files})


def _without_meta(space: Space) -> list[UUID]:
    """Return pages without a meta row, from the top level down; unreachable ones come last."""
    parents = dict(Page.objects.filter(space=space).values_list("pk", "parent_page_id"))
    below: dict[UUID | None, list[UUID]] = {}
    for pk, parent in parents.items():
        below.setdefault(parent if parent in parents else None, []).append(pk)
    ordered: dict[UUID, None] = {}
    level = below.get(None, [])
    while level:
        ordered |= dict.fromkeys(level)
        level = [child for pk in level for child in below.get(pk, []) if child not in ordered]
    ordered |= dict.fromkeys(parents)
    known = set(PageNodeMeta.objects.filter(page__space=space).values_list("page_id", flat=True))
    return [pk for pk in ordered if pk not in known]


def _fill_batch(space: Space, ids: list[UUID], filled: Filled) -> None:
    """Fill one batch under the lock: a page may have changed since it was listed."""
    rows = Page.objects.filter(pk__in=ids, space=space, node_meta=None).only("parent_page", "content")
    pages = {page.pk: page for page in rows}
    holding = set(Page.objects.live().filter(parent_page_id__in=ids).values_list("parent_page_id", flat=True))
    above = {page.parent_page_id for page in pages.values()}
    types: dict[UUID, str] = dict(PageNodeMeta.objects.filter(page_id__in=above).values_list("page_id", "node_type"))
    for page in (pages[pk] for pk in ids if pk in pages):
        wants = page.pk in holding and is_empty(page.content)
        may = page.parent_page_id is None or types.get(page.parent_page_id) == NodeType.FOLDER
        types[page.pk] = NodeType.FOLDER if wants and may else NodeType.FILE
        filled.kept_as_files += wants and not may
        filled.folders += types[page.pk] == NodeType.FOLDER
        filled.files += types[page.pk] == NodeType.FILE
    _write(space, list(pages.values()), types)


def _write(space: Space, pages: list[Page], types: dict[UUID, str]) -> None:
    now = clock.now()
    PageNodeMeta.objects.bulk_create(
        [
            PageNodeMeta(page_id=page.pk, workspace_id=space.workspace_id, space_id=space.pk,
                         node_type=types[page.pk], created_at=now, updated_at=now)
            for page in pages
        ],
    )  # fmt: skip
    PageParentBaseline.objects.bulk_create(
        [
            PageParentBaseline(page_id=page.pk, workspace_id=space.workspace_id, parent_page_id=page.parent_page_id,
                               taken_at=now)
            for page in pages
        ],
        ignore_conflicts=True,
    )  # fmt: skip


def is_empty(content: str) -> bool:
    """True if the text has no words and no picture."""
    return "<img" not in content and not to_text(content)


TITLES = {
    "meta_rows": gettext_lazy("Every page has a type and pin record"),
    "job_counts": gettext_lazy("Finished jobs: moved + failed = total"),
    "parents_unchanged": gettext_lazy("Pages were moved only by users and jobs"),
    "root_files": gettext_lazy("Migrated spaces have no pages at the top level"),
    "reachable": gettext_lazy("Every page can be reached from the top level"),
    "matrix": gettext_lazy("No folder is below a page"),
    "sample": gettext_lazy("Sample of 1%: text and title equal the newest version"),
    "meta_places": gettext_lazy("Type and pin records match the space of their page"),
}


# One page in a hundred is read whole.
SAMPLED = 100
BATCH = 100


@dataclass(frozen=True)
class Check:
    """One check; passed if `expected` equals `actual`."""

    name: str
    expected: int
    actual: int

    @property
    def is_ok(self) -> bool:
        return self.expected == self.actual

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.is_ok}


def reconcile(workspace: Workspace) -> list[Check]:
    pages = Page.objects.filter(space__workspace=workspace)
    meta = PageNodeMeta.objects.filter(workspace=workspace)
    return [
        Check("meta_rows", pages.count(), meta.count()),
        Check("job_counts", *_job_counts(workspace)),
        Check("parents_unchanged", 0, _moved_without_record(workspace)),
        Check("root_files", 0, _root_files_left(workspace)),
        Check("reachable", *_reachable(workspace)),
        Check("matrix", 0, _folders_below_files(workspace)),
        Check("meta_places", 0, meta.exclude(space_id=F("page__space_id")).count()),
        Check("sample", *_sample(workspace)),
    ]


def keep(workspace: Workspace, user: User | None = None, job: FolderMigrationJob | None = None) -> Reconciliation:
    """The checks as they are now, stored. Call it in a transaction that may write the workspace."""
    checks = reconcile(workspace)
    return Reconciliation.objects.create(
        workspace=workspace,
        job=job,
        is_ok=all(check.is_ok for check in checks),
        checks=[check.as_json() for check in checks],
        created_by=user,
    )


def title_of(name: str) -> str:
    return str(TITLES.get(name, name))


def _job_counts(workspace: Workspace) -> tuple[int, int]:
    """Finished jobs, and those of them whose counts add up to the total and to their items."""
    over = FolderMigrationJob.objects.filter(workspace=workspace).exclude(
        status__in=[JobStatus.PENDING, JobStatus.RUNNING]
    )
    jobs = list(over)
    right = sum(
        1
        for job in jobs
        if job.success_count + job.failed_count == job.total_count == job.items.count()
        and job.items.filter(status=ItemStatus.FAILED).count() == job.failed_count
    )
    return len(jobs), right


def _moved_without_record(workspace: Workspace) -> int:
    """Count pages whose parent changed since folders were introduced, without a user or a job moving them."""
    moved = PageParentBaseline.objects.filter(workspace=workspace, page__moved_at=None).exclude(
        Q(parent_page_id=F("page__parent_page_id")) | Q(parent_page_id=None, page__parent_page_id=None)
    )
    by_jobs = FolderMigrationJobItem.objects.filter(
        job__workspace=workspace, status__in=[ItemStatus.SUCCESS, ItemStatus.CONFLICT]
    )
    return moved.exclude(page_id__in=by_jobs.values("page_id")).count()


def _root_files_left(workspace: Workspace) -> int:
    """Count top-level pages in spaces whose last migration succeeded."""
    last: dict[UUID, str] = {}
    # Jobs that moved nothing say nothing about the space; older releases stored such jobs as success.
    jobs = FolderMigrationJob.objects.filter(workspace=workspace, total_count__gt=0).order_by("created_at", "id")
    for space_id, status in jobs.values_list("space_id", "status"):
        last[space_id] = status
    done = [space_id for space_id, status in last.items() if status == JobStatus.SUCCESS]
    return Page.objects.live().files().filter(space_id__in=done, parent_page_id=None).count()


def _sample(workspace: Workspace) -> tuple[int, int]:
    """Read 1% of the pages whole, at least one, and compare each with its newest version (the seed's sampling).

    The sample changes every day, so that a month of checks reads a quarter of the pages.
    """
    ids = list(Page.objects.filter(space__workspace=workspace).order_by("pk").values_list("pk", flat=True))
    chosen = ids[clock.now().toordinal() % SAMPLED :: SAMPLED] or ids[:1]
    right = 0
    for start in range(0, len(chosen), BATCH):
        some = chosen[start : start + BATCH]
        versions = PageVersion.objects.filter(page__in=some, number=F("page__version"))
        same = versions.filter(title=F("page__title"), content=F("page__content"))
        older = Page.objects.filter(pk__in=some, versions=None)  # from before there was a history
        right += same.count() + older.count()
    return len(chosen), right


def _reachable(workspace: Workspace) -> tuple[int, int]:
    spaces = list(workspace.spaces.values_list("pk", flat=True))
    live = Page.objects.live().filter(space_id__in=spaces).count()
    return live, sum(reachable(space_id) for space_id in spaces)


def _folders_below_files(workspace: Workspace) -> int:
    below = Page.objects.live().folders().filter(space__workspace=workspace).exclude(parent_page_id=None)
    return below.exclude(parent_page__node_meta__node_type=NodeType.FOLDER).count()


def summary(checks: list[Check]) -> str:
    wrong = [title_of(check.name) for check in checks if not check.is_ok]
    return _("All checks passed.") if not wrong else "; ".join(wrong)
