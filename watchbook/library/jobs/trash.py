"""Emptying the trash: what is older than its days is purged, and what is purged is removed, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.library.errors import Conflict, NotFound, WrongChannel
from watchbook.library.models import PageVersion, Space, TrashBatch, Workspace
from watchbook.library.options import TRASH_DAYS
from watchbook.library.store import purge
from watchbook.library.store.guard import check_channel, owned_workspaces
from watchbook.library.store.lock import take

AT_ONCE = 200
# An autosave that the next one replaced is kept for whoever is writing on top of it just now.
STEPS_KEPT = timedelta(days=1)


def empty_trash(ctx: JobContext) -> Outcome:
    """Only workspaces of this deployment; an archived place keeps its trash. Killed anywhere, the next run goes on."""
    try:
        owned = owned_workspaces()
    except WrongChannel:
        return NOTHING_TO_DO
    figures = {"removed": 0, "pages": 0, "held": 0}
    if TRASH_DAYS.value:
        _purge_old(ctx, owned, ctx.now - timedelta(days=TRASH_DAYS.value), figures)
        _purge_places(ctx, owned, ctx.now - timedelta(days=TRASH_DAYS.value))
    _remove_purged(ctx, owned, figures)
    _remove_places(ctx, owned, figures)
    return Outcome("done", figures) if any(figures.values()) else NOTHING_TO_DO


def forget_steps(ctx: JobContext) -> Outcome:
    """Autosaves that a later one of their series replaced; the history does not show them."""
    removed = 0
    try:
        mine = PageVersion.objects.filter(page__space__workspace_id__in=owned_workspaces())
        rows = mine.filter(joined_at__lt=ctx.now - STEPS_KEPT).order_by("joined_at")
        while old := dict(rows.values_list("pk", "page__space__workspace_id")[:AT_ONCE]):
            with ctx.writing():
                check_channel(old.values())
                removed += PageVersion.objects.filter(pk__in=old).delete()[0]
            ctx.report(removed=removed)
    except WrongChannel:
        pass  # handed over while it ran: the other deployment goes on
    return Outcome("done", {"removed": removed}) if removed else NOTHING_TO_DO


def _purge_old(ctx: JobContext, owned: list[UUID], before: datetime, figures: dict[str, int]) -> None:
    in_use = Space.objects.in_use().filter(workspace_id__in=owned)
    due = TrashBatch.objects.open().filter(deleted_at__lt=before, space__in=in_use)
    for pk in _keys(due):
        try:
            with ctx.writing():
                batch = due.select_related("page").filter(pk=pk).first()
                if batch is None:
                    continue
                take(batch.space_id, structural=False)
                if not due.filter(pk=pk).exists():
                    continue  # restored while this run waited for the lock
                purge.purge(batch)
        except (Conflict, NotFound, WrongChannel):
            figures["held"] += 1  # in use below, a migration at work, handed over: tomorrow again


def _remove_purged(ctx: JobContext, owned: list[UUID], figures: dict[str, int]) -> None:
    gone = TrashBatch.objects.filter(space__workspace_id__in=owned).exclude(purged_at=None)
    for pk in _keys(gone):
        while (batch := gone.filter(pk=pk).first()) is not None:
            try:
                with ctx.writing():
                    take(batch.space_id, structural=False, in_use=False)
                    if gone.filter(pk=pk).exists():  # another run may have taken its last piece
                        figures["pages"] += purge.remove_piece(batch)
            except (NotFound, WrongChannel):
                figures["held"] += 1
                break
            ctx.report(**figures)
        else:
            figures["removed"] += 1


def _purge_places(ctx: JobContext, owned: list[UUID], before: datetime) -> None:
    for due in (
        Space.objects.filter(workspace_id__in=owned, deleted_at__lt=before, purged_at=None),
        Workspace.objects.filter(pk__in=owned, deleted_at__lt=before, purged_at=None),
    ):
        for pk in _keys(due):
            with ctx.writing():
                place = due.filter(pk=pk).first()
                if place is not None and _is_ours(place):
                    due.filter(pk=pk).update(purged_at=ctx.now)


def _remove_places(ctx: JobContext, owned: list[UUID], figures: dict[str, int]) -> None:
    """Spaces that are purged, or whose workspace is; then the workspaces, which are empty by then."""
    spaces = Space.objects.filter(workspace_id__in=owned).exclude(purged_at=None, workspace__purged_at=None)
    while (space := spaces.order_by("pk").first()) is not None:
        with ctx.writing():
            if not _is_ours(space):
                return
            count = purge.remove_piece_of(space)
            if not count:
                purge.remove_place(space)
        figures["pages"] += count
        figures["removed"] += not count
        ctx.report(**figures)
    while (workspace := Workspace.objects.filter(pk__in=owned).exclude(purged_at=None).first()) is not None:
        with ctx.writing():
            if not _is_ours(workspace):
                return
            purge.remove_place(workspace)
        figures["removed"] += 1


def _is_ours(place: Workspace | Space) -> bool:
    """Still, and held until the transaction ends: nobody brings it back or hands it over meanwhile."""
    try:
        if isinstance(place, Workspace):
            check_channel([place.pk])
        else:
            take(place.pk, structural=False, in_use=False)
    except (NotFound, WrongChannel):
        return False
    return True


def _keys(rows: Any) -> Iterator[UUID]:
    """Ids a piece at a time: by key, so that one that has to stay does not come again."""
    last: UUID | None = None
    while True:
        wanted = rows.filter(pk__gt=last) if last else rows
        found = list(wanted.order_by("pk").values_list("pk", flat=True)[:AT_ONCE])
        if not found:
            return
        yield from found
        last = found[-1]
