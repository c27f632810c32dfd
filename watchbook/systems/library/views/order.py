"""Pages that find things: search, recent changes, favourites, tags. And what a page says about itself: its properties,
tags, restriction, and whether it is a template."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from watchbook.base import clock
from watchbook.kit.paging import keyset
from watchbook.systems.library import access, actions, filters
from watchbook.systems.library.errors import NotFound, Wrong
from watchbook.systems.library.models import Page, PageStatus, PageVersion, SpaceRole
from watchbook.systems.library.store.publish import page_path
from watchbook.systems.library.views import answers, as_id, done, given, given_id, given_ids, reader
from watchbook.systems.library.views.folder import rows_of
from watchbook.systems.library.views.layout import channel_of, frame

PER_PAGE = 30
FILTERS = ("q", "space", "tag", "author", "since", "until")


@require_GET
@answers
def search(request: HttpRequest) -> HttpResponse:
    """Search titles and texts, and narrow by space, tag, author and day; a filter that is wrong is shown beside it."""
    user = reader(request)
    values = {name: request.GET.get(name, "").replace("\0", "") for name in FILTERS}
    wrong: Wrong | None = None
    asked = filters.Asked()
    found = filters.search(user, asked)
    try:
        asked = filters.read(user, **values)
        found = filters.search(user, asked, cursor=request.GET.get("cursor", ""), limit=PER_PAGE)
    except Wrong as error:
        wrong = error
    spaces = access.spaces_of(user).in_use().select_related("workspace").order_by("name", "pk")
    workspaces = {space.workspace_id for space in spaces}
    tags = [tag for pk in sorted(workspaces) for tag in actions.list_tags(user, pk)]
    context = {
        "values": values, "asked": asked, "found": found, "wrong": wrong, "spaces": spaces, "tags": tags,
        "space": asked.space, "looked_for": values["q"].strip(),
    }  # fmt: skip
    return render(request, "library/search.html", context, status=wrong.status if wrong else 200)


@require_GET
@answers
def recent(request: HttpRequest) -> HttpResponse:
    user = reader(request)
    shown = keyset(actions.recent_pages(user), request.GET, by="updated_at", size=PER_PAGE)
    rows = rows_of(user, access.sight(user).show(shown.items))
    return render(request, "library/recent.html", {"rows": rows, "page_of": shown})


@require_http_methods(["GET", "POST"])
@answers
def favourites(request: HttpRequest) -> HttpResponse:
    """The favourites in the user's order; POST moves one of them a place up or down."""
    user = reader(request)
    found = actions.list_favourites(user)
    if request.method == "POST":
        ids = [page.pk for page in found]
        moved = as_id(given(request, "page"))
        if moved not in ids:
            raise NotFound
        at = ids.index(moved)
        to = max(0, at - 1) if given(request, "to") == "up" else min(len(ids) - 1, at + 1)
        ids.insert(to, ids.pop(at))
        actions.order_favourites(user, ids)
        return done(request, reverse("library:favourites"), _("Order saved."))
    return render(request, "library/favourites.html", {"rows": rows_of(user, found), "is_ordered": len(found) > 1})


@require_GET
@answers
def tags(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """All tags of a workspace."""
    user = reader(request)
    workspace = access.workspace_for(user, workspace_id)
    context = {"workspace": workspace, "tags": actions.list_tags(user, workspace_id)}
    return render(request, "library/tags.html", context)


@require_http_methods(["GET", "POST"])
@answers
def tag(request: HttpRequest, tag_id: UUID) -> HttpResponse:
    """The pages and folders with a tag; POST renames it, or merges it into another one."""
    user = reader(request)
    found = actions.tag_for(user, tag_id)
    if request.method == "POST":
        return _change_tag(request, tag_id, found.workspace_id)
    shown = keyset(actions.tagged_pages(user, tag_id), request.GET, by="updated_at", size=PER_PAGE)
    runs = access.workspace_role(user, found.workspace_id) in access.RUNS_WORKSPACE
    channel = channel_of(found.workspace_id, is_archived=found.workspace.is_archived)
    others = [one for one in actions.list_tags(user, found.workspace_id) if one.pk != found.pk] if runs else []
    context = {
        "tag": found, "rows": rows_of(user, access.sight(user).show(shown.items)), "page_of": shown,
        "may_change": runs and channel.is_open, "others": others,
    }  # fmt: skip
    return render(request, "library/tag.html", context)


def _change_tag(request: HttpRequest, tag_id: UUID, workspace_id: UUID) -> HttpResponse:
    into = given_id(request, "into")
    if into is None:
        renamed = actions.rename_tag(reader(request), tag_id, given(request, "name"))
        return done(request, reverse("library:tag", args=[renamed.pk]), _("Renamed."))
    count = actions.merge_tags(reader(request), tag_id, into)
    words = ngettext("Tags merged: %(n)s page changed.", "Tags merged: %(n)s pages changed.", count) % {"n": count}
    return done(request, reverse("library:tag", args=[into]), words)


def about(request: HttpRequest, page: Page) -> dict[str, Any]:
    """What the rail shows of a page: properties, tags, whether it is restricted or a template."""
    user = reader(request)
    found = actions.properties_of(user, page.pk)
    may_write = access.space_role(user, page.space) in (SpaceRole.WRITER, SpaceRole.ADMIN)
    since = 0
    if found.approved_number and may_write:
        later = PageVersion.objects.shown().filter(page=page, number__gt=found.approved_number)
        since = later.count()
    return {
        "properties": found,
        "status": PageStatus(found.status),
        "statuses": PageStatus.choices,
        "is_expired": found.valid_until is not None and found.valid_until < clock.now().date(),
        "versions_since": since,
        "approved_only": access.is_reviewed(page.space_id),
        "tags": actions.tags_of(page),
        "owners": list(access.readers_of(page).order_by("email")[:200]) if may_write else [],
        "restriction": actions.restriction_of(user, page.pk) if may_write else None,
        "is_template": actions.is_template(page),
        "templates": actions.list_templates(user, page.space.workspace_id) if may_write else [],
    }


@require_POST
@answers
def properties(request: HttpRequest, page_id: UUID) -> HttpResponse:
    changes: dict[str, Any] = {}
    if "withdraw" in request.POST:
        changes["withdraw"] = True
    else:
        if "status" in request.POST:
            changes["status"] = given(request, "status")
        if "owner" in request.POST:
            changes["owner_id"] = given_id(request, "owner")
        if "valid_until" in request.POST:
            changes["valid_until"] = given(request, "valid_until")
    actions.set_properties(reader(request), page_id, changes)
    return done(request, page_path(page_id), _("Properties saved."))


@require_POST
@answers
def page_tags(request: HttpRequest, page_id: UUID) -> HttpResponse:
    names = [name for name in given(request, "tags").replace("，", ",").split(",") if name.strip()]
    actions.set_tags(reader(request), page_id, names)
    return done(request, page_path(page_id), _("Tags saved."))


@require_POST
@answers
def template(request: HttpRequest, page_id: UUID) -> HttpResponse:
    is_on = given(request, "on") == "1"
    actions.set_template(reader(request), page_id, on=is_on)
    words = _("New pages of this workspace can be made from this page.") if is_on else _("No longer a template.")
    return done(request, page_path(page_id), words)


@require_http_methods(["GET", "POST"])
@answers
def restriction(request: HttpRequest, page_id: UUID) -> HttpResponse:
    """Choose who can open a page and everything below it; `lift` removes the restriction."""
    user = reader(request)
    page = access.page_for(user, page_id, SpaceRole.WRITER)
    address = reverse("library:restriction", args=[page_id])
    if request.method == "POST" and given(request, "lift"):
        actions.unrestrict_page(user, page_id)
        return done(request, address, _("Restriction removed."))
    if request.method == "POST":
        people, groups = given_ids(request, "user"), given_ids(request, "group")
        actions.restrict_page(user, page_id, user_ids=people, group_ids=groups)
        return done(request, address, _("Restriction saved."))
    people_there, groups_there = actions.grantable(user, page)
    found = actions.restriction_of(user, page_id)
    context = {
        **frame(user, page.space, actions.breadcrumb(user, page_id)), "page": page, "restriction": found,
        "people": people_there, "groups": groups_there, "chosen": {one.pk for one in found.users},
        "chosen_groups": {one.pk for one in found.groups},
    }  # fmt: skip
    return render(request, "library/restriction.html", context)
