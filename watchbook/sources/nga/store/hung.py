"""Where notes hang: under which post each of them was written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from watchbook.base.store.rows import Columns
from watchbook.sources.nga.models import NoteParent
from watchbook.sources.nga.parse import FloorRecord, StubRecord
from watchbook.sources.nga.store.known import KnownFloor

PARENTS = Columns(NoteParent, ["thread_id", "source_post_id", "parent_source_post_id", "created_at"])


def note_parents(
    thread_id: int,
    shown: Iterable[FloorRecord | StubRecord],
    stored: Mapping[int, KnownFloor],
    fresh: Iterable[int],
    now: datetime,
) -> None:
    """Of notes that are stored, now or before, and whose post was not known. Nothing is written for any other."""
    new = set(fresh)
    rows = {
        one.source_post_id: (thread_id, one.source_post_id, one.parent_post_id, now)
        for one in shown
        if one.parent_post_id is not None
        and (
            one.source_post_id in new
            or ((floor := stored.get(one.source_post_id)) is not None and floor.parent_post_id is None)
        )
    }
    PARENTS.insert(list(rows.values()), pass_over=True)
