"""Keeping lists of sorted lines: the newest whole, older ones as the difference to their successor.

`put` is called inside the caller's transaction; the file of a large blob is written (and synced) before its row, so a
crash leaves at worst a file that no row names, which `sweep` removes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast
from uuid import uuid4

from django.conf import settings
from django.db import transaction

from watchbook.base import clock
from watchbook.base.store.models import Blob

if TYPE_CHECKING:
    import zstandard

IN_ROW_BYTES = 1024 * 1024
KEEP_WHOLE_EVERY = 50
LEVEL = 3
ORPHAN_AGE = timedelta(days=1)


class BlobMissing(Exception):
    """A blob's row or file is gone: the data folder and the database do not belong together."""


def put(plain: Path, *, sha256: str, line_count: int, successor_of: str | None = None) -> Blob:
    """Store a file of sorted lines. The one it succeeds shrinks to a difference when that pays."""
    known = Blob.objects.filter(pk=sha256).first()
    if known is not None:
        return known
    previous = Blob.objects.filter(pk=successor_of, base=None).first() if successor_of else None
    generation = (previous.generation + 1) % KEEP_WHOLE_EVERY if previous else 0
    packed = _pack_file(plain)
    blob = Blob(
        sha256=sha256,
        line_count=line_count,
        plain_bytes=plain.stat().st_size,
        stored_bytes=packed.stat().st_size,
        generation=generation,
        created_at=clock.now(),
    )
    _keep(blob, packed)
    blob.save(force_insert=True)
    if previous is not None and previous.generation != 0:
        _shrink(previous, blob, plain)
    return blob


def lines(sha256: str) -> Iterator[bytes]:
    """The sorted lines of a blob, without their line ends."""
    blob = _get(sha256)
    gone: set[bytes] = set()
    extra: set[bytes] = set()
    chain = []
    while blob.base_id is not None:
        chain.append(blob)
        blob = _get(blob.base_id)
    # From the whole one back in time: each step takes lines away and puts lines in.
    for step in reversed(chain):
        for line in _stored_lines(step):
            mark, text = line[:1], line[1:]
            if mark == b"-":
                extra.discard(text) if text in extra else gone.add(text)
            else:
                gone.discard(text) if text in gone else extra.add(text)
    return _merge((line for line in _stored_lines(blob) if line not in gone), sorted(extra))


def packed(sha256: str, folder: Path) -> Path:
    """The list as a file to open: zstd of a whole one, else plain. What is in a row is written to the folder, because
    a snapshot has hundreds of lists and they are looked at together."""
    blob = _get(sha256)
    if blob.base_id is None:
        if blob.data is None:
            return _file(sha256)
        copy = folder / f"{sha256}.zst"
        copy.write_bytes(blob.data)
        return copy
    plain = folder / f"{sha256}.plain"
    with plain.open("wb") as file:
        for line in lines(sha256):
            file.write(line + b"\n")
    return plain


def sweep(keep: set[str]) -> int:
    """Remove blobs that nothing names any more, and files that no row names."""
    needed = set(keep)
    for sha256 in keep:
        blob = Blob.objects.filter(pk=sha256).only("base_id").first()
        while blob is not None and blob.base_id and blob.base_id not in needed:
            needed.add(blob.base_id)
            blob = Blob.objects.filter(pk=blob.base_id).only("base_id").first()
    young = clock.now() - ORPHAN_AGE
    removed = 0
    while True:
        # A base goes only after everything derived from it: from the oldest end of each chain.
        batch = list(
            Blob.objects.filter(derived=None, created_at__lt=young)
            .exclude(pk__in=needed)
            .values_list("pk", flat=True)[:500]
        )
        if not batch:
            break
        removed += Blob.objects.filter(pk__in=batch).delete()[0]
        for sha256 in batch:
            _file(sha256).unlink(missing_ok=True)
    _sweep_files(young.timestamp())
    return removed


def _sweep_files(young: float) -> None:
    """A crash between writing the file and committing its row leaves a file without one."""
    for folder in _folder().glob("??"):
        old = {file.stem: file for file in folder.glob("*.zst") if file.stat().st_mtime < young}
        known = Blob.objects.filter(pk__startswith=folder.name).values_list("pk", flat=True)
        for sha256 in old.keys() - set(known):
            old[sha256].unlink(missing_ok=True)


def _get(sha256: str) -> Blob:
    blob = Blob.objects.filter(pk=sha256).first()
    if blob is None:
        raise BlobMissing(f"blob {sha256[:12]} is not in the database")
    return blob


def _shrink(previous: Blob, successor: Blob, successor_plain: Path) -> None:
    """Replace a whole blob by the difference to its successor when that is under a quarter of its size."""
    with successor_plain.open("rb") as new:
        steps = _difference(_stored_lines(previous), (line.rstrip(b"\n") for line in new))
        packed = _pack_lines(steps, limit=previous.stored_bytes // 4)
    if packed is None:
        return
    had_file = previous.data is None
    previous.base, previous.stored_bytes, previous.data = successor, len(packed), packed
    previous.save(update_fields=["base", "stored_bytes", "data"])
    if had_file:
        transaction.on_commit(lambda: _file(previous.sha256).unlink(missing_ok=True))


def _difference(old: Iterable[bytes], new: Iterable[bytes]) -> Iterator[bytes]:
    """Marked lines that turn the new list back into the old one. Both are sorted."""
    olds, news = iter(old), iter(new)
    a, b = next(olds, None), next(news, None)
    while a is not None or b is not None:
        if b is None or (a is not None and a < b):
            yield b"+" + cast(bytes, a)
            a = next(olds, None)
        elif a is None or b < a:
            yield b"-" + b
            b = next(news, None)
        else:
            a, b = next(olds, None), next(news, None)


def _merge(first: Iterator[bytes], second: list[bytes]) -> Iterator[bytes]:
    position = 0
    for line in first:
        while position < len(second) and second[position] < line:
            yield second[position]
            position += 1
        yield line
    yield from second[position:]


def _compressor() -> zstandard.ZstdCompressor:
    import zstandard  # only where blobs are written or read

    return zstandard.ZstdCompressor(level=LEVEL)


def _pack_file(plain: Path) -> Path:
    folder = _folder()
    packed = folder / f".draft-{uuid4().hex}"
    with plain.open("rb") as source, packed.open("wb") as target:
        _compressor().copy_stream(source, target)
        target.flush()
        os.fsync(target.fileno())
    return packed


def _pack_lines(steps: Iterable[bytes], limit: int) -> bytes | None:
    """Packed lines, or None as soon as they are not small enough to be worth it."""
    packer = _compressor().compressobj()
    packed = bytearray()
    for step in steps:
        packed += packer.compress(step + b"\n")
        if len(packed) > limit:
            return None
    packed += packer.flush()
    return bytes(packed) if len(packed) <= limit else None


def _keep(blob: Blob, packed: Path) -> None:
    if blob.stored_bytes <= IN_ROW_BYTES:
        blob.data = packed.read_bytes()
        packed.unlink()
        return
    target = _file(blob.sha256)
    target.parent.mkdir(exist_ok=True)
    packed.rename(target)
    _sync_folder(target.parent)


def _stored_lines(blob: Blob) -> Iterator[bytes]:
    import zstandard  # only where blobs are written or read

    with _stored(blob) as source, zstandard.ZstdDecompressor().stream_reader(source) as reader:
        rest = b""
        while chunk := reader.read(1 << 18):
            whole = (rest + chunk).split(b"\n")
            rest = whole.pop()
            yield from whole
        if rest:
            yield rest


@contextmanager
def _stored(blob: Blob) -> Iterator[bytes | IO[bytes]]:
    if blob.data is not None:
        yield bytes(blob.data)
        return
    try:
        file = _file(blob.sha256).open("rb")
    except FileNotFoundError:
        raise BlobMissing(f"the file of blob {blob.sha256[:12]} is gone from the data folder") from None
    with file:
        yield file


def _folder() -> Path:
    folder = Path(settings.HOME) / "blobs"
    folder.mkdir(exist_ok=True, mode=0o700)
    return folder


def _file(sha256: str) -> Path:
    return _folder() / sha256[:2] / f"{sha256}.zst"


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    with suppress(OSError):
        os.fsync(handle)
    os.close(handle)


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
