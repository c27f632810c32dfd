"""What a person does with workspaces and spaces."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from watchbook.core.accounts.addresses import normalise
from watchbook.core.accounts.models import User
from watchbook.library import access
from watchbook.library.errors import NotAllowed, NotFound, Wrong
from watchbook.library.models import (
    FOLDERS_ENABLED,
    SHARING_ENABLED,
    Space,
    SpaceMember,
    SpaceRole,
    Workspace,
    WorkspaceMember,
    WorkspaceRole,
)
from watchbook.library.store import places, shelving

NEW_WORKSPACE = {FOLDERS_ENABLED: True, SHARING_ENABLED: True}


def create_workspace(user: Any, name: str, *, flags: dict[str, bool] | None = None) -> Workspace:
    """A workspace with its maker as owner. A new one has folders and sharing on; `flags` may say otherwise."""
    return places.add_workspace(user, name, {**NEW_WORKSPACE, **(flags or {})})


def rename_workspace(user: Any, workspace_id: UUID, name: str) -> Workspace:
    """For owners and admins."""
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.ADMIN)
    places.rename(workspace, name)
    return workspace


def set_member(user: Any, workspace_id: UUID, *, person: Any, role: str) -> WorkspaceMember:
    """Add somebody to the workspace or change his role. For owners and admins; only owners touch owners."""
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.ADMIN)
    _owners_only(user, workspace, person, role)
    return places.set_workspace_member(workspace, user, person, role)


def remove_member(user: Any, workspace_id: UUID, *, person: Any) -> None:
    """Take somebody out of the workspace and all its spaces. Anybody may leave by himself."""
    is_self = person.pk == user.pk
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.MEMBER if is_self else WorkspaceRole.ADMIN)
    if not is_self:
        _owners_only(user, workspace, person, "")
    places.remove_workspace_member(workspace, user, person)


def set_flags(user: Any, workspace_id: UUID, flags: dict[str, bool]) -> Workspace:
    """Switch `folders_enabled` and others. For owners and admins."""
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.ADMIN)
    places.set_flags(workspace, user, flags)
    return workspace


def set_release_channel(user: Any, workspace_id: UUID, channel: str) -> Workspace:
    """Hand the workspace over to the other deployment. For owners and admins, from the deployment that owns it."""
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.ADMIN)
    places.set_channel(workspace, user, channel)
    return workspace


def create_space(user: Any, workspace_id: UUID, name: str) -> Space:
    """A new tree. For owners and admins of the workspace."""
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.ADMIN)
    return places.add_space(workspace, user, name)


def rename_space(user: Any, space_id: UUID, name: str) -> Space:
    """For admins of the space."""
    space = access.space_for(user, space_id, SpaceRole.ADMIN)
    places.rename(space, name)
    return space


def set_space_member(user: Any, space_id: UUID, *, person: Any, role: str) -> SpaceMember:
    """Give a member of the workspace a role in the space. For admins of the space."""
    space = access.space_for(user, space_id, SpaceRole.ADMIN)
    return places.set_space_member(space, user, person, role)


def remove_space_member(user: Any, space_id: UUID, *, person: Any) -> None:
    """For admins of the space, and for anybody who leaves by himself."""
    need = SpaceRole.READER if person.pk == user.pk else SpaceRole.ADMIN
    places.remove_space_member(access.space_for(user, space_id, need), user, person)


def archive_workspace(user: Any, workspace_id: UUID, *, archived: bool = True) -> Workspace:
    """Out of the lists and read only, with all its spaces; or back. For owners."""
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.OWNER)
    shelving.set_archived(workspace, user, archived=archived)
    return workspace


def archive_space(user: Any, space_id: UUID, *, archived: bool = True) -> Space:
    """Out of the lists and read only; or back. For owners of the workspace."""
    space = access.owned_space(user, space_id)
    if space.deleted_at:
        raise NotFound
    shelving.set_archived(space, user, archived=archived)
    return space


def delete_workspace(user: Any, workspace_id: UUID, *, name: str) -> None:
    """Into the trash, with all its spaces. For owners, who type its name so that it is not another one they meant."""
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.OWNER)
    _typed(workspace, name)
    shelving.set_deleted(workspace, user, deleted=True)


def delete_space(user: Any, space_id: UUID, *, name: str) -> None:
    """Into the trash, with all its pages. For owners of the workspace, who type its name."""
    space = access.owned_space(user, space_id)
    _typed(space, name)
    shelving.set_deleted(space, user, deleted=True)


def restore_workspace(user: Any, workspace_id: UUID) -> Workspace:
    """Out of the trash, as it was. For owners."""
    workspace = access.owned_workspace(user, workspace_id)
    shelving.set_deleted(workspace, user, deleted=False)
    return workspace


def restore_space(user: Any, space_id: UUID) -> Space:
    """Out of the trash, as it was. For owners of the workspace."""
    space = access.owned_space(user, space_id)
    shelving.set_deleted(space, user, deleted=False)
    return space


def purge_workspace(user: Any, workspace_id: UUID, *, name: str) -> None:
    """What is in the trash, for good, with all its spaces. For owners, who type its name."""
    workspace = access.owned_workspace(user, workspace_id, trashed=True)
    _typed(workspace, name)
    shelving.purge(workspace, user)


def purge_space(user: Any, space_id: UUID, *, name: str) -> None:
    """What is in the trash, for good, with all its pages. For owners of the workspace, who type its name."""
    space = access.owned_space(user, space_id, trashed=True)
    _typed(space, name)
    shelving.purge(space, user)


def _typed(place: Workspace | Space, name: str) -> None:
    if " ".join(name.split()) != place.name:
        raise Wrong("name", _("This is not its name. Type it exactly as it is shown."))


def find_person(*, email: str = "", user_id: UUID | None = None) -> User:
    """The account meant by an address or an id; Wrong when there is none. Ask for the caller's role first."""
    found = User.objects.filter(is_active=True)
    person = (found.filter(pk=user_id) if user_id else found.filter(email=normalise(email))).first()
    if person is None:
        raise Wrong("user_id" if user_id else "email", _("There is no such account."))
    return person


def member_person(workspace_id: UUID, user_id: UUID) -> User:
    """Somebody who belongs to the workspace; NotFound otherwise."""
    member = WorkspaceMember.objects.select_related("user").filter(workspace_id=workspace_id, user_id=user_id).first()
    if member is None:
        raise NotFound
    person: User = member.user
    return person


def _owners_only(user: Any, workspace: Workspace, person: Any, role: str) -> None:
    touches = WorkspaceRole.OWNER in (role, access.workspace_role(person, workspace.pk))
    if touches and access.workspace_role(user, workspace.pk) != WorkspaceRole.OWNER:
        raise NotAllowed
