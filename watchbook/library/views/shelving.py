"""Workspaces and spaces out of use: archive, delete, bring back, remove for good, and the list of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from watchbook.library import access, actions
from watchbook.library.errors import Wrong
from watchbook.library.models import Page, Space, Workspace, WorkspaceMember, WorkspaceRole
from watchbook.library.store.purge import stays_until
from watchbook.library.views import space, workspace
from watchbook.library.views.ways import answers, done, given, is_script, reader


@dataclass(frozen=True)
class Resting:
    """One line of the list: a workspace or space that is archived or in the trash."""

    place: Workspace | Space
    is_mine: bool
    # Until when it can be taken out of the trash; None when it stays for ever.
    until: datetime | None = None

    @property
    def within(self) -> Workspace | None:
        return self.place.workspace if isinstance(self.place, Space) else None

    @property
    def is_deleted(self) -> bool:
        return self.place.deleted_at is not None

    @property
    def address(self) -> str:
        """Where it can be read; empty while it is in the trash."""
        kind = "workspace" if isinstance(self.place, Workspace) else "space"
        return "" if self.is_deleted else reverse(f"library:{kind}", args=[self.place.pk])

    @property
    def bring_back(self) -> str:
        return self._way("restore" if self.is_deleted else "archive")

    @property
    def purge(self) -> str:
        """Where it is removed for good; empty while it is not in the trash."""
        return self._way("purge") if self.is_deleted else ""

    def _way(self, act: str) -> str:
        kind = "workspace" if isinstance(self.place, Workspace) else "space"
        return reverse(f"library:{act}_{kind}", args=[self.place.pk])


def resting_of(user: Any) -> list[Resting]:
    """What this person may read of the archive, and what he may take out of the trash. Three queries."""
    roles = dict(WorkspaceMember.objects.filter(user=user).values_list("workspace_id", "role"))
    mine = {pk for pk, role in roles.items() if role == WorkspaceRole.OWNER}
    workspaces = Workspace.objects.filter(pk__in=roles, purged_at=None).exclude(archived_at=None, deleted_at=None)
    workspaces = workspaces.filter(Q(deleted_at=None) | Q(pk__in=mine))
    spaces = Space.objects.filter(workspace__deleted_at=None, workspace__archived_at=None, purged_at=None).filter(
        Q(archived_at__isnull=False, pk__in=access.spaces_of(user).values("pk"))
        | Q(deleted_at__isnull=False, workspace_id__in=mine)
    )
    found: list[Workspace | Space] = [
        *workspaces.order_by("name", "pk"), *spaces.select_related("workspace").order_by("name", "pk")
    ]  # fmt: skip
    return [_resting(place, mine) for place in found]


def _resting(place: Workspace | Space, mine: set[UUID]) -> Resting:
    workspace_id = place.pk if isinstance(place, Workspace) else place.workspace_id
    until = stays_until(place.deleted_at) if place.deleted_at else None
    return Resting(place, workspace_id in mine, until)


@require_POST
@answers
def archive_workspace(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    archived = given(request, "on") != "0"
    found = actions.archive_workspace(reader(request), workspace_id, archived=archived)
    return done(request, reverse("library:workspace", args=[workspace_id]), _words(found.name, archived=archived))


@require_POST
@answers
def archive_space(request: HttpRequest, space_id: UUID) -> HttpResponse:
    archived = given(request, "on") != "0"
    found = actions.archive_space(reader(request), space_id, archived=archived)
    return done(request, reverse("library:space_settings", args=[space_id]), _words(found.name, archived=archived))


def _words(name: str, *, archived: bool) -> str:
    return (_("%(name)s is archived.") if archived else _("%(name)s is back.")) % {"name": name}


@require_POST
@answers
def delete_workspace(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    try:
        actions.delete_workspace(reader(request), workspace_id, name=given(request, "name"))
    except Wrong as wrong:
        if is_script(request):
            raise
        return workspace.shown(request, workspace_id, wrong=wrong)
    return _gone(request)


@require_POST
@answers
def delete_space(request: HttpRequest, space_id: UUID) -> HttpResponse:
    try:
        actions.delete_space(reader(request), space_id, name=given(request, "name"))
    except Wrong as wrong:
        if is_script(request):
            raise
        return space.shown(request, space_id, wrong=wrong)
    return _gone(request)


def _gone(request: HttpRequest) -> HttpResponse:
    words = _("%(title)s is in the trash.") % {"title": given(request, "name")}
    return done(request, reverse("library:shelves"), words)


@require_POST
@answers
def restore_workspace(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    found = actions.restore_workspace(reader(request), workspace_id)
    words = _("%(name)s is back.") % {"name": found.name}
    return done(request, reverse("library:workspace", args=[workspace_id]), words)


@require_POST
@answers
def restore_space(request: HttpRequest, space_id: UUID) -> HttpResponse:
    found = actions.restore_space(reader(request), space_id)
    words = _("%(name)s is back.") % {"name": found.name}
    return done(request, reverse("library:space", args=[space_id]), words)


@require_http_methods(["GET", "POST"])
@answers
def purge_workspace(request: HttpRequest, workspace_id: UUID) -> HttpResponse:
    """Asks for the name, then removes it for good."""
    found = access.owned_workspace(reader(request), workspace_id, trashed=True)
    return _purge(request, found, actions.purge_workspace, Page.objects.filter(space__workspace=found))


@require_http_methods(["GET", "POST"])
@answers
def purge_space(request: HttpRequest, space_id: UUID) -> HttpResponse:
    """Asks for the name, then removes it for good."""
    found = access.owned_space(reader(request), space_id, trashed=True)
    return _purge(request, found, actions.purge_space, Page.objects.filter(space=found))


def _purge(request: HttpRequest, found: Workspace | Space, act: Callable[..., None], pages: Any) -> HttpResponse:
    wrong = None
    if request.method == "POST":
        try:
            act(reader(request), found.pk, name=given(request, "name"))
        except Wrong as problem:
            if is_script(request):
                raise
            wrong = problem
        else:
            words = _("%(title)s is removed for good.") % {"title": found.name}
            return done(request, reverse("library:shelves"), words)
    context = {"resting": _resting(found, set()), "count": pages.count(), "wrong": wrong}
    return render(request, "library/purge_place.html", context, status=wrong.status if wrong else 200)
