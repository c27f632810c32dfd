"""Putting blobs: the row first, then the content under its name, both in the caller's transaction."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction

from watchbook.base import clock
from watchbook.base.store.blobs import places
from watchbook.base.store.blobs.draft import Draft, Source, drafted
from watchbook.base.store.models import Blob

LARGEST = 2**30
# A blob that was put within this time is safe from `clean`; its row need not be locked to say so again.
FRESH = timedelta(hours=1)


def put(source: Source, *, limit: int = LARGEST) -> Blob:
    """Store bytes under their digest. Bytes that are there already are stored no second time."""
    with drafted(source, limit) as draft, transaction.atomic():
        return _keep(draft)


def _keep(draft: Draft) -> Blob:
    touch([draft.sha256])
    place = places.current()
    row = Blob(sha256=draft.sha256, size=draft.size, place=place.name, put_at=clock.now())
    # Waits for another process that puts or deletes the same blob: afterwards one row is there, whoever wrote it.
    Blob.objects.bulk_create([row], ignore_conflicts=True)
    blob = Blob.objects.get(pk=draft.sha256)
    if draft.size and places.named(blob.place).size(blob.sha256) != blob.size:
        place.store(draft)
        blob.place = place.name
        blob.save(update_fields=["place"])
    return blob


def touch(digests: list[str]) -> None:
    """Protect blobs from `clean` for the grace time."""
    now = clock.now()
    Blob.objects.filter(pk__in=digests, put_at__lt=now - FRESH).update(put_at=now)
