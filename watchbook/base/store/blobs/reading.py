"""Reading blobs, from the place that the row names; memory stays flat whatever the size."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from django.conf import settings

from watchbook.base.store.blobs import places
from watchbook.base.store.blobs.errors import BlobDamaged, BlobMissing, BlobTooLarge
from watchbook.base.store.models import Blob


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
    """The whole content at once, for what is known to be small."""
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
