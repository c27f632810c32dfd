"""Stored floors that a page read whole did not show. Two such readings in a row, in two runs, are a deletion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from watchbook.base.store.rows import Columns
from watchbook.sources.nga.models import PostAbsence
from watchbook.sources.nga.store.known import KnownFloor
from watchbook.sources.nga.store.versions import Change, absent

READINGS_OF_A_DELETION = 2
AGAIN = ("reading_count", "crawl_run_id", "last_absent_at")
FIRST_ABSENCE = Columns(PostAbsence, [*AGAIN, "first_absent_at", "post_id"])
ABSENT_AGAIN = Columns(PostAbsence, AGAIN)


def note_absent(floors: Iterable[KnownFloor], crawl_run_id: int, now: datetime) -> list[Change]:
    """Count this reading for each; gives those that are deleted now. Two readings of one run count once."""
    first, again, gone = [], [], []
    for floor in floors:
        if floor.is_deleted_by_source or floor.absent_run_id == crawl_run_id:
            continue
        count = (floor.absent_count or 0) + 1
        if floor.absent_count is None:
            first.append((count, crawl_run_id, now, now, floor.pk))
            continue
        again.append((count, crawl_run_id, now, floor.pk))
        if count >= READINGS_OF_A_DELETION:
            gone.append(absent(floor))
    FIRST_ABSENCE.insert(first)
    ABSENT_AGAIN.update(again)
    return gone


def forget(floors: Sequence[KnownFloor]) -> None:
    """These are there again: the count begins anew."""
    known = [floor.pk for floor in floors if floor.absent_count is not None]
    if known:
        PostAbsence.objects.filter(pk__in=known).delete()
