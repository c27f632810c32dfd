"""Order of a space: approval and properties of pages, restrictions, tags and templates, in tables beside the pages."""

from __future__ import annotations

from uuid import uuid4

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from watchbook.base import clock
from watchbook.systems.library.models.pages import Page
from watchbook.systems.library.models.workspaces import Space, Workspace

TAG_LENGTH = 80


class SpaceSettings(models.Model):
    """Settings of a space. No row means that none was changed."""

    space = models.OneToOneField(Space, models.CASCADE, primary_key=True, related_name="settings_row")
    # Viewers see the approved version of a page, and no page without one. Editors see the newest.
    approved_only = models.BooleanField(default=False)
    updated_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    updated_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "space_settings"


class PageStatus(models.TextChoices):
    DRAFT = "draft", _("Draft")
    IN_REVIEW = "in_review", _("In review")
    APPROVED = "approved", _("Approved")


class PageProperties(models.Model):
    """Status, owner and last valid day of a page. No row: a draft without owner and date."""

    page = models.OneToOneField(Page, models.CASCADE, primary_key=True, related_name="properties")
    # Of the newest text: a change of an approved text is a draft again.
    status = models.CharField(max_length=10, choices=PageStatus.choices, default=PageStatus.DRAFT)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, default=None, related_name="+")
    valid_until = models.DateField(null=True, default=None)
    # The version that was approved last; it stays when the text changes.
    approved_number = models.PositiveIntegerField(null=True, default=None)
    approved_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    approved_at = models.DateTimeField(null=True, default=None)

    class Meta:
        db_table = "page_properties"
        indexes = [models.Index(fields=["valid_until"], name="page_properties_valid")]


class PageRestriction(models.Model):
    """A page that, with everything below it, only the members in its grants can open; and admins of the space."""

    page = models.OneToOneField(Page, models.CASCADE, primary_key=True, related_name="restriction")
    space = models.ForeignKey(Space, models.CASCADE, related_name="restrictions")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "page_restrictions"


class PageGrant(models.Model):
    """A user or a group that can open a restricted page, with the role that each has in the space."""

    restriction = models.ForeignKey(PageRestriction, models.CASCADE, related_name="grants", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, default=None, related_name="+")
    group = models.ForeignKey("people.Group", models.CASCADE, null=True, default=None, related_name="+")

    class Meta:
        db_table = "page_grants"
        constraints = [
            models.UniqueConstraint(fields=["restriction", "user"], name="page_grants_user"),
            models.UniqueConstraint(fields=["restriction", "group"], name="page_grants_group"),
        ]


class PageGuard(models.Model):
    """A page and a restriction that covers it: its own, or one of a page above it. Lists join it, no walk is needed."""

    page = models.ForeignKey(Page, models.CASCADE, related_name="guards", db_index=False)
    restriction = models.ForeignKey(PageRestriction, models.CASCADE, related_name="guards")
    # The innermost of those that cover the page: it names the scope of its search document.
    is_nearest = models.BooleanField(default=True)

    class Meta:
        db_table = "page_guards"
        constraints = [models.UniqueConstraint(fields=["page", "restriction"], name="page_guards_once")]


class Tag(models.Model):
    """A word of a workspace for its pages and folders."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="tags", db_index=False)
    name = models.CharField(max_length=TAG_LENGTH)
    # In one form, so that two spellings are one tag on every database.
    folded = models.CharField(max_length=TAG_LENGTH)
    created_at = models.DateTimeField(default=clock.now)

    # What lists of tags add.
    page_count: int

    class Meta:
        db_table = "page_tags"
        constraints = [models.UniqueConstraint(fields=["workspace", "folded"], name="page_tags_name")]

    def __str__(self) -> str:
        return self.name


class PageTag(models.Model):
    page = models.ForeignKey(Page, models.CASCADE, related_name="tag_rows", db_index=False)
    tag = models.ForeignKey(Tag, models.CASCADE, related_name="page_rows")

    class Meta:
        db_table = "page_tag_uses"
        constraints = [models.UniqueConstraint(fields=["page", "tag"], name="page_tag_uses_once")]


class PageTemplate(models.Model):
    """A page from which new pages of the workspace can be made."""

    page = models.OneToOneField(Page, models.CASCADE, primary_key=True, related_name="template")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(default=clock.now)

    class Meta:
        db_table = "page_templates"
