"""All my workspaces and their spaces, my favourites, and the search over what I may read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Max, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.base.text import clean_text
from watchbook.core.search.find import BadCursor, Hit, find
from watchbook.core.search.find import Page as Hits
from watchbook.library import access, actions
from watchbook.library.access import RUNS_WORKSPACE
from watchbook.library.models import Space, Workspace, WorkspaceMember
from watchbook.library.views.folder import rows_of
from watchbook.library.views.shelving import resting_of
from watchbook.library.views.ways import answers, done, given, reader

LONGEST_QUERY = 200
PER_PAGE = 30


@dataclass(frozen=True)
class Shelf:
    """A workspace as a section of the page: its spaces that this person may read."""

    workspace: Workspace
    role: str
    spaces: list[Space]

    @property
    def is_run_by_me(self) -> bool:
        return self.role in RUNS_WORKSPACE


@require_GET
def shelves(request: HttpRequest) -> HttpResponse:
    user = reader(request)
    context = {
        "shelves": _shelves(user), "resting": resting_of(user), "favourites": actions.list_favourites(user)[:6]
    }  # fmt: skip
    return render(request, "library/shelves.html", context)


def _shelves(user: Any) -> list[Shelf]:
    """What is in use. Three queries, however many there are."""
    roles = dict(WorkspaceMember.objects.filter(user=user).values_list("workspace_id", "role"))
    spaces: dict[UUID, list[Space]] = {}
    counted = (
        Space.objects.in_use()
        .filter(pk__in=access.spaces_of(user).values("pk"))
        .annotate(
            page_count=Count("pages", filter=Q(pages__deleted_at=None)),
            saved_at=Max("pages__updated_at", filter=Q(pages__deleted_at=None)),
        )
    )
    for space in counted.order_by("name", "pk"):
        spaces.setdefault(space.workspace_id, []).append(space)
    mine = Workspace.objects.there().filter(pk__in=roles, archived_at=None).select_related("release_channel_row")
    return [Shelf(one, roles[one.pk], spaces.get(one.pk, [])) for one in mine.order_by("name", "pk")]


@require_POST
@answers
def create_workspace(request: HttpRequest) -> HttpResponse:
    """With its first space, so that one can begin."""
    made = actions.create_workspace(reader(request), given(request, "name"))
    space = actions.create_space(reader(request), made.pk, given(request, "space") or _("Pages"))
    return done(request, reverse("library:space", args=[space.pk]), _("Made. Begin with a folder."))


@require_POST
@answers
def create_space(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    made = actions.create_space(reader(request), workspace_id, given(request, "name"))
    return done(request, reverse("library:space", args=[made.pk]), _("Made. Begin with a folder."))


@require_GET
def favourites(request: HttpRequest) -> HttpResponse:
    found = actions.list_favourites(reader(request))
    return render(request, "library/favourites.html", {"rows": rows_of(found)})


@require_GET
@answers
def search(request: HttpRequest) -> HttpResponse:
    """Titles and texts of what this person may read; of one space when it is named."""
    user, words = reader(request), clean_text(request.GET.get("q", ""))[:LONGEST_QUERY].strip()
    space = _space(request)
    scopes = [access.scope_of(space.pk)] if space else access.scopes_of(user)
    context = {"looked_for": words, "space": space, "found": _find(words, scopes, request.GET.get("cursor", ""))}
    return render(request, "library/search.html", context)


def _space(request: HttpRequest) -> Space | None:
    try:
        wanted = UUID(request.GET.get("space", ""))
    except ValueError:
        return None
    return access.space_for(reader(request), wanted)


def _find(words: str, scopes: list[str], cursor: str) -> Hits[Hit]:
    if not words:
        return Hits(())
    try:
        return find(words, scopes=scopes, kinds=["page"], limit=PER_PAGE, before=cursor or None)
    except BadCursor:
        return find(words, scopes=scopes, kinds=["page"], limit=PER_PAGE)
