"""What a person does with the trash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from watchbook.library import access
from watchbook.library.actions.pages import WRITER, chosen
from watchbook.library.errors import NotFound
from watchbook.library.models import Page, SpaceRole, TrashBatch
from watchbook.library.models.walk import whole
from watchbook.library.store import purge, trash
from watchbook.library.store.lock import fresh, writing
from watchbook.library.store.rules import place_at


def trash_page(user: Any, page_id: UUID) -> TrashBatch:
    """The page and all below it, as one batch. For writers."""
    page = access.page_for(user, page_id, WRITER)
    with writing(page.space_id):
        return trash.trash(fresh(page), user)


def bulk_trash(user: Any, page_ids: Sequence[UUID]) -> list[TrashBatch]:
    """All or none; one batch for each chosen subtree. For writers."""
    found = chosen(user, page_ids)
    with writing(*{page.space_id for page in found}):
        tops = set(whole(page.pk for page in found))
        return [trash.trash(fresh(page), user) for page in found if page.pk in tops]


def restore_page(user: Any, page_id: UUID, *, parent_page_id: UUID | None = None) -> Page:
    """The whole batch this page was trashed with, to its old place or below another page. For writers.

    NoLegalPlace when the old place is gone: its details offer folders as targets.
    """
    page = access.page_for(user, page_id, WRITER, trashed=True)
    with writing(page.space_id):
        page = fresh(page, trashed=True)
        batch = page.trash_batch
        if batch is None or batch.restored_at is not None:
            raise NotFound
        place = place_at(page.space, parent_page_id) if parent_page_id is not None else None
        return trash.restore(batch, place)


def purge_page(user: Any, page_id: UUID) -> Page:
    """What was trashed with this page, for good: it cannot come back. For admins of the space."""
    page = access.page_for(user, page_id, SpaceRole.ADMIN, trashed=True)
    with writing(page.space_id, structural=False):
        page = fresh(page, trashed=True)
        batch = page.trash_batch
        if batch is None or batch.page_id != page.pk:
            raise NotFound
        purge.purge(batch, user)
        purge.soon()
    return page


def empty_trash(user: Any, space_id: UUID) -> int:
    """All of a space's trash, for good; gives how many lines it had. For admins of the space."""
    space = access.space_for(user, space_id, SpaceRole.ADMIN)
    with writing(space.pk, structural=False):
        count = purge.purge_all(space, user)
        if count:
            purge.soon()
    return count


def list_trash(user: Any, space_id: UUID) -> Any:
    """QuerySet of the batches in the trash of a space, the newest first, each with its page."""
    space = access.space_for(user, space_id)
    rows = TrashBatch.objects.open().filter(space=space).select_related("page", "deleted_by")
    return rows.order_by("-deleted_at", "id")
