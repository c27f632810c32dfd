"""Actions that put pages in order: properties, approval, restrictions, tags, templates, favourites, recent changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from watchbook.core.accounts.models import User
from watchbook.core.people.models import Group
from watchbook.systems.library import access
from watchbook.systems.library.errors import NotFound, Wrong
from watchbook.systems.library.models import (
    Favourite,
    Page,
    PageGuard,
    PageProperties,
    PageRestriction,
    PageTag,
    PageTemplate,
    Space,
    SpaceRole,
    Tag,
    WorkspaceMember,
    WorkspaceRole,
)
from watchbook.systems.library.models.pages import PageQuerySet
from watchbook.systems.library.store import fresh, guards, order, writing, writing_workspace

WRITER, ADMIN = SpaceRole.WRITER, SpaceRole.ADMIN
MOST_LISTED = 500


def set_approved_only(user: User, space_id: UUID, *, on: bool) -> Space:
    """Show viewers of a space approved versions only, or the newest text. For admins of the space."""
    space = access.space_for(user, space_id, ADMIN)
    with writing(space.pk, structural=False):
        order.set_approved_only(space, user, on=on)
    return space


def properties_of(user: User, page_id: UUID) -> PageProperties:
    """Return the properties of a page; of one without any, a draft. For viewers."""
    page = access.page_for(user, page_id)
    rows = PageProperties.objects.filter(page=page).select_related("owner", "approved_by")
    return rows.first() or PageProperties(page=page)


def set_properties(user: User, page_id: UUID, changes: dict[str, Any]) -> PageProperties:
    """Change `status`, `owner_id`, `valid_until`, or `withdraw` the approval; only what is given. For editors."""
    page = access.page_for(user, page_id, WRITER)
    given = {name: value for name, value in changes.items() if name in ("status", "withdraw")}
    if "owner_id" in changes:
        given["owner"] = _owner(page, changes["owner_id"])
    if "valid_until" in changes:
        given["valid_until"] = _day(changes["valid_until"])
    with writing(page.space_id, structural=False):
        return order.set_properties(fresh(page), user, given)


def _owner(page: Page, person_id: UUID | None) -> User | None:
    if person_id is None:
        return None
    found = access.readers_of(page).filter(pk=person_id).first()
    if found is None:
        raise Wrong("owner_id", _("The owner must be able to read the page."))
    return found


def _day(value: date | str | None) -> date | None:
    try:
        if isinstance(value, str):
            return date.fromisoformat(value) if value else None
        return value
    except ValueError:
        raise Wrong("valid_until", _("Enter a date as YYYY-MM-DD.")) from None


@dataclass(frozen=True)
class Restriction:
    """Who can open a page, besides admins of the space. `above` is the nearest page above it that is restricted."""

    is_restricted: bool
    users: list[User]
    groups: list[Group]
    above: Page | None


def restriction_of(user: User, page_id: UUID) -> Restriction:
    """Return the restriction of a page. For editors who can open it."""
    page = access.page_for(user, page_id, WRITER)
    found = PageRestriction.objects.filter(page=page).first()
    guards_above = PageGuard.objects.filter(page=page).exclude(restriction=page.pk).order_by("-is_nearest", "-pk")
    above = guards_above.select_related("restriction__page").first()
    grants = list(found.grants.select_related("user", "group")) if found else []
    return Restriction(
        is_restricted=found is not None,
        users=sorted((grant.user for grant in grants if grant.user), key=lambda one: one.email),
        groups=sorted((grant.group for grant in grants if grant.group), key=lambda one: one.name),
        above=above.restriction.page if above else None,
    )


def restrict_page(user: User, page_id: UUID, *, user_ids: Sequence[UUID], group_ids: Sequence[UUID]) -> Page:
    """Let only these members and groups, and admins of the space, open a page and all below it. For editors.

    The user keeps access, named or not.
    """
    page = access.page_for(user, page_id, WRITER)
    people = set(user_ids)
    if access.space_role(user, page.space) != ADMIN and user.pk not in people:
        people.add(user.pk)
    with writing(page.space_id):
        guards.restrict(fresh(page), user, user_ids=people, group_ids=set(group_ids))
    return page


def unrestrict_page(user: User, page_id: UUID) -> Page:
    """Remove the restriction of a page. For editors who can open it."""
    page = access.page_for(user, page_id, WRITER)
    with writing(page.space_id):
        guards.lift(fresh(page), user)
    return page


def grantable(user: User, page: Page) -> tuple[list[User], list[Group]]:
    """Return the members and groups that can be named in a restriction of the page."""
    members = WorkspaceMember.objects.filter(workspace_id=page.space.workspace_id).select_related("user")
    people = [member.user for member in members.order_by("user__email")[:MOST_LISTED]]
    return people, list(Group.objects.order_by("folded")[:MOST_LISTED])


def tags_of(page: Page) -> list[Tag]:
    return list(Tag.objects.filter(page_rows__page=page).order_by("folded"))


def set_tags(user: User, page_id: UUID, names: Sequence[str]) -> list[Tag]:
    """Give a page or folder exactly these tags. For editors."""
    page = access.page_for(user, page_id, WRITER)
    with writing(page.space_id, structural=False):
        return order.set_tags(fresh(page), names)


def list_tags(user: User, workspace_id: UUID) -> list[Tag]:
    """Return the tags of pages that the user can view, by name, each with its `page_count`. For members."""
    access.workspace_for(user, workspace_id)
    pages = access.readable(user).live()
    uses = PageTag.objects.filter(page__in=pages, tag__workspace_id=workspace_id)
    counts = dict(uses.values_list("tag_id").annotate(n=Count("pk")).order_by())
    found = list(Tag.objects.filter(workspace_id=workspace_id, pk__in=counts).order_by("folded", "pk"))
    for tag in found:
        tag.page_count = counts[tag.pk]
    return found


def tag_for(user: User, tag_id: UUID) -> Tag:
    """Return a tag of a page that the user can view."""
    tag = Tag.objects.filter(pk=tag_id).select_related("workspace").first()
    if tag is None or not access.workspace_role(user, tag.workspace_id):
        raise NotFound
    pages = access.readable(user).live()
    is_run = access.workspace_role(user, tag.workspace_id) in access.RUNS_WORKSPACE
    if tag.workspace.deleted_at or not (is_run or PageTag.objects.filter(tag=tag, page__in=pages).exists()):
        raise NotFound
    return tag


def tagged_pages(user: User, tag_id: UUID) -> PageQuerySet:
    """Return the pages and folders with a tag that the user can view."""
    tag = tag_for(user, tag_id)
    rows = access.readable(user).live().filter(tag_rows__tag=tag)
    return rows.with_type().select_related("space").defer("content")


def rename_tag(user: User, tag_id: UUID, name: str) -> Tag:
    """Rename a tag for the whole workspace. For admins of the workspace."""
    tag = _managed(user, tag_id)
    with writing_workspace(tag.workspace_id):
        return order.rename_tag(tag, user, name)


def merge_tags(user: User, tag_id: UUID, into_id: UUID) -> int:
    """Replace a tag by another one on all its pages. For admins of the workspace. Returns the number of pages."""
    tag, into = _managed(user, tag_id), _managed(user, into_id)
    with writing_workspace(tag.workspace_id):
        return order.merge_tags(tag, into, user)


def _managed(user: User, tag_id: UUID) -> Tag:
    tag = tag_for(user, tag_id)
    access.workspace_for(user, tag.workspace_id, WorkspaceRole.ADMIN)
    return tag


def set_template(user: User, page_id: UUID, *, on: bool) -> Page:
    """Offer a page as a template in its workspace. For editors."""
    page = access.page_for(user, page_id, WRITER)
    with writing(page.space_id, structural=False):
        order.set_template(fresh(page), user, on=on)
    return page


def is_template(page: Page) -> bool:
    return PageTemplate.objects.filter(page=page).exists()


def list_templates(user: User, workspace_id: UUID) -> list[Page]:
    """Return the templates of a workspace that the user can view, by title."""
    # Not with a join: SQLite would begin with all pages of the workspace.
    rows = access.readable(user).live().filter(pk__in=PageTemplate.objects.values("page_id"))
    rows = rows.filter(space__workspace_id=workspace_id)
    found = access.sight(user).show(rows.with_type().select_related("space").defer("content").order_by("title", "pk"))
    return found[: order.MOST_TEMPLATES]


def order_favourites(user: User, page_ids: Sequence[UUID]) -> None:
    """Put the user's favourites into this order; others stay behind them as they are."""
    rows = {row.page_id: row for row in Favourite.objects.filter(user=user).select_related("page__space")}
    wanted = list(dict.fromkeys(page_ids))
    if unknown := [pk for pk in wanted if pk not in rows]:
        raise NotFound(details=[{"field": "page_ids", "message": str(pk)} for pk in unknown])
    rest = sorted((row for pk, row in rows.items() if pk not in wanted), key=lambda row: (row.position, row.pk))
    for number, row in enumerate([*(rows[pk] for pk in wanted), *rest], 1):
        row.position = number
    with transaction.atomic():
        for workspace_id in sorted({rows[pk].page.space.workspace_id for pk in wanted}):
            with writing_workspace(workspace_id):
                pass  # neither archived nor of another channel
        Favourite.objects.bulk_update(rows.values(), ["position"], batch_size=MOST_LISTED)


def recent_pages(user: User) -> PageQuerySet:
    """Return the pages that the user can view, for a list by the time of the last change."""
    rows = access.readable(user).live().files()
    return rows.with_type().select_related("space", "updated_by").defer("content")
