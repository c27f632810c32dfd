"""Attachments and who uses them, links of texts, files that pages were imported from, and imports."""

from __future__ import annotations

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q

from watchbook.base import clock
from watchbook.systems.library.models.pages import TITLE_LENGTH, Page
from watchbook.systems.library.models.workspaces import Space, Workspace

FILE_NAME_LENGTH = 255


class AttachmentQuerySet(models.QuerySet["Attachment"]):
    def unused(self) -> AttachmentQuerySet:
        """In no folder, and in no version of a page."""
        in_folder = Q(home__node_meta__node_type="folder")
        return self.exclude(in_folder).exclude(Exists(AttachmentUse.objects.filter(attachment=OuterRef("pk"))))


class Attachment(models.Model):
    """An uploaded file. Its content is a blob; the row says what it is called and what was found in it."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    # Whose quota it counts against.
    workspace = models.ForeignKey(Workspace, models.SET_NULL, null=True, related_name="attachments")
    # The folder it is in, or the page it was uploaded to.
    home = models.ForeignKey(Page, models.SET_NULL, null=True, default=None, related_name="attachments")
    sha256 = models.CharField(max_length=64)
    name = models.CharField(max_length=FILE_NAME_LENGTH)
    # Found by content, never taken from the name or from the browser.
    media_type = models.CharField(max_length=100)
    size = models.PositiveBigIntegerField()
    # Of a picture that can be shown; null for everything else.
    width = models.PositiveIntegerField(null=True, default=None)
    height = models.PositiveIntegerField(null=True, default=None)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=clock.now)

    objects = AttachmentQuerySet.as_manager()

    class Meta:
        db_table = "page_attachments"

    def __str__(self) -> str:
        return self.name

    @property
    def is_picture(self) -> bool:
        return self.width is not None


class AttachmentUse(models.Model):
    """An attachment in the text of a page, from version `first_number` to `last_number`; null: until now."""

    attachment = models.ForeignKey(Attachment, models.CASCADE, related_name="uses")
    page = models.ForeignKey(Page, models.CASCADE, related_name="attachment_uses", db_index=False)
    first_number = models.PositiveIntegerField()
    last_number = models.PositiveIntegerField(null=True, default=None)

    class Meta:
        db_table = "page_attachment_uses"
        constraints = [
            models.UniqueConstraint(fields=["page", "attachment", "first_number"], name="page_attachment_uses_once")
        ]


class Thumbnail(models.Model):
    """A smaller picture of an attachment, made when it was first asked for."""

    attachment = models.ForeignKey(Attachment, models.CASCADE, related_name="thumbnails", db_index=False)
    side = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        db_table = "page_thumbnails"
        constraints = [models.UniqueConstraint(fields=["attachment", "side"], name="page_thumbnails_side")]


class PageLink(models.Model):
    """A link in the current text of a page, by kind and key of its target: a page, a version, an item of a source."""

    page = models.ForeignKey(Page, models.CASCADE, related_name="links", db_index=False)
    kind = models.CharField(max_length=60)
    key = models.CharField(max_length=200)

    class Meta:
        db_table = "page_links"
        # With the page: enough to answer from, also where most links lead to one page.
        indexes = [models.Index(fields=["kind", "key", "page"], name="page_links_linking")]
        constraints = [models.UniqueConstraint(fields=["page", "kind", "key"], name="page_links_once")]


class PageSource(models.Model):
    """The file that a page was imported from: its name, its front matter, and the title it had."""

    page = models.OneToOneField(Page, models.CASCADE, primary_key=True, related_name="file_source")
    file_name = models.CharField(max_length=FILE_NAME_LENGTH, blank=True, default="")
    title = models.CharField(max_length=TITLE_LENGTH)
    front = models.TextField(blank=True, default="")

    class Meta:
        db_table = "page_file_sources"


class PageImport(models.Model):
    """An import: first a plan with its report, then what was written."""

    PLANNED, DONE, UNDONE = "planned", "done", "undone"

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    space = models.ForeignKey(Space, models.CASCADE, related_name="imports")
    parent_page = models.ForeignKey(Page, models.SET_NULL, null=True, default=None, related_name="+")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    name = models.CharField(max_length=FILE_NAME_LENGTH)
    format = models.CharField(max_length=20)
    state = models.CharField(max_length=10, default=PLANNED)
    size = models.PositiveBigIntegerField(default=0)
    # The uploaded file, until it is imported.
    sha256 = models.CharField(max_length=64, blank=True, default="")
    report = models.JSONField(default=dict)
    created_at = models.DateTimeField(default=clock.now)
    finished_at = models.DateTimeField(null=True, default=None)

    class Meta:
        db_table = "page_imports"
        indexes = [models.Index(fields=["space", "-created_at"], name="page_imports_recent")]
