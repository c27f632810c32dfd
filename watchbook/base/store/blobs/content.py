"""Putting, referring to and reading blobs.

Putting writes the row first, then the content under its name, both in the caller's transaction. Who uses which blob is
written in the transaction of the owner's own row. A blob is read from the place that its row names; memory stays flat
whatever the size.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO

from django.conf import settings
from django.db import transaction

from watchbook.base import clock
from watchbook.base.store.blobs import places
from watchbook.base.store.blobs.draft import BlobDamaged, BlobMissing, BlobTooLarge, Draft, Source, drafted
from watchbook.base.store.models import Blob, BlobReference

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
    # Waits for another process that puts or deletes the same blob. Afterwards there is one row.
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


def stream(sha256: str) -> Iterator[bytes]:
    """The content in chunks. Raises BlobDamaged at the end if it is not what the digest says."""
    blob = _row(sha256)
    digest = hashlib.sha256()
    if blob.size:
        for chunk in places.named(blob.place).chunks(sha256):
            digest.update(chunk)
            yield chunk
    if digest.hexdigest() != sha256:
        raise BlobDamaged(f"The content of blob {sha256[:12]} is not what was stored.")


def part(sha256: str, start: int, stop: int) -> Iterator[bytes]:
    """The bytes from `start` up to `stop`, not included. A part cannot be compared with the digest."""
    left = stop - start
    for chunk in places.named(_row(sha256).place).chunks(sha256, start):
        yield chunk[:left]
        left -= len(chunk)
        if left <= 0:
            return


@contextmanager
def opened(sha256: str) -> Iterator[IO[bytes]]:
    """The content as a file to read once from the beginning."""
    with io.BufferedReader(_Streamed(stream(sha256)), buffer_size=1 << 18) as file:
        yield file


def read(sha256: str, *, limit: int) -> bytes:
    """The whole content in memory, for what is known to be small."""
    if size(sha256) > limit:
        raise BlobTooLarge(f"Blob {sha256[:12]} is larger than {limit:,} bytes.")
    return b"".join(stream(sha256))


def local_file(sha256: str, folder: Path) -> Path:
    """The content as a file: the stored one where it is one, else a copy in the folder."""
    if _row(sha256).place == places.Files.name and (kept := places.Files.path(sha256)).exists():
        return kept
    copy = folder / sha256
    with copy.open("wb") as file:
        for chunk in stream(sha256):
            file.write(chunk)
    return copy


def size(sha256: str) -> int:
    return _row(sha256).size


def exists(sha256: str) -> bool:
    """Whether row and content are there; the content is measured, not read."""
    blob = Blob.objects.filter(pk=sha256).first()
    return blob is not None and is_whole(blob)


def is_whole(blob: Blob) -> bool:
    return not blob.size or places.named(blob.place).size(blob.sha256) == blob.size


def missing() -> Iterator[Blob]:
    """Blobs that something refers to and whose content is not there, or not in its whole length."""
    referenced = Blob.objects.referenced()
    reachable = [name for name in places.NAMES if name != "s3" or str(settings.BLOBS).startswith("s3:")]
    yield from referenced.exclude(place__in=reachable)
    yield from (blob for blob in referenced.filter(place__in=reachable).iterator(500) if not is_whole(blob))


def _row(sha256: str) -> Blob:
    blob = Blob.objects.filter(pk=sha256).first()
    if blob is None:
        raise BlobMissing(f"Blob {sha256[:12]} is not in the database.")
    return blob


class _Streamed(io.RawIOBase):
    """Chunks as a file."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._rest = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def] # typeshed: WriteableBuffer has no runtime name
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = chunk
        taken = self._rest[: len(buffer)]
        self._rest = self._rest[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)
