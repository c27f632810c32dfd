"""API endpoints for search, recent changes, properties, restrictions, tags, templates and the order of favourites."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status

from watchbook.core.accounts.access import person_of
from watchbook.core.api.lists import PageQuery, keyset
from watchbook.core.api.schemas import Answer, Listing, said
from watchbook.systems.library import access, actions, filters
from watchbook.systems.library.api.pages import seen_pages
from watchbook.systems.library.api.schemas import CrumbOut, PageHead, PageList, PageOut, SpaceOut, space_out
from watchbook.systems.library.api.workspaces import CHANGING
from watchbook.systems.library.errors import NotFound
from watchbook.systems.library.models import PageProperties, Tag

router = Router()


class PageSearchQuery(PageQuery):
    q: str = ""
    space: str = ""
    tag: str = ""
    author: str = ""
    since: str = ""
    until: str = ""


class FoundPageOut(PageHead):
    """A page that was found."""

    space_id: UUID
    updated_at: datetime
    path: list[CrumbOut] = said("From the top level down to the folder of the page.")
    excerpt: str = said("Text around the words that were found; empty without words.")


class FoundPageList(Listing[FoundPageOut]):
    """Pages that were found: with words the best first, without the last changed first."""


class PagePropertiesOut(Answer):
    """Properties of a page."""

    page_id: UUID
    status: str = said("draft, in_review or approved. A change of an approved text is a draft.")
    owner_id: UUID | None
    valid_until: date | None = said("Last valid day.")
    approved_version: int | None = said("The version that was approved last.")
    approved_by_id: UUID | None
    approved_at: datetime | None


class PagePropertiesIn(Schema):
    status: str | None = None
    owner_id: UUID | None = None
    valid_until: date | None = None
    # True: no version is approved any more.
    withdraw: bool = False


class RestrictionOut(Answer):
    """Who can open a page and everything below it, besides admins of the space."""

    page_id: UUID
    is_restricted: bool
    user_ids: list[UUID]
    group_ids: list[UUID]
    above_page_id: UUID | None = said("The nearest page above it that is restricted, and so restricts it too.")


class RestrictionIn(Schema):
    user_ids: list[UUID] = []
    group_ids: list[UUID] = []


class PageTagOut(Answer):
    """A tag of a workspace."""

    row = Tag
    id: UUID
    name: str
    page_count: int = said("Number of pages and folders with this tag that you can view.")


class PageTagList(Listing[PageTagOut]):
    """Tags by name."""


class PageTagNames(Answer):
    """The tags of a page."""

    tags: list[str]


class PageTagsIn(Schema):
    tags: list[str]


class PageTagNameIn(Schema):
    name: str


class PageTagMergeIn(Schema):
    into: UUID


class FavouriteOrderIn(Schema):
    page_ids: list[UUID]


class SpaceSettingsIn(Schema):
    approved_only: bool


@router.get("/search", response=FoundPageList)
def search(request: HttpRequest, asked: Query[PageSearchQuery]) -> dict[str, Any]:
    """Search pages by words `q` (the last one can be a beginning), space, tag, author (address) and day of change."""
    user = person_of(request)
    with access.reading():
        given = {name: getattr(asked, name) for name in ("q", "space", "tag", "author", "since", "until")}
        found = filters.search(user, filters.read(user, **given), cursor=asked.cursor, limit=asked.limit)
    return {"items": [_found_out(each) for each in found.items], "next": found.next or None}


def _found_out(found: filters.FoundPage) -> dict[str, Any]:
    path = [{"id": crumb.id, "title": crumb.title} for crumb in found.path]
    excerpt = "".join(part.text for part in found.body_parts)
    return FoundPageOut.of(found.page, path=path, excerpt=excerpt)


@router.get("/recent", response=PageList)
def recent(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    """List the pages that you can view, the last changed first."""
    user = person_of(request)
    return seen_pages(user, keyset(actions.recent_pages(user), page, by="-updated_at"))


@router.put("/favourites/order", response=PageList, openapi_extra=CHANGING)
def order_favourites(request: HttpRequest, body: FavouriteOrderIn) -> dict[str, Any]:
    """Put your favourites into this order. Favourites that are not named stay behind them."""
    user = person_of(request)
    actions.order_favourites(user, body.page_ids)
    return {"items": [PageHead.of(page) for page in actions.list_favourites(user)], "next": None}


@router.patch("/spaces/{uuid:space_id}/settings", response=SpaceOut, openapi_extra=CHANGING)
def space_settings(request: HttpRequest, space_id: UUID, body: SpaceSettingsIn) -> dict[str, Any]:
    """Show viewers of a space approved versions only, or the newest text. Requires the role admin in the space."""
    user = person_of(request)
    return space_out(actions.set_approved_only(user, space_id, on=body.approved_only), user)


@router.get("/pages/{uuid:page_id}/properties", response=PagePropertiesOut)
def properties(request: HttpRequest, page_id: UUID) -> dict[str, Any]:
    """Get status, owner, last valid day and approved version of a page."""
    return _properties_out(actions.properties_of(person_of(request), page_id))


@router.patch("/pages/{uuid:page_id}/properties", response=PagePropertiesOut, openapi_extra=CHANGING)
def set_properties(request: HttpRequest, page_id: UUID, body: PagePropertiesIn) -> dict[str, Any]:
    """Change properties of a page; what is not named stays. `status: approved` approves the newest version."""
    changes = body.dict(exclude_unset=True)
    if changes.get("status", "") is None:
        del changes["status"]
    return _properties_out(actions.set_properties(person_of(request), page_id, changes))


def _properties_out(found: PageProperties) -> dict[str, Any]:
    return {
        "page_id": found.page_id, "status": found.status, "owner_id": found.owner_id, "valid_until": found.valid_until,
        "approved_version": found.approved_number, "approved_by_id": found.approved_by_id,
        "approved_at": found.approved_at,
    }  # fmt: skip


@router.get("/pages/{uuid:page_id}/restriction", response=RestrictionOut)
def restriction(request: HttpRequest, page_id: UUID) -> dict[str, Any]:
    """Get who can open a page and everything below it. For editors."""
    found = actions.restriction_of(person_of(request), page_id)
    return {
        "page_id": page_id, "is_restricted": found.is_restricted, "user_ids": [one.pk for one in found.users],
        "group_ids": [one.pk for one in found.groups], "above_page_id": found.above.pk if found.above else None,
    }  # fmt: skip


@router.put("/pages/{uuid:page_id}/restriction", response=RestrictionOut, openapi_extra=CHANGING)
def restrict(request: HttpRequest, page_id: UUID, body: RestrictionIn) -> dict[str, Any]:
    """Let only these members and groups, and admins of the space, open a page and everything below it."""
    actions.restrict_page(person_of(request), page_id, user_ids=body.user_ids, group_ids=body.group_ids)
    return restriction(request, page_id)


@router.delete("/pages/{uuid:page_id}/restriction", response={204: None}, openapi_extra=CHANGING)
def unrestrict(request: HttpRequest, page_id: UUID) -> Status[None]:
    """Remove the restriction of a page. A restriction of a page above it stays."""
    actions.unrestrict_page(person_of(request), page_id)
    return Status(204, None)


class PageSourceOut(Answer):
    """What became of the source of a saved item."""

    page_id: UUID
    source: str
    kind: str
    object_id: str
    link: str
    saved_version: str
    source_version: str | None = said("Null if the item is gone or not visible to you.")
    has_changed: bool
    versions_since: int = said("0 where the source does not count its versions.")


@router.get("/pages/{uuid:page_id}/source", response=PageSourceOut)
def source(request: HttpRequest, page_id: UUID) -> dict[str, Any]:
    """Get the source of a saved item, and whether it has changed since. 404 for a page that was not saved from one."""
    user = person_of(request)
    found = actions.source_state(user, actions.open_page(user, page_id))
    if found is None:
        raise NotFound
    return _source_out(found)


def _source_out(found: actions.SourceState) -> dict[str, Any]:
    return {
        "page_id": found.origin.page_id, "source": found.origin.source, "kind": found.origin.kind,
        "link": found.origin.link, "object_id": found.origin.object_id, "saved_version": found.origin.version,
        "source_version": found.item.version if found.item else None, "has_changed": found.has_changed,
        "versions_since": found.versions_since,
    }  # fmt: skip


@router.post("/pages/{uuid:page_id}/source/read", response=PageSourceOut, openapi_extra=CHANGING)
def read_source(request: HttpRequest, page_id: UUID) -> dict[str, Any]:
    """Read the web page that a page was saved from again, and get whether it has changed. The saved text stays."""
    return _source_out(actions.read_source(person_of(request), page_id))


@router.post("/pages/{uuid:page_id}/source/update", response=PageOut, openapi_extra=CHANGING)
def update_source(request: HttpRequest, page_id: UUID) -> dict[str, Any]:
    """Save the source as it is now, merged with what members changed. 409 `version_conflict` if that needs a choice."""
    return PageOut.of(actions.update_clip(person_of(request), page_id))


@router.get("/pages/{uuid:page_id}/tags", response=PageTagNames)
def tags(request: HttpRequest, page_id: UUID) -> dict[str, Any]:
    """Get the tags of a page or folder."""
    return {"tags": [tag.name for tag in actions.tags_of(actions.open_page(person_of(request), page_id))]}


@router.put("/pages/{uuid:page_id}/tags", response=PageTagNames, openapi_extra=CHANGING)
def set_tags(request: HttpRequest, page_id: UUID, body: PageTagsIn) -> dict[str, Any]:
    """Give a page or folder exactly these tags, at most 20. New tags are created."""
    return {"tags": [tag.name for tag in actions.set_tags(person_of(request), page_id, body.tags)]}


@router.get("/workspaces/{uuid:workspace_id}/tags", response=PageTagList)
def workspace_tags(request: HttpRequest, workspace_id: UUID) -> dict[str, Any]:
    """List the tags of the pages that you can view in a workspace, by name."""
    found = actions.list_tags(person_of(request), workspace_id)
    return {"items": [PageTagOut.of(tag, page_count=tag.page_count) for tag in found], "next": None}


@router.get("/tags/{uuid:tag_id}/pages", response=PageList)
def tagged(request: HttpRequest, tag_id: UUID, page: Query[PageQuery]) -> dict[str, Any]:
    """List the pages and folders with a tag, the last changed first."""
    user = person_of(request)
    return seen_pages(user, keyset(actions.tagged_pages(user, tag_id), page, by="-updated_at"))


@router.patch("/tags/{uuid:tag_id}", response=PageTagNames, openapi_extra=CHANGING)
def rename_tag(request: HttpRequest, tag_id: UUID, body: PageTagNameIn) -> dict[str, Any]:
    """Rename a tag on all its pages. 409 `tag_exists` if another tag has the name: merge them instead."""
    return {"tags": [actions.rename_tag(person_of(request), tag_id, body.name).name]}


@router.post("/tags/{uuid:tag_id}/merge", response={204: None}, openapi_extra=CHANGING)
def merge_tag(request: HttpRequest, tag_id: UUID, body: PageTagMergeIn) -> Status[None]:
    """Replace a tag by the tag `into` on all its pages. Requires the role admin in the workspace."""
    actions.merge_tags(person_of(request), tag_id, body.into)
    return Status(204, None)


@router.get("/workspaces/{uuid:workspace_id}/templates", response=PageList)
def templates(request: HttpRequest, workspace_id: UUID) -> dict[str, Any]:
    """List the templates of a workspace that you can view, by title."""
    user = person_of(request)
    access.workspace_for(user, workspace_id)
    return {"items": [PageHead.of(page) for page in actions.list_templates(user, workspace_id)], "next": None}


@router.put("/pages/{uuid:page_id}/template", response=PageOut, openapi_extra=CHANGING)
def mark_template(request: HttpRequest, page_id: UUID) -> dict[str, Any]:
    """Offer a page as a template in its workspace."""
    return PageOut.of(actions.set_template(person_of(request), page_id, on=True))


@router.delete("/pages/{uuid:page_id}/template", response={204: None}, openapi_extra=CHANGING)
def unmark_template(request: HttpRequest, page_id: UUID) -> Status[None]:
    """Stop offering a page as a template."""
    actions.set_template(person_of(request), page_id, on=False)
    return Status(204, None)
