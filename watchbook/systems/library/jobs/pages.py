"""Jobs on pages: empty the trash piece by piece; delete old autosaves and unused attachments; index; remind owners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from watchbook.core.jobs.runner import NOTHING_TO_DO, JobContext, Outcome
from watchbook.systems.library.access import is_reviewed
from watchbook.systems.library.errors import Conflict, NotFound, OtherChannel
from watchbook.systems.library.models import Page, PageVersion, Space, TrashBatch, Workspace
from watchbook.systems.library.options import TRASH_DAYS
from watchbook.systems.library.store import (
    attachments,
    check_channel,
    order,
    owned_workspaces,
    publish,
    take,
    together,
    trash,
)

AT_ONCE = 200
# An autosave that the next one replaced is kept while a user may be editing it.
STEPS_KEPT = timedelta(days=1)
# An attachment can be uploaded a while before the text that shows it is saved.
UNUSED_KEPT = timedelta(days=2)


def empty_trash(ctx: JobContext) -> Outcome:
    """Delete old trash of this deployment's workspaces. Archived spaces keep theirs. Safe to kill."""
    try:
        owned = owned_workspaces()
    except OtherChannel:
        return NOTHING_TO_DO
    figures = {"removed": 0, "pages": 0, "held": 0}
    if TRASH_DAYS.value:
        _purge_old(ctx, owned, ctx.now - timedelta(days=TRASH_DAYS.value), figures)
        _purge_places(ctx, owned, ctx.now - timedelta(days=TRASH_DAYS.value))
    _remove_purged(ctx, owned, figures)
    _remove_containers(ctx, owned, figures)
    return Outcome("done", figures) if any(figures.values()) else NOTHING_TO_DO


def delete_old_autosaves(ctx: JobContext) -> Outcome:
    """Delete autosaves that a later one of their series replaced. The history does not show them."""
    removed = 0
    try:
        mine = PageVersion.objects.filter(page__space__workspace_id__in=owned_workspaces())
        rows = mine.filter(joined_at__lt=ctx.now - STEPS_KEPT).order_by("joined_at")
        while old := dict(rows.values_list("pk", "page__space__workspace_id")[:AT_ONCE]):
            with ctx.writing():
                check_channel(old.values())
                removed += PageVersion.objects.filter(pk__in=old).delete()[0]
            ctx.report(removed=removed)
    except OtherChannel:
        pass  # transferred while it ran: the other deployment continues
    return Outcome("done", {"removed": removed}) if removed else NOTHING_TO_DO


def clean_attachments(ctx: JobContext) -> Outcome:
    """Delete attachments that no folder holds and no version of a page shows any more."""
    removed = 0
    try:
        owned = owned_workspaces()
        steps: list[Callable[[], int]] = [
            lambda: attachments.forget_uses(owned),
            lambda: attachments.remove_unused(owned, ctx.now - UNUSED_KEPT),
        ]
        for step in steps:
            removed += _repeat(ctx, step)
    except OtherChannel:
        pass  # transferred while it ran: the other deployment continues
    return Outcome("done", {"removed": removed}) if removed else NOTHING_TO_DO


def index_space(ctx: JobContext, space_id: str) -> Outcome:
    """Write the search documents of a space again, after viewers see other versions than before."""
    space = Space.objects.there().filter(pk=UUID(space_id)).first()
    done, last = 0, None
    while space is not None:
        rows = Page.objects.live().filter(space=space).order_by("pk")
        found = list(rows.filter(pk__gt=last)[:AT_ONCE] if last else rows[:AT_ONCE])
        if not found:
            break
        with ctx.writing():
            if not is_reviewed(space.pk):
                publish.remove_approved([page.pk for page in found])
            publish.put(found)
        done, last = done + len(found), found[-1].pk
        ctx.report(pages=done)
    return Outcome("done", {"pages": done}) if done else NOTHING_TO_DO


def remind_owners(ctx: JobContext) -> Outcome:
    """Notify the owners of pages whose last valid day is over, once for each page and day that was set."""
    try:
        owned = set(owned_workspaces())
    except OtherChannel:
        return NOTHING_TO_DO
    found = [one for one in order.expired(ctx.now.date()) if one.page.space.workspace_id in owned]
    notified = 0
    for one in found:
        with ctx.writing():
            notified += together.notify_expired(one)
    return Outcome("done", {"notified": notified}) if notified else NOTHING_TO_DO


def _repeat(ctx: JobContext, step: Callable[[], int]) -> int:
    """Call a step, each time in a transaction of its own, until it finds nothing; return the sum."""
    total = 0
    while True:
        with ctx.writing():
            count = step()
        if not count:
            return total
        total += count
        ctx.report(removed=total)


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
                trash.purge(batch)
        except (Conflict, NotFound, OtherChannel):
            figures["held"] += 1  # in use below, a running migration, transferred: try again tomorrow


def _remove_purged(ctx: JobContext, owned: list[UUID], figures: dict[str, int]) -> None:
    gone = TrashBatch.objects.filter(space__workspace_id__in=owned).exclude(purged_at=None)
    for pk in _keys(gone):
        while (batch := gone.filter(pk=pk).first()) is not None:
            try:
                with ctx.writing():
                    take(batch.space_id, structural=False, in_use=False)
                    if gone.filter(pk=pk).exists():  # another run may have taken its last piece
                        figures["pages"] += trash.remove_piece(batch)
            except (NotFound, OtherChannel):
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


def _remove_containers(ctx: JobContext, owned: list[UUID], figures: dict[str, int]) -> None:
    """Spaces that are purged, or whose workspace is; then the workspaces, which are empty by then."""
    spaces = Space.objects.filter(workspace_id__in=owned).exclude(purged_at=None, workspace__purged_at=None)
    while (space := spaces.order_by("pk").first()) is not None:
        with ctx.writing():
            if not _is_ours(space):
                return
            count = trash.remove_piece_of(space)
            if not count:
                trash.remove_container(space)
        figures["pages"] += count
        figures["removed"] += not count
        ctx.report(**figures)
    while (workspace := Workspace.objects.filter(pk__in=owned).exclude(purged_at=None).first()) is not None:
        with ctx.writing():
            if not _is_ours(workspace):
                return
            trash.remove_container(workspace)
        figures["removed"] += 1


def _is_ours(place: Workspace | Space) -> bool:
    """Check and hold the channel until the transaction ends, so that no restore or transfer comes between."""
    try:
        if isinstance(place, Workspace):
            check_channel([place.pk])
        else:
            take(place.pk, structural=False, in_use=False)
    except (NotFound, OtherChannel):
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
