"""Workspaces, spaces, members, features and channels: their rows. Callers have checked the permission."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError, transaction
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.text import clean_text, cut
from watchbook.core.accounts import audit
from watchbook.core.accounts.models import User
from watchbook.systems.library.errors import Conflict, JobConflict, NotFound, OtherChannel, Wrong
from watchbook.systems.library.models import (
    KNOWN_FLAGS,
    FolderMigrationControl,
    Space,
    SpaceMember,
    SpaceRole,
    Workspace,
    WorkspaceFlag,
    WorkspaceMember,
    WorkspaceReleaseChannel,
    WorkspaceRole,
)
from watchbook.systems.library.models.workspaces import CHANNELS, NAME_LENGTH
from watchbook.systems.library.options import RELEASE_CHANNEL
from watchbook.systems.library.store import take, writing, writing_workspace
from watchbook.systems.library.store.trash import soon


def clean_name(name: str) -> str:
    kept = cut(" ".join(clean_text(name).split()), NAME_LENGTH)
    if not kept:
        raise Wrong("name", _("Enter a name."))
    return kept


def add_workspace(user: User, name: str, flags: dict[str, bool]) -> Workspace:
    """Create a workspace of this deployment's channel, owned by its creator."""
    with transaction.atomic():
        workspace = Workspace.objects.create(name=clean_name(name), created_by=user)
        try:
            WorkspaceReleaseChannel.objects.create(
                workspace=workspace, release_channel=RELEASE_CHANNEL.value, updated_by=user
            )
        except DatabaseError:
            raise OtherChannel from None  # where the owner is unknown, no deployment writes
        WorkspaceMember.objects.create(workspace=workspace, user=user, role=WorkspaceRole.OWNER)
        write_flags(workspace, user, flags)
    return workspace


def set_flags(workspace: Workspace, user: User, flags: dict[str, bool]) -> None:
    with writing_workspace(workspace.pk):
        write_flags(workspace, user, flags)
        switched: dict[str, Any] = dict(flags)
        audit.record("library.flags", actor=user, subject=str(workspace.pk), **switched)


def write_flags(workspace: Workspace, user: User | None, flags: dict[str, bool]) -> None:
    for name, is_on in flags.items():
        if name not in KNOWN_FLAGS:
            raise Wrong(name[:60], _("Unknown feature."))
        WorkspaceFlag.objects.update_or_create(
            workspace=workspace, name=name, defaults={"is_on": is_on, "updated_by": user, "updated_at": clock.now()}
        )


def set_channel(workspace: Workspace, user: User | None, channel: str) -> None:
    """Transfer the workspace. Only the deployment that owns it can do this."""
    if channel not in CHANNELS:
        raise Wrong("release_channel", _("Use prod or staging."))
    with transaction.atomic():
        # The condition is the guard. A share first, as for other writes, would lock two switches up with each other.
        rows = WorkspaceReleaseChannel.objects.filter(workspace=workspace, release_channel=RELEASE_CHANNEL.value)
        try:
            switched = rows.update(release_channel=channel, updated_by=user, updated_at=clock.now())
        except DatabaseError:
            raise OtherChannel from None
        if not switched:
            raise OtherChannel
        audit.record("library.channel", actor=user, subject=str(workspace.pk), release_channel=channel)


def add_space(workspace: Workspace, user: User, name: str) -> Space:
    with writing_workspace(workspace.pk):
        space = Space.objects.create(workspace=workspace, name=clean_name(name), created_by=user)
        SpaceMember.objects.create(space=space, user=user, role=SpaceRole.ADMIN)
    return space


def rename(place: Workspace | Space, name: str) -> None:
    with writing_workspace(place.pk) if isinstance(place, Workspace) else writing(place.pk, structural=False):
        place.name, place.updated_at = clean_name(name), clock.now()
        place.save(update_fields=["name", "updated_at"])


def set_workspace_member(workspace: Workspace, actor: User, person: User, role: str) -> WorkspaceMember:
    """Add a member or change the role. A workspace always keeps an owner."""
    if role not in WorkspaceRole.values:
        raise Wrong("role", _("Use owner, admin or member."))
    with writing_workspace(workspace.pk):
        if role != WorkspaceRole.OWNER:
            _check_last_owner(workspace, person)
        member, _made = WorkspaceMember.objects.update_or_create(
            workspace=workspace, user=person, defaults={"role": role}
        )
        audit.record("library.member", actor=actor, subject=str(workspace.pk), person=person.pk, role=role)
    return member


def remove_workspace_member(workspace: Workspace, actor: User, person: User) -> None:
    """Remove a member with all roles in its spaces. Leaving is also possible while it is archived."""
    with writing_workspace(workspace.pk, archived=actor.pk == person.pk):
        _check_last_owner(workspace, person)
        WorkspaceMember.objects.filter(workspace=workspace, user=person).delete()
        SpaceMember.objects.filter(space__workspace=workspace, user=person).delete()
        audit.record("library.member", actor=actor, subject=str(workspace.pk), person=person.pk, role="")


def _check_last_owner(workspace: Workspace, person: User) -> None:
    # Locked: two owners who remove each other at the same time must not leave none.
    owners = list(
        WorkspaceMember.objects.select_for_update().filter(workspace=workspace, role=WorkspaceRole.OWNER).order_by("pk")
    )
    if [owner.user_id for owner in owners] == [person.pk]:
        raise Conflict(_("A workspace needs an owner."), code="last_owner")


def set_space_member(space: Space, actor: User, person: User, role: str) -> SpaceMember:
    """Give a member of the workspace a role in the space."""
    if role not in SpaceRole.values:
        raise Wrong("role", _("Use admin, writer or reader."))
    with writing(space.pk, structural=False):
        if not WorkspaceMember.objects.filter(workspace_id=space.workspace_id, user=person).exists():
            raise Wrong("user_id", _("This user is not a member of the workspace."))
        member, _made = SpaceMember.objects.update_or_create(space=space, user=person, defaults={"role": role})
        audit.record("library.space_member", actor=actor, subject=str(space.pk), person=person.pk, role=role)
    return member


def remove_space_member(space: Space, actor: User, person: User) -> None:
    """Remove a member. Leaving is also possible while the space is archived."""
    with transaction.atomic():
        take(space.pk, structural=False, in_use=actor.pk != person.pk)
        SpaceMember.objects.filter(space=space, user=person).delete()
        audit.record("library.space_member", actor=actor, subject=str(space.pk), person=person.pk, role="")


Shelved = Workspace | Space


def set_archived(place: Shelved, user: User, *, archived: bool) -> None:
    """Archive or unarchive. Repeating it changes nothing."""
    with _alone(place):
        if (place.archived_at is not None) == archived:
            return
        if archived:
            _no_migration(place)
        place.archived_at = clock.now() if archived else None
        place.save(update_fields=["archived_at"])
        _tell("archived" if archived else "unarchived", place, user)


def set_deleted(place: Shelved, user: User, *, deleted: bool) -> None:
    """Into the trash or out of it, with everything in it; asked twice it stays as it is."""
    with _alone(place):
        if (place.deleted_at is not None) == deleted:
            return
        if deleted:
            _no_migration(place)
        place.deleted_at = clock.now() if deleted else None
        place.save(update_fields=["deleted_at"])
        _tell("place_deleted" if deleted else "place_restored", place, user)


def purge(place: Shelved, user: User) -> None:
    """Delete from the trash permanently. A job removes the rows."""
    with _alone(place):
        if place.deleted_at is None:
            raise NotFound  # unarchived in between
        place.purged_at = clock.now()
        place.save(update_fields=["purged_at"])
        _tell("place_purged", place, user)
        soon()


@contextmanager
def _alone(place: Shelved) -> Iterator[None]:
    """Open a transaction without other writers of the workspace, and return the row as it is now."""
    workspace_id = place.pk if isinstance(place, Workspace) else place.workspace_id
    with transaction.atomic():
        if isinstance(place, Space):
            Space.objects.select_for_update().filter(pk=place.pk).only("pk").first()
        rows = WorkspaceReleaseChannel.objects.select_for_update().filter(workspace_id=workspace_id)
        try:
            owner = rows.values_list("release_channel", flat=True).first()
        except DatabaseError:
            raise OtherChannel from None
        if owner != RELEASE_CHANNEL.value:
            raise OtherChannel
        try:
            place.refresh_from_db(fields=["archived_at", "deleted_at", "purged_at", "name"])
        except type(place).DoesNotExist:
            raise NotFound from None
        if place.purged_at is not None:
            raise NotFound
        yield


def _no_migration(place: Shelved) -> None:
    spaces = Space.objects.filter(workspace=place) if isinstance(place, Workspace) else [place]
    if FolderMigrationControl.objects.filter(active_space_id__in=[space.pk for space in spaces]).exists():
        raise JobConflict


def _tell(what: str, place: Shelved, user: User) -> None:
    kind = "workspace" if isinstance(place, Workspace) else "space"
    audit.record(f"library.{what}", actor=user, subject=str(place.pk), place=kind, title=place.name)
