"""Rules of every write: the release channel of a workspace, the lock of a space, and the hierarchy of pages.

A deployment writes only workspaces of its own channel. A missing row, a missing table or a database error count as
another channel. The row is read inside the writing transaction and held FOR SHARE, so that a channel change waits for
running writes.

The row of a space is the lock of its page tree. Every structural write takes it first, then reads, checks and writes.
Without it two users who move A below a child of B and B below a child of A make a ring (measured: 30 of 30 attempts on
PostgreSQL; row locks on the two pages do not help). Two spaces are locked in the order of their ids.

| parent  | folder | file |
|---------|--------|------|
| top     | yes    | no   |
| folder  | yes    | yes  |
| file    | no     | yes  |

While folders are disabled, the top level can hold pages and no folders are created. A folder is never below a page,
enabled or not: the tree must be legal when folders are enabled again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Literal
from uuid import UUID

from django.db import DatabaseError, connection, transaction
from django.db.models import F
from django.utils.translation import gettext as _

from watchbook.systems.library.errors import Archived, Conflict, Cycle, Hierarchy, JobConflict, NotFound, OtherChannel
from watchbook.systems.library.models import (
    FOLDERS_ENABLED,
    FolderMigrationControl,
    NodeType,
    Page,
    Space,
    Workspace,
    WorkspaceFlag,
    WorkspaceReleaseChannel,
)
from watchbook.systems.library.models.tree import ancestors_and_self
from watchbook.systems.library.options import RELEASE_CHANNEL

HELD = {"postgresql": " FOR SHARE", "mysql": " LOCK IN SHARE MODE"}


def check_channel(workspace_ids: Iterable[UUID]) -> None:
    """Raises OtherChannel unless this deployment owns every one of them. Call it inside the transaction that writes."""
    wanted = sorted(set(workspace_ids))
    field: Any = WorkspaceReleaseChannel._meta.pk
    marks = ", ".join(["%s"] * len(wanted))
    sql = f"SELECT release_channel FROM workspace_release_channel WHERE workspace_id IN ({marks})"  # noqa: S608 - marks only
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                f"{sql} ORDER BY workspace_id{HELD.get(connection.vendor, '')}",
                [field.get_db_prep_value(pk, connection) for pk in wanted],
            )
            found = [row[0] for row in cursor.fetchall()]
    except DatabaseError:
        raise OtherChannel from None
    if not wanted or len(found) != len(wanted) or set(found) != {RELEASE_CHANNEL.value}:
        raise OtherChannel


@contextmanager
def writing_workspace(workspace_id: UUID, *, archived: bool = False) -> Iterator[None]:
    """Open a transaction that writes the rows of a workspace: members, features, spaces, channel.

    With `archived` also while it is archived: for a member who leaves, which changes nothing in it.
    """
    with transaction.atomic():
        check_channel([workspace_id])
        # After the channel: archiving locks its row exclusively, so what is read here stays true.
        columns = ("deleted_at",) if archived else ("deleted_at", "archived_at")
        check_in_use([Workspace.objects.filter(pk=workspace_id).values_list(*columns).first()])
        yield


def check_in_use(states: Iterable[tuple[datetime | None, ...] | None]) -> None:
    """Check pairs of (deleted_at, archived_at). Raises NotFound for the trash, Archived for archived ones."""
    found = list(states)
    if any(state is None or any(state[::2]) for state in found):
        raise NotFound
    if any(state is not None and any(state[1::2]) for state in found):
        raise Archived


def owned_workspaces() -> list[UUID]:
    """Return all workspaces of this deployment. Raises OtherChannel if the table cannot be read."""
    try:
        with transaction.atomic():
            rows = WorkspaceReleaseChannel.objects.filter(release_channel=RELEASE_CHANNEL.value)
            return list(rows.values_list("workspace_id", flat=True))
    except DatabaseError:
        raise OtherChannel from None


STATES = ("deleted_at", "archived_at", "workspace__deleted_at", "workspace__archived_at")


@contextmanager
def writing(*space_ids: UUID, structural: bool = True) -> Iterator[None]:
    """A transaction that holds the trees of these spaces and may write them on this release channel."""
    with transaction.atomic():
        take(*space_ids, structural=structural)
        yield


def take(*space_ids: UUID, structural: bool = True, in_use: bool = True, for_rollback: bool = False) -> None:
    """Lock, check the channel, count the change. For callers that have a transaction already.

    Without `in_use` also a space that is archived or in the trash: for removing what was removed for people before.
    While a migration is rolled back, only the rollback itself (`for_rollback`) changes the tree.
    """
    wanted = sorted(set(space_ids))
    # Not the key: rows that point to the space may be added in between.
    rows = list(
        Space.objects.select_for_update(no_key=_can_skip_key()).filter(pk__in=wanted).order_by("pk").only("workspace")
    )
    if len(rows) != len(wanted):
        raise NotFound
    check_channel(row.workspace_id for row in rows)
    if in_use:
        check_in_use(Space.objects.filter(pk__in=wanted).values_list(*STATES))
    if structural:
        if not for_rollback and FolderMigrationControl.objects.rolling_back(wanted).exists():
            raise JobConflict(
                _("A folder migration is being rolled back in this space. Wait until it finishes."), code="rolling_back"
            )
        Space.objects.filter(pk__in=wanted).update(tree_version=F("tree_version") + 1)


def fresh(page: Page, *, trashed: bool = False) -> Page:
    """The page as it is now that its space is locked. Trashed, restored or gone to another space: not there."""
    rows = Page.objects.with_type().select_related("space").filter(pk=page.pk, space_id=page.space_id)
    found = rows.filter(deleted_at__isnull=not trashed, trash_batch__purged_at=None).first()
    if found is None:
        raise NotFound
    return found


def _can_skip_key() -> bool:
    return bool(transaction.get_connection().features.has_select_for_no_key_update)


TOP = "top"
ALLOWED = {
    (TOP, NodeType.FOLDER): True,
    (TOP, NodeType.FILE): False,
    (NodeType.FOLDER, NodeType.FOLDER): True,
    (NodeType.FOLDER, NodeType.FILE): True,
    (NodeType.FILE, NodeType.FOLDER): False,
    (NodeType.FILE, NodeType.FILE): True,
}
# No real tree is deeper; keeps queries short.
DEEPEST = 100


@dataclass(frozen=True)
class Parent:
    """Target of a page: below `parent`, or the top level of the space."""

    space: Space
    parent: Page | None = None

    @property
    def parent_id(self) -> UUID | None:
        return self.parent.pk if self.parent else None

    @property
    def kind(self) -> str:
        return self.parent.node_type if self.parent else TOP


class Unchanged(Enum):
    """Marks a parent that was not given: the page stays below, or returns to, its old parent."""

    OLD_PARENT = "old"


OLD_PARENT = Unchanged.OLD_PARENT
# A page id, None for the top level, or OLD_PARENT if nothing was given.
ParentChoice = UUID | None | Literal[Unchanged.OLD_PARENT]


def parent_at(space: Space, parent_page_id: UUID | None) -> Parent:
    """Return the target as it is now; call it under the lock. Raises NotFound if the parent is not in the space."""
    if parent_page_id is None:
        return Parent(space)
    parent = Page.objects.live().with_type().filter(pk=parent_page_id, space=space).first()
    if parent is None:
        raise NotFound(_("Folder not found in this space."))
    return Parent(space, parent)


def folders_enabled(space: Space) -> bool:
    return WorkspaceFlag.objects.filter(workspace_id=space.workspace_id, name=FOLDERS_ENABLED, is_on=True).exists()


def is_legal(place: Parent, node_type: str) -> bool:
    if place.kind == TOP and node_type == NodeType.FILE:
        return not folders_enabled(place.space)
    return ALLOWED[(place.kind, NodeType(node_type))]


def check_new(place: Parent, node_type: str) -> None:
    """Check that a page of this type can be created here."""
    if node_type == NodeType.FOLDER and not folders_enabled(place.space):
        raise Conflict(_("Folders are disabled in this workspace."), code="folders_disabled")
    check_parent(place, node_type)


def check_parent(place: Parent, node_type: str, moved: Page | None = None) -> None:
    """Check that a page of this type is allowed here and, with `moved`, that the target is not below that page."""
    above = ancestors_and_self(place.parent.pk) if place.parent else set()
    if moved is not None and moved.pk in above:
        raise Cycle
    if not is_legal(place, node_type):
        raise Hierarchy(details={"parent": place.kind, "child": node_type})
    if len(above) >= DEEPEST:
        raise Conflict(_("Pages are nested too deeply."), code="too_deep")


BATCH = 500


def chunks(ids: Sequence[UUID], size: int = BATCH) -> Iterator[Sequence[UUID]]:
    """Pieces that every database takes as one list of parameters."""
    for start in range(0, len(ids), size):
        yield ids[start : start + size]
