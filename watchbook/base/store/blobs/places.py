"""Where the content of blobs is kept: files of the data folder, or rows of the database. Object storage is in `s3`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from django.conf import settings
from django.db.models import Sum
from django.db.models.functions import Length

from watchbook.base.store.blobs import draft as drafts
from watchbook.base.store.blobs.draft import CHUNK, BlobMissing, Draft
from watchbook.base.store.models import BlobChunk
from watchbook.base.work import crash_point

NAMES = ("files", "database", "s3")


class Place(Protocol):
    """The content of blobs by digest. Every method may be called twice with the same result."""

    name: str

    def store(self, draft: Draft) -> None:
        """Keep the content: whole and synced, or not at all."""

    def size(self, sha256: str) -> int | None:
        """Number of bytes that are there; None: no content."""

    def chunks(self, sha256: str, start: int = 0) -> Iterator[bytes]:
        """The content in order from this byte on. Raises BlobMissing before the first chunk."""

    def remove(self, sha256: str) -> None:
        """Remove the content if it is there."""

    def contents(self) -> Iterator[tuple[str, int, float]]:
        """Digest, size and time of change of all content that can be there without a row."""


class Files:
    """One file per blob in the data folder."""

    name = "files"

    def store(self, draft: Draft) -> None:
        target = self.path(draft.sha256)
        target.parent.mkdir(exist_ok=True, mode=0o700)
        crash_point("blobs.drafted")
        draft.path.rename(target)
        _sync_folder(target.parent)
        crash_point("blobs.named")

    def size(self, sha256: str) -> int | None:
        try:
            return self.path(sha256).stat().st_size
        except FileNotFoundError:
            return None

    def chunks(self, sha256: str, start: int = 0) -> Iterator[bytes]:
        try:
            file = self.path(sha256).open("rb")
        except FileNotFoundError:
            raise BlobMissing(f"The file of blob {sha256[:12]} is missing in {drafts.folder()}.") from None
        with file:
            file.seek(start)
            while chunk := file.read(CHUNK):
                yield chunk

    def remove(self, sha256: str) -> None:
        self.path(sha256).unlink(missing_ok=True)

    def contents(self) -> Iterator[tuple[str, int, float]]:
        for shelf in sorted(drafts.folder().glob("[0-9a-f][0-9a-f]")):
            for file in shelf.iterdir():
                if len(file.name) == 64:
                    with suppress(FileNotFoundError):
                        facts = file.stat()
                        yield file.name, facts.st_size, facts.st_mtime

    @staticmethod
    def path(sha256: str) -> Path:
        return drafts.folder() / sha256[:2] / sha256


class Database:
    """Chunks in rows: for processes on several hosts, which share nothing but the database."""

    name = "database"

    def store(self, draft: Draft) -> None:
        BlobChunk.objects.filter(blob_id=draft.sha256).delete()  # of another length after a change of CHUNK
        for position, data in enumerate(draft.chunks()):
            BlobChunk.objects.bulk_create(
                [BlobChunk(blob_id=draft.sha256, position=position, data=data)], ignore_conflicts=True
            )
            crash_point("blobs.chunk")

    def size(self, sha256: str) -> int | None:
        found = BlobChunk.objects.filter(blob_id=sha256).aggregate(size=Sum(Length("data")))["size"]
        return None if found is None else int(found)

    def chunks(self, sha256: str, start: int = 0) -> Iterator[bytes]:
        # All chunks but the last have the length of the first, whatever CHUNK was when they were stored.
        first = BlobChunk.objects.filter(blob_id=sha256, position=0).values_list(Length("data"), flat=True).first()
        position, skip = divmod(start, first) if first and start else (0, 0)
        begun = position
        while data := self._chunk(sha256, position):
            yield data[skip:]
            skip, position = 0, position + 1
        if position == begun:
            raise BlobMissing(f"The rows of blob {sha256[:12]} are missing in the database.")

    @staticmethod
    def _chunk(sha256: str, position: int) -> bytes:
        # One query per chunk: not every driver can leave the rest of an answer at the server.
        data = BlobChunk.objects.filter(blob_id=sha256, position=position).values_list("data", flat=True).first()
        return b"" if data is None else bytes(data)

    def remove(self, sha256: str) -> None:
        BlobChunk.objects.filter(blob_id=sha256).delete()

    def contents(self) -> Iterator[tuple[str, int, float]]:
        return iter(())  # chunks cannot exist without their row


def current() -> Place:
    """The place for new blobs."""
    return named(str(settings.BLOBS).partition(":")[0])


def named(name: str) -> Place:
    if name == "s3":
        from watchbook.base.store.blobs.s3 import ObjectStorage  # only where it is set

        return ObjectStorage()
    return Database() if name == "database" else Files()


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    with suppress(OSError):
        os.fsync(handle)
    os.close(handle)
