"""Workspaces, spaces, members, flags and channels: their rows. Callers have asked who may."""

from __future__ import annotations

from typing import Any

from django.db import DatabaseError, transaction
from django.utils.translation import gettext as _

from watchbook.base import clock
from watchbook.base.text import clean_text, cut
from watchbook.core.accounts import audit
from watchbook.library.channels import CHANNELS
from watchbook.library.errors import Conflict, Wrong, WrongChannel
from watchbook.library.models import (
    KNOWN_FLAGS,
    Space,
    SpaceMember,
    SpaceRole,
    Workspace,
    WorkspaceFlag,
    WorkspaceMember,
    WorkspaceReleaseChannel,
    WorkspaceRole,
)
from watchbook.library.models.places import NAME_LENGTH
from watchbook.library.options import RELEASE_CHANNEL
from watchbook.library.store.guard import writing_workspace
from watchbook.library.store.lock import take, writing


def clean_name(name: str) -> str:
    kept = cut(" ".join(clean_text(name).split()), NAME_LENGTH)
    if not kept:
        raise Wrong("name", _("Give it a name."))
    return kept


def add_workspace(user: Any, name: str, flags: dict[str, bool]) -> Workspace:
    """A workspace belongs to the channel of the deployment that made it, and its maker owns it."""
    with transaction.atomic():
        workspace = Workspace.objects.create(name=clean_name(name), created_by=user)
        try:
            WorkspaceReleaseChannel.objects.create(
                workspace=workspace, release_channel=RELEASE_CHANNEL.value, updated_by=user
            )
        except DatabaseError:
            raise WrongChannel from None  # where nobody can say who writes, nobody writes
        WorkspaceMember.objects.create(workspace=workspace, user=user, role=WorkspaceRole.OWNER)
        _write_flags(workspace, user, flags)
    return workspace


def set_flags(workspace: Workspace, user: Any, flags: dict[str, bool]) -> None:
    with writing_workspace(workspace.pk):
        _write_flags(workspace, user, flags)
        switched: dict[str, Any] = dict(flags)
        audit.record("library.flags", actor=user, subject=str(workspace.pk), **switched)


def _write_flags(workspace: Workspace, user: Any, flags: dict[str, bool]) -> None:
    for name, is_on in flags.items():
        if name not in KNOWN_FLAGS:
            raise Wrong(name[:60], _("There is no such switch."))
        WorkspaceFlag.objects.update_or_create(
            workspace=workspace, name=name, defaults={"is_on": is_on, "updated_by": user, "updated_at": clock.now()}
        )


def set_channel(workspace: Workspace, user: Any, channel: str) -> None:
    """Hands the workspace over. Only the deployment that owns it now can: afterwards it is the other's."""
    if channel not in CHANNELS:
        raise Wrong("release_channel", _("It is prod or staging."))
    with transaction.atomic():
        # The condition is the guard. A share first, as for other writes, would lock two switches up with each other.
        rows = WorkspaceReleaseChannel.objects.filter(workspace=workspace, release_channel=RELEASE_CHANNEL.value)
        try:
            switched = rows.update(release_channel=channel, updated_by=user, updated_at=clock.now())
        except DatabaseError:
            raise WrongChannel from None
        if not switched:
            raise WrongChannel
        audit.record("library.channel", actor=user, subject=str(workspace.pk), release_channel=channel)


def add_space(workspace: Workspace, user: Any, name: str) -> Space:
    with writing_workspace(workspace.pk):
        space = Space.objects.create(workspace=workspace, name=clean_name(name), created_by=user)
        SpaceMember.objects.create(space=space, user=user, role=SpaceRole.ADMIN)
    return space


def rename(place: Workspace | Space, name: str) -> None:
    with writing_workspace(place.pk) if isinstance(place, Workspace) else writing(place.pk, structural=False):
        place.name, place.updated_at = clean_name(name), clock.now()
        place.save(update_fields=["name", "updated_at"])


def set_workspace_member(workspace: Workspace, actor: Any, person: Any, role: str) -> WorkspaceMember:
    """Adds somebody or changes the role. A workspace always keeps an owner."""
    if role not in WorkspaceRole.values:
        raise Wrong("role", _("It is owner, admin or member."))
    with writing_workspace(workspace.pk):
        if role != WorkspaceRole.OWNER:
            _keep_an_owner(workspace, person)
        member, _made = WorkspaceMember.objects.update_or_create(
            workspace=workspace, user=person, defaults={"role": role}
        )
        audit.record("library.member", actor=actor, subject=str(workspace.pk), person=person.pk, role=role)
    return member


def remove_workspace_member(workspace: Workspace, actor: Any, person: Any) -> None:
    """He loses the roles in its spaces with it. Whoever goes by himself may also while it is archived."""
    with writing_workspace(workspace.pk, archived=actor.pk == person.pk):
        _keep_an_owner(workspace, person)
        WorkspaceMember.objects.filter(workspace=workspace, user=person).delete()
        SpaceMember.objects.filter(space__workspace=workspace, user=person).delete()
        audit.record("library.member", actor=actor, subject=str(workspace.pk), person=person.pk, role="")


def _keep_an_owner(workspace: Workspace, person: Any) -> None:
    # Locked: two owners who remove each other at once must not leave none behind.
    owners = list(
        WorkspaceMember.objects.select_for_update().filter(workspace=workspace, role=WorkspaceRole.OWNER).order_by("pk")
    )
    if [owner.user_id for owner in owners] == [person.pk]:
        raise Conflict(_("A workspace needs an owner."), code="last_owner")


def set_space_member(space: Space, actor: Any, person: Any, role: str) -> SpaceMember:
    """Gives somebody of the workspace a role in the space."""
    if role not in SpaceRole.values:
        raise Wrong("role", _("It is admin, writer or reader."))
    with writing(space.pk, structural=False):
        if not WorkspaceMember.objects.filter(workspace_id=space.workspace_id, user=person).exists():
            raise Wrong("user_id", _("This person does not belong to the workspace."))
        member, _made = SpaceMember.objects.update_or_create(space=space, user=person, defaults={"role": role})
        audit.record("library.space_member", actor=actor, subject=str(space.pk), person=person.pk, role=role)
    return member


def remove_space_member(space: Space, actor: Any, person: Any) -> None:
    """Whoever goes by himself may also while it is archived."""
    with transaction.atomic():
        take(space.pk, structural=False, in_use=actor.pk != person.pk)
        SpaceMember.objects.filter(space=space, user=person).delete()
        audit.record("library.space_member", actor=actor, subject=str(space.pk), person=person.pk, role="")
