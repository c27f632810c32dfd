"""Erases an object from everything that core keeps about it: search, activity and outbox.

Systems call `erase` in the transaction in which they delete or blank their own rows. Backups keep what they hold until
they are deleted; see docs on backups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import transaction

from watchbook.core.notify.outbox.enqueue import erase as erase_deliveries
from watchbook.core.search import index
from watchbook.core.stream.entries import delete_rows
from watchbook.core.stream.models import StreamEntry

BATCH = 500


@dataclass(frozen=True)
class Erased:
    """Numbers of rows that named the objects."""

    documents: int = 0
    entries: int = 0
    deliveries: int = 0


@transaction.atomic
def erase(kind: str, object_ids: Iterable[object]) -> Erased:
    """Remove the search documents, activity entries and delivered words of these objects.

    `kind` is the kind of the search document and the `object_kind` of the activity entries; deliveries are found by the
    objects that their notification names. The job `search.compact`, queued here, then clears the words from internal
    blocks of the search index.
    """
    ids = [str(object_id) for object_id in object_ids]
    documents = index.remove(kind, ids)
    entries = 0
    for start in range(0, len(ids), BATCH):
        entries += delete_rows(StreamEntry.objects.filter(object_kind=kind, object_id__in=ids[start : start + BATCH]))
    return Erased(documents, entries, erase_deliveries(kind, ids))
