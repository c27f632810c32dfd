"""The lock of a tree: its space's row. Every structural write takes it first, then reads, checks and writes.

Without it two people who move A under B's child and B under A's child at the same time make a ring (measured: 30 of
30 tries on PostgreSQL, row locks on the two pages do not help). Two spaces are taken in the order of their ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from django.db import transaction
from django.db.models import F

from watchbook.library.errors import NotFound
from watchbook.library.models import Page, Space
from watchbook.library.store.guard import check_channel, check_in_use

STATES = ("deleted_at", "archived_at", "workspace__deleted_at", "workspace__archived_at")


@contextmanager
def writing(*space_ids: UUID, structural: bool = True) -> Iterator[None]:
    """A transaction that holds the trees of these spaces and may write them on this release channel."""
    with transaction.atomic():
        take(*space_ids, structural=structural)
        yield


def take(*space_ids: UUID, structural: bool = True, in_use: bool = True) -> None:
    """Lock, check the channel, count the change. For callers that have a transaction already.

    Without `in_use` also a space that is archived or in the trash: for removing what was removed for people before.
    """
    wanted = sorted(set(space_ids))
    # Not the key: rows that point to the space may be added meanwhile.
    rows = list(
        Space.objects.select_for_update(no_key=_can_skip_key()).filter(pk__in=wanted).order_by("pk").only("workspace")
    )
    if len(rows) != len(wanted):
        raise NotFound
    check_channel(row.workspace_id for row in rows)
    if in_use:
        check_in_use(Space.objects.filter(pk__in=wanted).values_list(*STATES))
    if structural:
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
