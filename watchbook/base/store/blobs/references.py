"""Who uses which blob. Written in the transaction of the owner's own row."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from watchbook.base.store.blobs.errors import BlobMissing
from watchbook.base.store.blobs.writing import touch
from watchbook.base.store.models import Blob, BlobReference

BATCH = 500


@transaction.atomic
def refer(owner_kind: str, owner_id: object, digests: Iterable[str]) -> None:
    """Let this owner use exactly these blobs; those it used before and uses no more are released."""
    wanted = set(digests)
    touch(sorted(wanted))
    known = set(Blob.objects.filter(pk__in=wanted).values_list("pk", flat=True))
    if lost := wanted - known:
        raise BlobMissing(f"Blob {min(lost)[:12]} is not in the database.")
    mine = BlobReference.objects.filter(owner_kind=owner_kind, owner_id=str(owner_id))
    mine.exclude(blob__in=wanted).delete()
    rows = [BlobReference(owner_kind=owner_kind, owner_id=str(owner_id), blob_id=sha256) for sha256 in sorted(wanted)]
    BlobReference.objects.bulk_create(rows, ignore_conflicts=True)


def release(owner_kind: str, owner_ids: Iterable[object]) -> int:
    """Remove all references of these owners. Call it where their rows are deleted."""
    ids = [str(owner_id) for owner_id in owner_ids]
    removed = 0
    for start in range(0, len(ids), BATCH):
        mine = BlobReference.objects.filter(owner_kind=owner_kind, owner_id__in=ids[start : start + BATCH])
        removed += mine.delete()[0]
    return removed
