"""Workspaces of a user for the removal of an account, and roles that groups and invitations give."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from watchbook.base.invalid import InvalidInput
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.core.registry import RolePlace
from watchbook.systems.library import access
from watchbook.systems.library.errors import Problem
from watchbook.systems.library.models import (
    Space,
    SpaceMember,
    SpaceRole,
    Workspace,
    WorkspaceMember,
    WorkspaceRole,
)
from watchbook.systems.library.store import workspaces as store


def _sole(user: User) -> QuerySet[Workspace]:
    """Return the workspaces, also archived ones and those in the trash, of which the user is the only owner."""
    owned = Workspace.objects.filter(
        pk__in=WorkspaceMember.objects.filter(user=user, role=WorkspaceRole.OWNER).values("workspace_id")
    )
    counted = owned.annotate(
        owners=Count("members", filter=Q(members__role=WorkspaceRole.OWNER), distinct=True),
        people=Count("members", distinct=True),
    )
    return counted.filter(owners=1, purged_at=None).order_by("name", "pk")


def _private(user: User) -> list[Workspace]:
    return [each for each in _sole(user) if each.people == 1]  # type: ignore[attr-defined]


def _shared(user: User) -> list[Workspace]:
    return [each for each in _sole(user) if each.people > 1]  # type: ignore[attr-defined]


def private_titles(user: User) -> list[str]:
    return [each.name for each in _private(user)]


def shared_titles(user: User) -> list[str]:
    return [each.name for each in _shared(user)]


def transfer_private(user: User, successor: User) -> None:
    _appoint(_private(user), successor, user)


def transfer_shared(user: User, successor: User) -> None:
    _appoint(_shared(user), successor, user)


def delete_private(user: User) -> None:
    """Delete permanently: no one is left who could read them."""
    for workspace in _private(user):
        if workspace.deleted_at is None:
            store.set_deleted(workspace, user, deleted=True)
        store.purge(workspace, user)


def appoint_members(user: User) -> None:
    """Make the admin, or else the member, who has been there longest the owner of each shared workspace."""
    for workspace in _shared(user):
        others = workspace.members.exclude(user=user).select_related("user")
        first = others.filter(role=WorkspaceRole.ADMIN).order_by("pk").first() or others.order_by("pk").first()
        if first is not None:
            _appoint([workspace], first.user, user)


def _appoint(found: list[Workspace], owner: User, actor: User) -> None:
    # Not through the store: a workspace that is archived or in the trash must not lose its owner either.
    for workspace in found:
        WorkspaceMember.objects.update_or_create(
            workspace=workspace, user=owner, defaults={"role": WorkspaceRole.OWNER}
        )
        audit.record(
            "library.member", actor=actor, subject=str(workspace.pk), person=owner.pk, role=WorkspaceRole.OWNER
        )


def places(user: User) -> list[RolePlace]:
    """Return the workspaces that the user runs, and their spaces."""
    runs = WorkspaceMember.objects.filter(user=user, role__in=access.RUNS_WORKSPACE).values("workspace_id")
    rows = Workspace.objects.there().filter(pk__in=runs, archived_at=None).order_by("name", "pk")
    spaces: dict[UUID, list[Space]] = {}
    for space in (
        Space.objects.in_use().filter(workspace_id__in=runs).select_related("workspace").order_by("name", "pk")
    ):
        spaces.setdefault(space.workspace_id, []).append(space)
    return [place for row in rows for place in (_workspace(row), *(_space(space) for space in spaces.get(row.pk, [])))]


def _workspace(row: Workspace) -> RolePlace:
    names = (WorkspaceRole.MEMBER, WorkspaceRole.ADMIN)
    return RolePlace(f"workspace:{row.pk}", row.name, tuple((name.value, str(name.label)) for name in names))


def _space(row: Space) -> RolePlace:
    names = (SpaceRole.READER, SpaceRole.WRITER, SpaceRole.ADMIN)
    roles = tuple((name.value, str(name.label)) for name in names)
    within = (f"workspace:{row.workspace_id}", WorkspaceRole.MEMBER.value)
    return RolePlace(f"space:{row.pk}", f"{row.workspace.name} / {row.name}", roles, within)


def place(place_id: str) -> RolePlace | None:
    found = _row(place_id)
    if found is None:
        return None
    return _workspace(found) if isinstance(found, Workspace) else _space(found)


def _row(place_id: str) -> Workspace | Space | None:
    kind, _colon, key = place_id.partition(":")
    try:
        pk = UUID(key)
    except ValueError:
        return None
    if kind == "workspace":
        return Workspace.objects.there().filter(pk=pk).first()
    return Space.objects.there().filter(pk=pk).select_related("workspace").first() if kind == "space" else None


def role_of(user: User, place_id: str) -> str:
    found = _row(place_id)
    if isinstance(found, Workspace):
        return access.workspace_role(user, found.pk)
    role = SpaceMember.objects.filter(space=found, user=user).values_list("role", flat=True).first() if found else ""
    return role or ""


def set_role(user: User, place_id: str, role: str, *, actor: Any) -> None:
    """Give or remove a role. The caller has checked the permission when the group or invitation was made."""
    found = _row(place_id)
    by = actor if isinstance(actor, User) else user
    try:
        if isinstance(found, Workspace):
            if role:
                store.set_workspace_member(found, by, user, role)
            else:
                store.remove_workspace_member(found, by, user)
        elif isinstance(found, Space):
            if role:
                store.set_space_member(found, by, user, role)
            else:
                store.remove_space_member(found, by, user)
    except Problem as problem:
        raise InvalidInput("place", _("%(place)s: %(reason)s") % {"place": found, "reason": problem.message}) from None
