"""What every page of a space shows around its own matter: the tree, the way, what the reader may do here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import DatabaseError, transaction

from watchbook.library import access
from watchbook.library.access import RUNS_WORKSPACE, SPACE_RANK
from watchbook.library.models import (
    FolderMigrationControl,
    FolderMigrationJob,
    Space,
    SpaceRole,
    WorkspaceReleaseChannel,
    WorkspaceRole,
)
from watchbook.library.models.walk import Crumb
from watchbook.library.options import RELEASE_CHANNEL
from watchbook.library.views.tree import tree_of


@dataclass(frozen=True)
class Channel:
    """Which deployment owns the workspace, and whether it is in use. Empty: nobody knows, and nobody writes."""

    name: str
    is_archived: bool = False

    @property
    def is_ours(self) -> bool:
        return self.name == RELEASE_CHANNEL.value

    @property
    def is_open(self) -> bool:
        """May anything be changed here at all?"""
        return self.is_ours and not self.is_archived


def channel_of(workspace_id: UUID, *, is_archived: bool = False) -> Channel:
    try:
        # A missing table must not spoil the transaction of the page.
        with transaction.atomic():
            rows = WorkspaceReleaseChannel.objects.filter(workspace_id=workspace_id)
            return Channel(rows.values_list("release_channel", flat=True).first() or "", is_archived)
    except DatabaseError:
        return Channel("")


def frame(user: Any, space: Space, way: Sequence[Crumb] = ()) -> dict[str, Any]:
    """The context of a page of this space; ask for the role before."""
    flags = space.workspace.flags()
    role = access.space_role(user, space)
    channel = channel_of(space.workspace_id, is_archived=space.is_archived)
    workspace_role = access.workspace_role(user, space.workspace_id)
    rank = SPACE_RANK[SpaceRole(role)]
    return {
        "space": space,
        "way": way,
        "tree": tree_of(space, way),
        "role": SpaceRole(role),
        "channel": channel,
        "flags": flags,
        "may_write": rank >= SPACE_RANK[SpaceRole.WRITER] and channel.is_open,
        "may_keep": channel.is_open,
        "may_manage": rank >= SPACE_RANK[SpaceRole.ADMIN],
        "runs_workspace": workspace_role in RUNS_WORKSPACE,
        "may_shelve": workspace_role == WorkspaceRole.OWNER and channel.is_ours,
        "work": job_at_work(space.pk),
    }


def job_at_work(space_id: UUID) -> FolderMigrationJob | None:
    held = FolderMigrationControl.objects.filter(active_space_id=space_id).select_related("job").first()
    return held.job if held else None
