"""Workspaces and spaces out of use: archive, delete, bring back, and the list of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from watchbook.library import access, actions
from watchbook.library.models import Space, Workspace, WorkspaceMember, WorkspaceRole
from watchbook.library.store.purge import stays_until
from watchbook.library.views.ways import answers, done, given, reader


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
        kind = "workspace" if isinstance(self.place, Workspace) else "space"
        return reverse(f"library:{'restore' if self.is_deleted else 'archive'}_{kind}", args=[self.place.pk])


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
    actions.delete_workspace(reader(request), workspace_id, name=given(request, "name"))
    return _gone(request)


@require_POST
@answers
def delete_space(request: HttpRequest, space_id: UUID) -> HttpResponse:
    actions.delete_space(reader(request), space_id, name=given(request, "name"))
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
