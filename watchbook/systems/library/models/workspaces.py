"""Workspaces and spaces, who belongs to them, their flags and their release channel."""

from __future__ import annotations

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from watchbook.base import clock
from watchbook.core.accounts.models import User

NAME_LENGTH = 200
# Release channels: each deployment and each workspace belongs to one.
PROD, STAGING = "prod", "staging"
CHANNELS = (PROD, STAGING)

# Off: the top level may hold files and no new folders are made, as before there were folders.
FOLDERS_ENABLED = "folders_enabled"
# Off: no read-only links; existing ones do not open.
SHARING_ENABLED = "sharing_enabled"
KNOWN_FLAGS = (FOLDERS_ENABLED, SHARING_ENABLED)


class WorkspaceRole(models.TextChoices):
    OWNER = "owner", _("Owner")
    ADMIN = "admin", _("Admin")
    MEMBER = "member", _("Member")


class SpaceRole(models.TextChoices):
    ADMIN = "admin", _("Admin")
    WRITER = "writer", _("Editor")
    READER = "reader", _("Viewer")


class WorkspaceQuerySet(models.QuerySet["Workspace"]):
    def of(self, user: User) -> WorkspaceQuerySet:
        return self.there().filter(members__user=user)

    def there(self) -> WorkspaceQuerySet:
        """Not in the trash."""
        return self.filter(deleted_at=None)


class SpaceQuerySet(models.QuerySet["Space"]):
    def there(self) -> SpaceQuerySet:
        """Not in the trash, and not in a workspace that is."""
        return self.filter(deleted_at=None, workspace__deleted_at=None)

    def in_use(self) -> SpaceQuerySet:
        """Neither in the trash nor archived, and in no workspace that is."""
        return self.there().filter(archived_at=None, workspace__archived_at=None)


class Workspace(models.Model):
    """A container of spaces, for one user or a team."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    name = models.CharField(max_length=NAME_LENGTH)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=clock.now)
    updated_at = models.DateTimeField(default=clock.now)
    # Out of the lists and read only until it is unarchived.
    archived_at = models.DateTimeField(null=True, default=None)
    # In the trash: no user finds it; its owners can restore it until its retention ends.
    deleted_at = models.DateTimeField(null=True, default=None)
    # Its days are over: it cannot come back, and its rows are removed a piece at a time.
    purged_at = models.DateTimeField(null=True, default=None)

    objects = WorkspaceQuerySet.as_manager()

    class Meta:
        db_table = "workspaces"

    def __str__(self) -> str:
        return self.name

    @property
    def is_archived(self) -> bool:
        return self.archived_at is not None

    def flags(self) -> dict[str, bool]:
        """Return every known feature; one without a row is disabled."""
        rows = dict(self.flag_rows.values_list("name", "is_on"))
        return {name: bool(rows.get(name)) for name in KNOWN_FLAGS}


class WorkspaceMember(models.Model):
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="members", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    role = models.CharField(max_length=10, choices=WorkspaceRole.choices)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "workspace_members"
        constraints = [models.UniqueConstraint(fields=["workspace", "user"], name="workspace_members_once")]


class WorkspaceFlag(models.Model):
    """A feature of a workspace. No row means disabled."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="flag_rows", db_index=False)
    name = models.CharField(max_length=40)
    is_on = models.BooleanField(default=False)
    updated_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    updated_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "workspace_flags"
        constraints = [models.UniqueConstraint(fields=["workspace", "name"], name="workspace_flags_once")]


class WorkspaceReleaseChannel(models.Model):
    """The deployment that can write a workspace. No row means none."""

    workspace = models.OneToOneField(
        Workspace, models.CASCADE, primary_key=True, related_name="release_channel_row", db_comment="工作区"
    )
    release_channel = models.CharField(max_length=16, default=PROD, db_default=PROD, db_comment="发布通道 prod|staging")
    updated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+", db_column="updated_by"
    )
    updated_at = models.DateTimeField(default=clock.now, db_default=Now())

    class Meta:
        db_table = "workspace_release_channel"
        db_table_comment = "共享数据库下的写隔离"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(release_channel__in=CHANNELS), name="workspace_release_channel_known"
            )
        ]


class Space(models.Model):
    """A tree of pages. Its row is the lock of the tree: every structural write takes it first."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="spaces")
    name = models.CharField(max_length=NAME_LENGTH)
    # Grows with every structural write: a page that holds an older number knows that its tree is stale.
    tree_version = models.PositiveBigIntegerField(default=0)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=clock.now)
    updated_at = models.DateTimeField(default=clock.now)
    # As of a workspace.
    archived_at = models.DateTimeField(null=True, default=None)
    deleted_at = models.DateTimeField(null=True, default=None)
    purged_at = models.DateTimeField(null=True, default=None)

    objects = SpaceQuerySet.as_manager()

    # What the overview adds: pages, counted up to a number.
    page_count: int
    is_count_cut: bool

    class Meta:
        db_table = "spaces"

    def __str__(self) -> str:
        return self.name

    @property
    def is_archived(self) -> bool:
        """True if the space or its workspace is archived."""
        return self.archived_at is not None or self.workspace.is_archived


class SpaceMember(models.Model):
    space = models.ForeignKey(Space, models.CASCADE, related_name="members", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    role = models.CharField(max_length=10, choices=SpaceRole.choices)
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "space_members"
        constraints = [models.UniqueConstraint(fields=["space", "user"], name="space_members_once")]
