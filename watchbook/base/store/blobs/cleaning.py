"""Deleting blobs that nothing refers to, and content that no row names."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import transaction

from watchbook.base import clock
from watchbook.base.store.blobs import draft, places
from watchbook.base.store.models import Blob

# Longer than any transaction that puts a blob and then refers to it.
GRACE = timedelta(days=1)
BATCH = 200


@dataclass
class Cleaned:
    blobs: int = 0
    bytes: int = 0
    # Content that no row named: a killed process left it.
    orphans: int = 0
    drafts: int = 0


def clean(beat: Callable[[], None] = lambda: None) -> Cleaned:
    """Delete what nothing has referred to for the grace time. Call it outside a transaction."""
    done = Cleaned(drafts=_remove_drafts())
    before = clock.now() - GRACE
    for place in _places():
        done.orphans += _adopt_orphans(place, before)
    while batch := list(Blob.objects.unreferenced().filter(put_at__lt=before)[:BATCH]):
        removed = [blob for blob in batch if _remove(blob.sha256, before)]
        done.blobs += len(removed)
        done.bytes += sum(blob.size for blob in removed)
        beat()
        if not removed:
            break  # all of them were put or referenced in between
    return done


@transaction.atomic
def _remove(sha256: str, before: datetime) -> bool:
    """Delete one blob. The lock on its row keeps `put` waiting until the content is gone, too."""
    blob = Blob.objects.unreferenced().select_for_update().filter(pk=sha256, put_at__lt=before).first()
    if blob is None:
        return False
    Blob.objects.filter(pk=sha256).delete()
    for place in _places():
        place.remove(sha256)
    return True


def _adopt_orphans(place: places.Place, before: datetime) -> int:
    """Give content without a row a row of its own, so that it is deleted like any unreferenced blob."""
    orphans = [
        Blob(sha256=sha256, size=size, place=place.name, put_at=datetime.fromtimestamp(changed, UTC))
        for sha256, size, changed in place.contents()
        if changed < before.timestamp()
    ]
    adopted = 0
    for start in range(0, len(orphans), BATCH):
        batch = orphans[start : start + BATCH]
        known = set(Blob.objects.filter(pk__in=[blob.sha256 for blob in batch]).values_list("pk", flat=True))
        fresh = [blob for blob in batch if blob.sha256 not in known]
        Blob.objects.bulk_create(fresh, ignore_conflicts=True)
        adopted += len(fresh)
    return adopted


def _remove_drafts() -> int:
    """Remove files that are no blobs: drafts of killed processes, and the names that lists had before blobs."""
    removed = 0
    for path in (*draft.folder().glob(f"{draft.PREFIX}*"), *draft.folder().glob("??/*.zst")):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < time.time() - GRACE.total_seconds():
                path.unlink()
                removed += 1
    return removed


def _places() -> list[places.Place]:
    """Every place that can be used here: the setting may have changed since a blob was put."""
    names = ["files", "database", *(["s3"] if str(settings.BLOBS).startswith("s3:") else [])]
    return [places.named(name) for name in names]
