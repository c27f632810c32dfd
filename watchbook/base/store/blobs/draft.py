"""Bytes on their way into a place: spooled, counted and named by their digest before anything is stored; and what can
go wrong with them, drawn in the docstring of the package.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO, IOBase
from pathlib import Path
from typing import IO, cast
from uuid import uuid4

from django.conf import settings


class BlobError(Exception):
    """The message is one sentence for the operator."""


class BlobMissing(BlobError):
    pass


class BlobDamaged(BlobError):
    pass


class BlobTooLarge(BlobError):
    pass


class PlaceFailed(BlobError):
    pass


CHUNK = 512 * 1024
PREFIX = ".draft-"
Source = bytes | Path | IO[bytes] | Iterable[bytes]


@dataclass(frozen=True)
class Draft:
    sha256: str
    size: int
    # In the folder of the files, so that a rename is enough to keep it.
    path: Path

    def chunks(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            while chunk := file.read(CHUNK):
                yield chunk


def folder() -> Path:
    path = Path(settings.HOME) / "blobs"
    path.mkdir(exist_ok=True, mode=0o700)
    return path


@contextmanager
def drafted(source: Source, limit: int) -> Iterator[Draft]:
    """Write the source to a synced file of its own, which is gone afterwards unless a place took it."""
    path = folder() / f"{PREFIX}{uuid4().hex}"
    digest, size = hashlib.sha256(), 0
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for chunk in _chunks(source):
                size += len(chunk)
                if size > limit:
                    raise BlobTooLarge(f"The content is larger than {limit:,} bytes.")
                digest.update(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        yield Draft(digest.hexdigest(), size, path)
    finally:
        path.unlink(missing_ok=True)


def _chunks(source: Source) -> Iterator[bytes]:
    if isinstance(source, Path):
        with source.open("rb") as file:
            yield from _read(file)
    elif isinstance(source, bytes):
        yield from _read(BytesIO(source))
    elif isinstance(source, IOBase):
        yield from _read(cast(IO[bytes], source))
    else:
        yield from source


def _read(file: IO[bytes]) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk
