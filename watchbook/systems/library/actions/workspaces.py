"""Actions on workspaces and spaces, their folder migrations and their consistency checks."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from watchbook.base.invalid import InvalidInput
from watchbook.core.accounts.models import User, normalise_email
from watchbook.core.people import invitations, roles
from watchbook.core.people.models import Invitation
from watchbook.systems.library import access
from watchbook.systems.library.errors import NoAccount, NotAllowed, NotFound, Wrong
from watchbook.systems.library.jobs import migrations
from watchbook.systems.library.models import (
    FOLDERS_ENABLED,
    SHARING_ENABLED,
    FolderMigrationJob,
    Reconciliation,
    Space,
    SpaceMember,
    SpaceRole,
    Workspace,
    WorkspaceMember,
    WorkspaceRole,
)
from watchbook.systems.library.store import check_channel, workspaces, writing, writing_workspace
from watchbook.systems.library.store.migrations import Plan, plan, start
from watchbook.systems.library.store.reconcile import Check, keep, reconcile

NEW_WORKSPACE = {FOLDERS_ENABLED: True, SHARING_ENABLED: True}


def create_workspace(user: User, name: str, *, flags: dict[str, bool] | None = None) -> Workspace:
    """A workspace with its maker as owner. A new one has folders and sharing on; `flags` may say otherwise."""
    return workspaces.add_workspace(user, name, {**NEW_WORKSPACE, **(flags or {})})


def rename_workspace(user: User, workspace_id: UUID, name: str) -> Workspace:
    """Rename a workspace. For owners and admins."""
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.ADMIN)
    workspaces.rename(workspace, name)
    return workspace


def set_member(user: User, workspace_id: UUID, *, person: User, role: str) -> WorkspaceMember:
    """Add a member or change the role. For owners and admins; only owners change owners."""
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.ADMIN)
    _owners_only(user, workspace, person, role)
    return workspaces.set_workspace_member(workspace, user, person, role)


def remove_member(user: User, workspace_id: UUID, *, person: User) -> None:
    """Remove a member from the workspace and all its spaces. Every member can leave."""
    is_self = person.pk == user.pk
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.MEMBER if is_self else WorkspaceRole.ADMIN)
    if not is_self:
        _owners_only(user, workspace, person, "")
    workspaces.remove_workspace_member(workspace, user, person)


def set_flags(user: User, workspace_id: UUID, flags: dict[str, bool]) -> Workspace:
    """Switch `folders_enabled` and others. For owners and admins."""
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.ADMIN)
    workspaces.set_flags(workspace, user, flags)
    return workspace


def set_release_channel(user: User, workspace_id: UUID, channel: str) -> Workspace:
    """Hand the workspace over to the other deployment. For owners and admins, from the deployment that owns it."""
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.ADMIN)
    workspaces.set_channel(workspace, user, channel)
    return workspace


def create_space(user: User, workspace_id: UUID, name: str) -> Space:
    """A new tree. For owners and admins of the workspace."""
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.ADMIN)
    return workspaces.add_space(workspace, user, name)


def rename_space(user: User, space_id: UUID, name: str) -> Space:
    """Rename a space. For admins of the space."""
    space = access.space_for(user, space_id, SpaceRole.ADMIN)
    workspaces.rename(space, name)
    return space


def set_space_member(user: User, space_id: UUID, *, person: User, role: str) -> SpaceMember:
    """Give a member of the workspace a role in the space. For admins of the space."""
    space = access.space_for(user, space_id, SpaceRole.ADMIN)
    return workspaces.set_space_member(space, user, person, role)


def remove_space_member(user: User, space_id: UUID, *, person: User) -> None:
    """Remove a member from a space. For admins of the space; every member can leave."""
    need = SpaceRole.READER if person.pk == user.pk else SpaceRole.ADMIN
    workspaces.remove_space_member(access.space_for(user, space_id, need), user, person)


def archive_workspace(user: User, workspace_id: UUID, *, archived: bool = True) -> Workspace:
    """Archive or unarchive a workspace with all its spaces. For owners."""
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.OWNER)
    workspaces.set_archived(workspace, user, archived=archived)
    return workspace


def archive_space(user: User, space_id: UUID, *, archived: bool = True) -> Space:
    """Archive or unarchive a space. For owners of the workspace."""
    space = access.owned_space(user, space_id)
    if space.deleted_at:
        raise NotFound
    workspaces.set_archived(space, user, archived=archived)
    return space


def delete_workspace(user: User, workspace_id: UUID, *, name: str) -> None:
    """Into the trash, with all its spaces. For owners, who type its name so that it is not another one they meant."""
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.OWNER)
    _typed(workspace, name)
    workspaces.set_deleted(workspace, user, deleted=True)


def delete_space(user: User, space_id: UUID, *, name: str) -> None:
    """Into the trash, with all its pages. For owners of the workspace, who type its name."""
    space = access.owned_space(user, space_id)
    _typed(space, name)
    workspaces.set_deleted(space, user, deleted=True)


def restore_workspace(user: User, workspace_id: UUID) -> Workspace:
    """Restore a workspace from the trash. For owners."""
    workspace = access.owned_workspace(user, workspace_id)
    workspaces.set_deleted(workspace, user, deleted=False)
    return workspace


def restore_space(user: User, space_id: UUID) -> Space:
    """Restore a space from the trash. For owners of the workspace."""
    space = access.owned_space(user, space_id)
    workspaces.set_deleted(space, user, deleted=False)
    return space


def purge_workspace(user: User, workspace_id: UUID, *, name: str) -> None:
    """Delete a workspace in the trash permanently. For owners, who confirm its name."""
    workspace = access.owned_workspace(user, workspace_id, trashed=True)
    _typed(workspace, name)
    workspaces.purge(workspace, user)


def purge_space(user: User, space_id: UUID, *, name: str) -> None:
    """Delete a space in the trash permanently. For owners of the workspace, who confirm its name."""
    space = access.owned_space(user, space_id, trashed=True)
    _typed(space, name)
    workspaces.purge(space, user)


def _typed(place: Workspace | Space, name: str) -> None:
    if " ".join(name.split()) != place.name:
        raise Wrong("name", _("The name does not match. Enter it exactly as shown."))


def find_person(*, email: str = "", user_id: UUID | None = None) -> User:
    """The account meant by an address or an id; NoAccount when there is none. Ask for the caller's role first."""
    found = User.objects.filter(is_active=True)
    person = (found.filter(pk=user_id) if user_id else found.filter(email=normalise_email(email))).first()
    if person is None:
        raise NoAccount("user_id" if user_id else "email", _("No account with this address."))
    return person


def invite_member(user: User, workspace_id: UUID, *, email: str, role: str) -> tuple[Invitation, str]:
    """Invite an address without an account. Return the invitation and, unless it was mailed, its link."""
    workspace = access.workspace_for(user, workspace_id, WorkspaceRole.ADMIN)
    check_channel([workspace.pk])
    place = f"library|workspace:{workspace.pk}|{role}"
    try:
        wanted = invitations.Wanted(email=email, place=roles.choice_of(user, place, of_server=False))
        made, token = invitations.invite(wanted, actor=user)
    except InvalidInput as error:
        raise Wrong("email" if error.field == "email" else "role", error.message) from None
    return made, "" if invitations.send(made, token) else invitations.link(token)


def member_person(workspace_id: UUID, user_id: UUID) -> User:
    """Return a member of the workspace, or raise NotFound."""
    member = WorkspaceMember.objects.select_related("user").filter(workspace_id=workspace_id, user_id=user_id).first()
    if member is None:
        raise NotFound
    person: User = member.user
    return person


def _owners_only(user: User, workspace: Workspace, person: User, role: str) -> None:
    touches = WorkspaceRole.OWNER in (role, access.workspace_role(person, workspace.pk))
    if touches and access.workspace_role(user, workspace.pk) != WorkspaceRole.OWNER:
        raise NotAllowed


ADMIN = WorkspaceRole.ADMIN


def _space(user: User, space_id: UUID) -> Space:
    """A job is a matter of the workspace: its owners and admins start and steer it."""
    space = access.space_for(user, space_id, SpaceRole.READER)
    access.workspace_for(user, space.workspace_id, ADMIN)
    return space


def plan_migration(user: User, space_id: UUID, *, folder_page_id: UUID | None = None) -> Plan:
    """List the top-level pages, their targets and the obstacles. Stores nothing."""
    return plan(_space(user, space_id), folder_page_id)


def start_migration(user: User, space_id: UUID, *, folder_page_id: UUID | None = None) -> FolderMigrationJob:
    """Write all items as pending and queue the job. Raises JobConflict if a migration is running."""
    space = _space(user, space_id)
    with writing(space.pk):
        return start(space, user, folder_page_id)


def open_migration(user: User, job_id: UUID) -> FolderMigrationJob:
    """The job as it is now, with `control` and its last reconciliation."""
    job = FolderMigrationJob.objects.select_related("control", "space", "created_by").filter(pk=job_id).first()
    if job is None:
        raise NotFound
    _space(user, job.space_id)
    return job


def list_migrations(user: User, space_id: UUID) -> Any:
    """QuerySet of a space's jobs, the newest first."""
    rows = FolderMigrationJob.objects.filter(space=_space(user, space_id)).select_related("control", "created_by")
    return rows.order_by("-created_at", "id")


def list_items(user: User, job_id: UUID, *, status: str = "") -> Any:
    """QuerySet of a job's items in a fixed order; `status` keeps one kind."""
    items = open_migration(user, job_id).items.select_related("page").order_by("page_id")
    return items.filter(status=status) if status else items


def pause_migration(user: User, job_id: UUID) -> FolderMigrationJob:
    migrations.pause(open_migration(user, job_id), user)
    return open_migration(user, job_id)


def resume_migration(user: User, job_id: UUID) -> FolderMigrationJob:
    migrations.resume(open_migration(user, job_id), user)
    return open_migration(user, job_id)


def cancel_migration(user: User, job_id: UUID) -> FolderMigrationJob:
    migrations.cancel(open_migration(user, job_id), user)
    return open_migration(user, job_id)


def retry_migration(user: User, job_id: UUID) -> FolderMigrationJob:
    migrations.retry(open_migration(user, job_id), user)
    return open_migration(user, job_id)


def rollback_migration(user: User, job_id: UUID) -> FolderMigrationJob:
    """Move every page back. Pages that users moved since are skipped and reported."""
    migrations.begin_rollback(open_migration(user, job_id), user)
    return open_migration(user, job_id)


def check_workspace(user: User, workspace_id: UUID) -> tuple[Workspace, list[Check]]:
    """The checks as they come out now. Stores nothing. For owners and admins."""
    workspace = access.workspace_for(user, workspace_id, ADMIN)
    return workspace, reconcile(workspace)


def store_reconciliation(user: User, workspace_id: UUID) -> Reconciliation:
    """The checks as they come out now, stored. For owners and admins."""
    workspace = access.workspace_for(user, workspace_id, ADMIN)
    with writing_workspace(workspace.pk):
        return keep(workspace, user)


def last_reconciliation(user: User, workspace_id: UUID) -> Reconciliation | None:
    workspace = access.workspace_for(user, workspace_id, ADMIN)
    return Reconciliation.objects.filter(workspace=workspace).order_by("-id").first()
