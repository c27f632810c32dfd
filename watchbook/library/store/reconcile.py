"""Comparing the books: the seed's four checks, and three of our own. Reading only; `keep` stores what was found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.db.models import F, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from watchbook.library.models import (
    FolderMigrationJob,
    FolderMigrationJobItem,
    ItemStatus,
    JobStatus,
    NodeType,
    Page,
    PageNodeMeta,
    PageParentBaseline,
    Reconciliation,
    Workspace,
)
from watchbook.library.models.walk import reachable

TITLES = {
    "meta_rows": gettext_lazy("Every page has its row of type and pin"),
    "job_counts": gettext_lazy("Moved and failed add up in every finished job"),
    "parents_unchanged": gettext_lazy("Nobody but people and jobs moved a page"),
    "root_files": gettext_lazy("No file is left at the top level of a migrated space"),
    "reachable": gettext_lazy("Every live page can be reached from the top level"),
    "matrix": gettext_lazy("No folder stands below a file"),
    "meta_places": gettext_lazy("Each row of type and pin names the space of its page"),
}


@dataclass(frozen=True)
class Check:
    """One line of the result; equal when `expected` and `actual` are."""

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
        Check("parents_unchanged", 0, _moved_by_nobody(workspace)),
        Check("root_files", 0, _root_files_left(workspace)),
        Check("reachable", *_reachable(workspace)),
        Check("matrix", 0, _folders_below_files(workspace)),
        Check("meta_places", 0, meta.exclude(space_id=F("page__space_id")).count()),
    ]


def keep(workspace: Workspace, user: Any = None, job: FolderMigrationJob | None = None) -> Reconciliation:
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


def _moved_by_nobody(workspace: Workspace) -> int:
    """Pages that stand elsewhere than when folders were introduced, without a person or a job having moved them."""
    moved = PageParentBaseline.objects.filter(workspace=workspace, page__moved_at=None).exclude(
        Q(parent_page_id=F("page__parent_page_id")) | Q(parent_page_id=None, page__parent_page_id=None)
    )
    by_jobs = FolderMigrationJobItem.objects.filter(
        job__workspace=workspace, status__in=[ItemStatus.SUCCESS, ItemStatus.CONFLICT]
    )
    return moved.exclude(page_id__in=by_jobs.values("page_id")).count()


def _root_files_left(workspace: Workspace) -> int:
    """In spaces whose last job moved everything."""
    last: dict[UUID, str] = {}
    jobs = FolderMigrationJob.objects.filter(workspace=workspace).order_by("created_at", "id")
    for space_id, status in jobs.values_list("space_id", "status"):
        last[space_id] = status
    done = [space_id for space_id, status in last.items() if status == JobStatus.SUCCESS]
    return Page.objects.live().files().filter(space_id__in=done, parent_page_id=None).count()


def _reachable(workspace: Workspace) -> tuple[int, int]:
    spaces = list(workspace.spaces.values_list("pk", flat=True))
    live = Page.objects.live().filter(space_id__in=spaces).count()
    return live, sum(reachable(space_id) for space_id in spaces)


def _folders_below_files(workspace: Workspace) -> int:
    below = Page.objects.live().folders().filter(space__workspace=workspace).exclude(parent_page_id=None)
    return below.exclude(parent_page__node_meta__node_type=NodeType.FOLDER).count()


def summary(checks: list[Check]) -> str:
    wrong = [title_of(check.name) for check in checks if not check.is_ok]
    return _("All checks agree.") if not wrong else "; ".join(wrong)
