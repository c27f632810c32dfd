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
)
from watchbook.library.models.walk import Crumb
from watchbook.library.options import RELEASE_CHANNEL
from watchbook.library.views.tree import tree_of


@dataclass(frozen=True)
class Channel:
    """Which deployment owns the workspace. Empty: nobody knows, and nobody writes."""

    name: str

    @property
    def is_ours(self) -> bool:
        return self.name == RELEASE_CHANNEL.value


def channel_of(workspace_id: UUID) -> Channel:
    try:
        # A missing table must not spoil the transaction of the page.
        with transaction.atomic():
            rows = WorkspaceReleaseChannel.objects.filter(workspace_id=workspace_id)
            return Channel(rows.values_list("release_channel", flat=True).first() or "")
    except DatabaseError:
        return Channel("")


def frame(user: Any, space: Space, way: Sequence[Crumb] = ()) -> dict[str, Any]:
    """The context of a page of this space; ask for the role before."""
    flags = space.workspace.flags()
    role = access.space_role(user, space)
    channel = channel_of(space.workspace_id)
    rank = SPACE_RANK[SpaceRole(role)]
    return {
        "space": space,
        "way": way,
        "tree": tree_of(space, way),
        "role": SpaceRole(role),
        "channel": channel,
        "flags": flags,
        "may_write": rank >= SPACE_RANK[SpaceRole.WRITER] and channel.is_ours,
        "may_keep": channel.is_ours,
        "may_manage": rank >= SPACE_RANK[SpaceRole.ADMIN],
        "runs_workspace": access.workspace_role(user, space.workspace_id) in RUNS_WORKSPACE,
        "work": job_at_work(space.pk),
    }


def job_at_work(space_id: UUID) -> FolderMigrationJob | None:
    held = FolderMigrationControl.objects.filter(active_space_id=space_id).select_related("job").first()
    return held.job if held else None
