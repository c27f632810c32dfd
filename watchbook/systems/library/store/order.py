"""Writes what puts pages in order: properties and approval, tags, templates, and the settings of a space."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.text import clean_text, cut, fold
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.core.jobs import queue
from watchbook.core.jobs.queue import exclusive_name
from watchbook.systems.library.errors import Conflict, Wrong
from watchbook.systems.library.models import (
    NodeType,
    Page,
    PageProperties,
    PageStatus,
    PageTag,
    PageTemplate,
    PageVersion,
    Space,
    SpaceSettings,
    Tag,
)
from watchbook.systems.library.models.order import TAG_LENGTH
from watchbook.systems.library.models.pages import AUTOSAVED
from watchbook.systems.library.store import chunks, publish

INDEX_JOB = "library.index"
MOST_TAGS = 20
MOST_TEMPLATES = 200


def set_approved_only(space: Space, user: User, *, on: bool) -> None:
    """Show viewers approved versions only, or the newest. What must be hidden is hidden in the same transaction."""
    found, _made = SpaceSettings.objects.get_or_create(space=space)
    if found.approved_only == on:
        return
    found.approved_only, found.updated_by, found.updated_at = on, user, clock.now()
    found.save(update_fields=["approved_only", "updated_by", "updated_at"])
    publish.rescope_space(space.pk, approved_only=on)
    audit.record("library.approved_only", actor=user, subject=str(space.pk), on=on)
    queue.enqueue(INDEX_JOB, {"space_id": str(space.pk)}, exclusive=f"{exclusive_name(INDEX_JOB)}:{space.pk}")


def set_properties(page: Page, user: User, changes: dict[str, Any]) -> PageProperties:
    """Change status, owner or last valid day; `withdraw` takes the approval back. Only what is given changes."""
    found, _made = PageProperties.objects.get_or_create(page=page)
    if "owner" in changes:
        found.owner = changes["owner"]
    if "valid_until" in changes:
        found.valid_until = changes["valid_until"]
    if changes.get("withdraw"):
        found.status, found.approved_number, found.approved_by, found.approved_at = PageStatus.DRAFT, None, None, None
    elif "status" in changes:
        _set_status(found, page, user, changes["status"])
    found.save()
    audit.record("library.properties", actor=user, subject=str(page.pk), changed=sorted(changes))
    if changes.get("withdraw"):
        publish.remove_approved([page.pk])
    elif changes.get("status") == PageStatus.APPROVED:
        publish.put([page])
        publish.record_approved(page, user)
    return found


def _set_status(found: PageProperties, page: Page, user: User, status: str) -> None:
    if status not in PageStatus.values:
        raise Wrong("status", _("Use one of: %(names)s.") % {"names": ", ".join(PageStatus.values)})
    if page.node_type == NodeType.FOLDER:
        raise Wrong("status", _("A folder has no status."))
    found.status = PageStatus(status)
    if status == PageStatus.APPROVED:
        # An autosave would be joined with the next one; what was approved stays.
        rows = PageVersion.objects.filter(page=page, number=page.version)
        rows.filter(reason=AUTOSAVED).update(reason="saved", series_at=None)
        if not rows.exists():
            PageVersion.objects.create(
                page=page, number=page.version, title=page.title, content=page.content, author_id=page.updated_by_id,
                reason="created", created_at=page.updated_at,
            )  # fmt: skip
        found.approved_number, found.approved_by, found.approved_at = page.version, user, clock.now()


def expired(today: date) -> Iterable[PageProperties]:
    """Pages with an owner whose last valid day is over."""
    rows = PageProperties.objects.filter(valid_until__lt=today, page__deleted_at=None).exclude(owner=None)
    return rows.select_related("page__space", "owner").order_by("pk")


def tag_name(name: str) -> tuple[str, str]:
    """Return the name of a tag, and the form in which it is compared."""
    kept = cut(" ".join(clean_text(name).replace(",", " ").split()).lstrip("#").strip(), TAG_LENGTH)
    if not kept:
        raise Wrong("tags", _("Enter a name for the tag."))
    return kept, cut(fold(kept), TAG_LENGTH)


def set_tags(page: Page, names: Sequence[str]) -> list[Tag]:
    """Give the page exactly these tags; unknown ones are created, unused ones removed."""
    wanted: dict[str, str] = {}
    for name, folded in map(tag_name, names):
        wanted.setdefault(folded, name)
    if len(wanted) > MOST_TAGS:
        raise Wrong("tags", _("A page has at most %(n)s tags.") % {"n": MOST_TAGS})
    tags = _tags(page.space.workspace_id, wanted)
    rows = PageTag.objects.filter(page=page)
    present = set(rows.values_list("tag_id", flat=True))
    rows.exclude(tag__in=tags).delete()
    PageTag.objects.bulk_create([PageTag(page=page, tag=tag) for tag in tags if tag.pk not in present])
    remove_unused(page.space.workspace_id)
    return sorted(tags, key=lambda tag: tag.folded)


def _tags(workspace_id: UUID, wanted: dict[str, str]) -> list[Tag]:
    rows = Tag.objects.filter(workspace_id=workspace_id, folded__in=wanted)
    known = {tag.folded for tag in rows}
    fresh = [Tag(workspace_id=workspace_id, name=wanted[key], folded=key) for key in wanted if key not in known]
    # Another page of the workspace may have got the tag at the same moment.
    Tag.objects.bulk_create(fresh, ignore_conflicts=True)
    return list(Tag.objects.filter(workspace_id=workspace_id, folded__in=wanted))


def remove_unused(workspace_id: UUID) -> None:
    unused = ~Exists(PageTag.objects.filter(tag=OuterRef("pk")))
    Tag.objects.filter(unused, workspace_id=workspace_id).delete()


def rename_tag(tag: Tag, user: User, name: str) -> Tag:
    """Rename a tag on all its pages. Raises Conflict if another tag has the name: that is a merge."""
    kept, folded = tag_name(name)
    if Tag.objects.filter(workspace_id=tag.workspace_id, folded=folded).exclude(pk=tag.pk).exists():
        raise Conflict(_("Another tag has this name. Merge the two tags instead."), code="tag_exists")
    before, tag.name, tag.folded = tag.name, kept, folded
    tag.save(update_fields=["name", "folded"])
    audit.record("library.tag", actor=user, subject=str(tag.workspace_id), before=before, after=kept)
    return tag


def merge_tags(tag: Tag, into: Tag, user: User) -> int:
    """Give the pages of one tag the other tag, and remove the first. Returns the number of pages."""
    if tag.pk == into.pk or tag.workspace_id != into.workspace_id:
        raise Wrong("into", _("Choose another tag of the same workspace."))
    pages = list(PageTag.objects.filter(tag=tag).values_list("page_id", flat=True))
    for some in chunks(pages):
        PageTag.objects.bulk_create([PageTag(page_id=pk, tag=into) for pk in some], ignore_conflicts=True)
    audit.record("library.tag", actor=user, subject=str(tag.workspace_id), before=tag.name, after=into.name)
    tag.delete()
    return len(pages)


def follow(page_ids: Sequence[UUID], workspace_id: UUID) -> None:
    """Tags belong to a workspace: pages that come from another one get tags of the same names here."""
    for some in chunks(page_ids):
        rows = PageTag.objects.filter(page__in=some).exclude(tag__workspace_id=workspace_id).select_related("tag")
        found = list(rows)
        if not found:
            continue
        here = {tag.folded: tag for tag in _tags(workspace_id, {row.tag.folded: row.tag.name for row in found})}
        fresh = [PageTag(page_id=row.page_id, tag=here[row.tag.folded]) for row in found]
        PageTag.objects.filter(pk__in=[row.pk for row in found]).delete()
        PageTag.objects.bulk_create(fresh, ignore_conflicts=True)
        for old in {row.tag.workspace_id for row in found}:
            remove_unused(old)


def set_template(page: Page, user: User, *, on: bool) -> None:
    """Offer a page as a template in its workspace, or stop offering it."""
    if page.node_type == NodeType.FOLDER:
        raise Wrong("page", _("A folder cannot be a template."))
    if not on:
        PageTemplate.objects.filter(page=page).delete()
        return
    rows = PageTemplate.objects.filter(page__space__workspace_id=page.space.workspace_id, page__deleted_at=None)
    if rows.count() >= MOST_TEMPLATES:
        raise Conflict(_("This workspace has too many templates."), code="too_many_templates")
    PageTemplate.objects.get_or_create(page=page, defaults={"created_by": user})
