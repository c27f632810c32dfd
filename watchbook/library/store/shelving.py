"""Workspaces and spaces out of use: archived (read only, out of the lists) or in the trash. Callers have asked who may.

The row of the release channel is the gate: every writer holds a share of it, so taking it alone waits for writes
under way, and who comes later sees what was done here. The row of a space is taken before it, as writers do: the other
way round the two would wait for each other (seen on MariaDB).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError, transaction

from watchbook.base import clock
from watchbook.core.accounts import audit
from watchbook.library.errors import JobConflict, NotFound, WrongChannel
from watchbook.library.models import FolderMigrationControl, Space, Workspace, WorkspaceReleaseChannel
from watchbook.library.options import RELEASE_CHANNEL
from watchbook.library.store.purge import soon

Shelved = Workspace | Space


def set_archived(place: Shelved, user: Any, *, archived: bool) -> None:
    """Put aside or bring back; asked twice it stays as it is."""
    with _alone(place):
        if (place.archived_at is not None) == archived:
            return
        if archived:
            _no_migration(place)
        place.archived_at = clock.now() if archived else None
        place.save(update_fields=["archived_at"])
        _tell("archived" if archived else "unarchived", place, user)


def set_deleted(place: Shelved, user: Any, *, deleted: bool) -> None:
    """Into the trash or out of it, with everything in it; asked twice it stays as it is."""
    with _alone(place):
        if (place.deleted_at is not None) == deleted:
            return
        if deleted:
            _no_migration(place)
        place.deleted_at = clock.now() if deleted else None
        place.save(update_fields=["deleted_at"])
        _tell("place_deleted" if deleted else "place_restored", place, user)


def purge(place: Shelved, user: Any) -> None:
    """Out of the trash for good: nobody can bring it back, and the job takes its rows away."""
    with _alone(place):
        if place.deleted_at is None:
            raise NotFound  # brought back meanwhile
        place.purged_at = clock.now()
        place.save(update_fields=["purged_at"])
        _tell("place_purged", place, user)
        soon()


@contextmanager
def _alone(place: Shelved) -> Iterator[None]:
    """A transaction in which nobody else writes the workspace; the place as it is now."""
    workspace_id = place.pk if isinstance(place, Workspace) else place.workspace_id
    with transaction.atomic():
        if isinstance(place, Space):
            Space.objects.select_for_update().filter(pk=place.pk).only("pk").first()
        rows = WorkspaceReleaseChannel.objects.select_for_update().filter(workspace_id=workspace_id)
        try:
            owner = rows.values_list("release_channel", flat=True).first()
        except DatabaseError:
            raise WrongChannel from None
        if owner != RELEASE_CHANNEL.value:
            raise WrongChannel
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


def _tell(what: str, place: Shelved, user: Any) -> None:
    kind = "workspace" if isinstance(place, Workspace) else "space"
    audit.record(f"library.{what}", actor=user, subject=str(place.pk), place=kind, title=place.name)
