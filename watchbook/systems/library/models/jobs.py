"""Tables of folder migrations: jobs, items, control data and consistency checks."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID, uuid4

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from watchbook.base import clock
from watchbook.systems.library.models.pages import Page
from watchbook.systems.library.models.workspaces import Space, Workspace


class JobStatus(models.TextChoices):
    PENDING = "pending", _("Pending")
    RUNNING = "running", _("Running")
    SUCCESS = "success", _("Success")
    FAILED = "failed", _("Failed")
    ROLLED_BACK = "rolled_back", _("Rolled back")
    CANCELED = "canceled", _("Cancelled")


class ItemStatus(models.TextChoices):
    PENDING = "pending", _("Pending")
    SUCCESS = "success", _("Success")
    FAILED = "failed", _("Failed")
    ROLLED_BACK = "rolled_back", _("Rolled back")
    # The rollback found it elsewhere than the job had put it, and left it there.
    CONFLICT = "conflict", _("Not moved")


class Phase(models.TextChoices):
    MIGRATE = "migrate"
    ROLLBACK = "rollback"


class FolderMigrationJob(models.Model):
    """Moves the top-level pages of a space into a folder. Only users start one."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="migration_jobs", db_index=False)
    space = models.ForeignKey(Space, models.CASCADE, related_name="migration_jobs")
    status = models.CharField(max_length=16, db_comment="pending|running|success|failed|rolled_back|canceled")
    total_count = models.IntegerField(default=0, db_default=0)
    success_count = models.IntegerField(default=0, db_default=0)
    failed_count = models.IntegerField(default=0, db_default=0)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_column="created_by"
    )
    created_at = models.DateTimeField(default=clock.now)
    updated_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "folder_migration_jobs"
        db_table_comment = "根层文件迁移任务"
        indexes = [models.Index(fields=["workspace", "status"], name="idx_folder_migration_jobs_ws")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=[status.value for status in JobStatus]),
                name="folder_migration_jobs_status",
            )
        ]

    @property
    def is_over(self) -> bool:
        return self.status not in (JobStatus.PENDING, JobStatus.RUNNING)


class FolderMigrationJobItem(models.Model):
    """One page of a job: old parent, new parent and status."""

    pk = models.CompositePrimaryKey("job_id", "page_id")
    job = models.ForeignKey(FolderMigrationJob, models.CASCADE, related_name="items", db_index=False)
    page = models.ForeignKey(Page, models.CASCADE, related_name="+")
    old_parent_page_id = models.UUIDField(null=True, default=None)
    new_parent_page_id = models.UUIDField(null=True, default=None)
    status = models.CharField(max_length=16)
    error_code = models.CharField(max_length=64, null=True, default=None)
    updated_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "folder_migration_job_items"
        db_table_comment = "迁移任务明细：精确回滚与失败重试"
        indexes = [models.Index(fields=["job", "status"], name="idx_folder_migration_items_st")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=[status.value for status in ItemStatus]),
                name="folder_migration_items_status",
            )
        ]


class ControlQuerySet(models.QuerySet["FolderMigrationControl"]):
    def rolling_back(self, space_ids: Iterable[UUID]) -> ControlQuerySet:
        """Jobs that move pages back in these spaces now."""
        return self.filter(active_space_id__in=list(space_ids), phase=Phase.ROLLBACK)


class FolderMigrationControl(models.Model):
    """Control data of a job that the seed's table has no columns for."""

    job = models.OneToOneField(FolderMigrationJob, models.CASCADE, primary_key=True, related_name="control")
    # The space while the job runs, NULL afterwards: a plain unique column says "one job per space".
    active_space_id = models.UUIDField(null=True, default=None, unique=True)
    phase = models.CharField(max_length=10, choices=Phase.choices, default=Phase.MIGRATE)
    folder_page_id = models.UUIDField(null=True, default=None)
    is_folder_ours = models.BooleanField(default=False)
    paused_at = models.DateTimeField(null=True, default=None)
    started_at = models.DateTimeField(null=True, default=None)
    finished_at = models.DateTimeField(null=True, default=None)
    # How often it was put into the queue: part of the run's key, so that one request makes one run.
    round = models.PositiveIntegerField(default=0)

    objects = ControlQuerySet.as_manager()

    class Meta:
        db_table = "folder_migration_control"


class PageParentBaseline(models.Model):
    """Parent of a page when folders were introduced. The third check compares with it."""

    page = models.OneToOneField(Page, models.CASCADE, primary_key=True, related_name="baseline")
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="+")
    parent_page_id = models.UUIDField(null=True, default=None)
    taken_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "page_parent_baselines"


class Reconciliation(models.Model):
    """The checks of one workspace at one moment, as they were found."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="reconciliations", db_index=False)
    job = models.ForeignKey(FolderMigrationJob, models.CASCADE, null=True, related_name="reconciliations")
    is_ok = models.BooleanField()
    checks = models.JSONField(default=list)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "library_reconciliations"
        indexes = [models.Index(fields=["workspace", "-id"], name="library_reconciliations_last")]
