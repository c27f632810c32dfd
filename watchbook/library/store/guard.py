"""The release channel under every write: a deployment writes only workspaces of its own channel.

It denies by default: no row, no table, an unreadable answer are all "not ours". The row is read inside the writing
transaction and held FOR SHARE, so that a switch of the channel waits for writes under way and none slips in behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import DatabaseError, connection, transaction

from watchbook.library.errors import Archived, NotFound, WrongChannel
from watchbook.library.models import Workspace, WorkspaceReleaseChannel
from watchbook.library.options import RELEASE_CHANNEL

HELD = {"postgresql": " FOR SHARE", "mysql": " LOCK IN SHARE MODE"}


def check_channel(workspace_ids: Iterable[UUID]) -> None:
    """Raises WrongChannel unless this deployment owns every one of them. Call it inside the transaction that writes."""
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
        raise WrongChannel from None
    if not wanted or len(found) != len(wanted) or set(found) != {RELEASE_CHANNEL.value}:
        raise WrongChannel


@contextmanager
def writing_workspace(workspace_id: UUID, *, archived: bool = False) -> Iterator[None]:
    """A transaction that writes a workspace's own rows: members, flags, spaces, channel.

    With `archived` also while it is archived: for somebody who leaves, which changes nothing in it.
    """
    with transaction.atomic():
        check_channel([workspace_id])
        # Behind the channel: whoever archives holds its row alone, so what is read here stays true.
        columns = ("deleted_at",) if archived else ("deleted_at", "archived_at")
        check_in_use([Workspace.objects.filter(pk=workspace_id).values_list(*columns).first()])
        yield


def check_in_use(states: Iterable[tuple[datetime | None, ...] | None]) -> None:
    """Each is when a place (and the one around it) was deleted and archived. In the trash: as if it were not there."""
    found = list(states)
    if any(state is None or any(state[::2]) for state in found):
        raise NotFound
    if any(state is not None and any(state[1::2]) for state in found):
        raise Archived


def owned_workspaces() -> list[UUID]:
    """Workspaces of this deployment, also those out of use; refused when that cannot be known."""
    try:
        with transaction.atomic():
            rows = WorkspaceReleaseChannel.objects.filter(release_channel=RELEASE_CHANNEL.value)
            return list(rows.values_list("workspace_id", flat=True))
    except DatabaseError:
        raise WrongChannel from None
