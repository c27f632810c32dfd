"""Pages, what the seed adds to them, their versions, trash, favourites, links and origins."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext_lazy as _

from watchbook.base import clock
from watchbook.systems.library.models.workspaces import Space, Workspace

TITLE_LENGTH = 500
KEY_LENGTH = 255


class NodeType(models.TextChoices):
    FILE = "file", _("File")
    FOLDER = "folder", _("Folder")


class LongIndex(models.Index):
    """An index with the seed's name, which is longer than Django's limit for Oracle. Our databases allow 63."""

    max_name_length = 63


class TrashBatchQuerySet(models.QuerySet["TrashBatch"]):
    def open(self) -> TrashBatchQuerySet:
        """Batches that can be restored."""
        return self.filter(restored_at=None, purged_at=None)


class TrashBatch(models.Model):
    """One deletion: a page and all live pages below it. A restore covers exactly these."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    space = models.ForeignKey(Space, models.CASCADE, related_name="trash_batches")
    page = models.ForeignKey("Page", models.CASCADE, related_name="+")
    page_count = models.PositiveIntegerField(default=0)
    deleted_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    deleted_at = models.DateTimeField(default=clock.now)
    restored_at = models.DateTimeField(null=True, default=None)
    # From this moment on it is nowhere and cannot come back; its rows are removed a piece at a time.
    purged_at = models.DateTimeField(null=True, default=None)

    objects = TrashBatchQuerySet.as_manager()

    class Meta:
        db_table = "page_trash_batches"
        indexes = [models.Index(fields=["space", "restored_at", "-deleted_at"], name="page_trash_batches_open")]


TYPED: dict[str, Any] = {
    "node_type": Coalesce("node_meta__node_type", models.Value(NodeType.FILE.value)),
    "is_pinned": Coalesce("node_meta__is_pinned", models.Value(False)),
    "pinned_at": models.F("node_meta__pinned_at"),
}


class PageQuerySet(models.QuerySet["Page"]):
    def there(self) -> PageQuerySet:
        """Pages that are not purged, in a space and workspace that are not in the trash."""
        return self.filter(trash_batch__purged_at=None, space__deleted_at=None, space__workspace__deleted_at=None)

    def live(self) -> PageQuerySet:
        return self.filter(deleted_at=None)

    def with_type(self) -> PageQuerySet:
        """Adds node_type, is_pinned and pinned_at. A page without a row of its own is a file."""
        return self.annotate(**TYPED)

    def below(self, space_id: Any, parent_page_id: Any) -> PageQuerySet:
        """Live children of a page, or of the top level. With the space, because the index begins with it."""
        return self.live().filter(space_id=space_id, parent_page_id=parent_page_id)

    def files(self) -> PageQuerySet:
        return self.exclude(node_meta__node_type=NodeType.FOLDER)

    def folders(self) -> PageQuerySet:
        return self.filter(node_meta__node_type=NodeType.FOLDER)

    def in_order(self) -> PageQuerySet:
        """The order of siblings. Two may have got the same key; then the id decides."""
        return self.order_by("sort_key", "id")


class Page(models.Model):
    """A folder or page; page_node_meta says which. In the trash while `deleted_at` is set."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    space = models.ForeignKey(Space, models.CASCADE, related_name="pages", db_index=False)
    parent_page = models.ForeignKey("self", models.RESTRICT, null=True, related_name="children")
    title = models.CharField(max_length=TITLE_LENGTH)
    content = models.TextField(blank=True, default="")
    sort_key = models.CharField(max_length=KEY_LENGTH)
    version = models.PositiveIntegerField(default=1)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    updated_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=clock.now)
    # When title or text changed; a move does not touch it.
    updated_at = models.DateTimeField(default=clock.now)
    # When a person last moved it; a migration and its rollback leave it alone.
    moved_at = models.DateTimeField(null=True, default=None)
    deleted_at = models.DateTimeField(null=True, default=None)
    trash_batch = models.ForeignKey(TrashBatch, models.SET_NULL, null=True, default=None, related_name="pages")

    objects = PageQuerySet.as_manager()

    # What with_type() adds.
    node_type: str
    is_pinned: bool
    pinned_at: datetime | None
    # Whether the save that returned it made a version; False if the text was the same.
    is_written: bool = False

    class Meta:
        db_table = "pages"
        indexes = [
            models.Index(fields=["space", "parent_page", "sort_key", "id"], name="pages_siblings"),
            models.Index(fields=["space", "updated_at"], name="pages_recent"),
            # The newest of several spaces.
            models.Index(fields=["updated_at", "id"], name="pages_changed"),
        ]

    def __str__(self) -> str:
        return self.title


class PageNodeMeta(models.Model):
    """Type and pin of a page. The table `pages` has no columns for them."""

    page = models.OneToOneField(Page, models.CASCADE, primary_key=True, related_name="node_meta", db_comment="页面")
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="+", db_index=False)
    space = models.ForeignKey(Space, models.CASCADE, related_name="+", db_index=False)
    node_type = models.CharField(
        max_length=16, default=NodeType.FILE, db_default=NodeType.FILE.value, db_comment="file|folder"
    )
    is_pinned = models.BooleanField(default=False, db_default=False, db_comment="是否置顶")
    pinned_at = models.DateTimeField(null=True, default=None, db_comment="置顶时间")
    created_at = models.DateTimeField(default=clock.now, db_default=Now())
    updated_at = models.DateTimeField(default=clock.now, db_default=Now())

    class Meta:
        db_table = "page_node_meta"
        db_table_comment = "页面节点扩展语义（file/folder、pin）"
        indexes = [
            models.Index(fields=["space", "is_pinned", "-pinned_at"], name="idx_page_node_meta_space_pin"),
            LongIndex(fields=["workspace", "node_type"], name="idx_page_node_meta_workspace_type"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(node_type__in=[NodeType.FILE.value, NodeType.FOLDER.value]),
                name="page_node_meta_node_type",
            )
        ]


AUTOSAVED = "autosaved"


class PageVersionQuerySet(models.QuerySet["PageVersion"]):
    def shown(self) -> PageVersionQuerySet:
        """The history: of autosaves that belong together, the last one."""
        return self.filter(joined_at=None)


class PageVersion(models.Model):
    """A page as it was saved. The newest one equals the page."""

    page = models.ForeignKey(Page, models.CASCADE, related_name="versions", db_index=False)
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=TITLE_LENGTH)
    content = models.TextField(blank=True, default="")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    # created, saved, autosaved, restored, imported, clipped, copied
    reason = models.CharField(max_length=12)
    created_at = models.DateTimeField(default=clock.now)
    # Of an autosave: when the first one of its series was made.
    series_at = models.DateTimeField(null=True, default=None)
    # When the next autosave of the series took its place. Kept for some time: a user may be editing it.
    joined_at = models.DateTimeField(null=True, default=None)

    objects = PageVersionQuerySet.as_manager()

    class Meta:
        db_table = "page_versions"
        indexes = [models.Index(fields=["joined_at"], name="page_versions_joined")]
        constraints = [models.UniqueConstraint(fields=["page", "number"], name="page_versions_number")]


class Favourite(models.Model):
    """A page that one user marked. Pins are for all members."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+", db_index=False)
    page = models.ForeignKey(Page, models.CASCADE, related_name="favourites")
    created_at = models.DateTimeField(default=clock.now)
    # The user's own order; new ones have 0 and are on top.
    position = models.PositiveIntegerField(default=0)

    class Meta:
        db_table = "page_favourites"
        constraints = [models.UniqueConstraint(fields=["user", "page"], name="page_favourites_once")]


class ShareLink(models.Model):
    """A link that opens one page without an account. Only the digest of the token is stored."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    page = models.ForeignKey(Page, models.CASCADE, related_name="share_links")
    token_digest = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=clock.now)
    expires_at = models.DateTimeField(null=True, default=None)
    revoked_at = models.DateTimeField(null=True, default=None)

    class Meta:
        db_table = "page_share_links"


class PageOrigin(models.Model):
    """Origin of a clipped page: source, item, link, time and version."""

    page = models.OneToOneField(Page, models.CASCADE, primary_key=True, related_name="origin")
    source = models.CharField(max_length=40)
    kind = models.CharField(max_length=60)
    object_id = models.CharField(max_length=200)
    link = models.CharField(max_length=2048, blank=True, default="")
    source_at = models.DateTimeField(null=True, default=None)
    version = models.CharField(max_length=200, blank=True, default="")
    clipped_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    clipped_at = models.DateTimeField(default=clock.now)
    # The version of the page that is the source as it was: a later update is merged on top of it.
    page_version = models.PositiveIntegerField(default=1)

    class Meta:
        db_table = "page_origins"
        indexes = [models.Index(fields=["kind", "object_id"], name="page_origins_object")]
