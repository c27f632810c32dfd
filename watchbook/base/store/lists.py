"""Keeping lists of sorted lines: the newest whole, older ones as the difference to their successor.

`put` is called inside the caller's transaction. A large list lies in a blob that its row refers to.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from django.db.models import Q

from watchbook.base import clock
from watchbook.base.store import blobs
from watchbook.base.store.blobs import BlobMissing
from watchbook.base.store.folder import scratch
from watchbook.base.store.models import SortedList

if TYPE_CHECKING:
    import zstandard

IN_ROW_BYTES = 1024 * 1024
KEEP_WHOLE_EVERY = 50
LEVEL = 3
ORPHAN_AGE = timedelta(days=1)
OWNER = "sorted_list"
_CHAIN_COLUMNS = ("pk", "base_id", "packed_sha256", "in_row")


def put(plain: Path, *, sha256: str, line_count: int, successor_of: str | None = None) -> SortedList:
    """Store a file of sorted lines. The one it succeeds shrinks to a difference when that pays."""
    known = SortedList.objects.filter(pk=sha256).first()
    if known is not None:
        return known if is_whole(known) else _repaired(known, plain)
    previous = SortedList.objects.filter(pk=successor_of, base=None).first() if successor_of else None
    generation = (previous.generation + 1) % KEEP_WHOLE_EVERY if previous else 0
    stored = SortedList(
        sha256=sha256,
        line_count=line_count,
        plain_bytes=plain.stat().st_size,
        generation=generation,
        created_at=clock.now(),
    )
    _keep(stored, plain)
    stored.save(force_insert=True)
    if previous is not None and previous.generation != 0 and is_whole(previous):
        _shrink(previous, stored, plain)
    return stored


def is_whole(stored: SortedList) -> bool:
    """Whether the bytes of this list are there; the lists that it is derived from are not checked."""
    return stored.data is not None or (stored.packed_sha256 is not None and blobs.exists(stored.packed_sha256))


def unreadable(digests: Iterable[str]) -> set[str]:
    """Of these lists, those that cannot be read: they, or a list that they are derived from, are lost."""
    lost: set[str] = set()
    # Each list of a chain with the lists that were asked for and need it.
    waiting = {sha256: {sha256} for sha256 in digests}
    while waiting:
        rows = SortedList.objects.filter(pk__in=waiting).annotate(in_row=Q(data__isnull=False))
        found = {pk: (base, packed, in_row) for pk, base, packed, in_row in rows.values_list(*_CHAIN_COLUMNS)}
        following: dict[str, set[str]] = {}
        for sha256, askers in waiting.items():
            base, packed, in_row = found.get(sha256, (None, None, False))
            if not in_row and (packed is None or not blobs.exists(packed)):
                lost |= askers
            elif base is not None:
                following.setdefault(base, set()).update(askers)
        waiting = following
    return lost


def _repaired(lost: SortedList, plain: Path) -> SortedList:
    """Keep the bytes of a list again whose blob was lost."""
    _keep(lost, plain)
    lost.base = None
    lost.save(update_fields=["base", "stored_bytes", "data", "packed_sha256"])
    return lost


def lines(sha256: str) -> Iterator[bytes]:
    """The sorted lines of a list, without their line ends."""
    stored = _get(sha256)
    gone: set[bytes] = set()
    extra: set[bytes] = set()
    chain = []
    while stored.base_id is not None:
        chain.append(stored)
        stored = _get(stored.base_id)
    # From the whole one back in time: each step takes lines away and puts lines in.
    for step in reversed(chain):
        for line in _stored_lines(step):
            mark, text = line[:1], line[1:]
            if mark == b"-":
                extra.discard(text) if text in extra else gone.add(text)
            else:
                gone.discard(text) if text in gone else extra.add(text)
    return _merge((line for line in _stored_lines(stored) if line not in gone), sorted(extra))


def packed(sha256: str, folder: Path) -> Path:
    """The list as a file to open: zstd of a whole one, else plain. What is in a row is written to the folder, because
    a snapshot has hundreds of lists and they are checked together."""
    stored = _get(sha256)
    if stored.base_id is None:
        if stored.data is None:
            return blobs.local_file(_packed_name(stored), folder)
        copy = folder / f"{sha256}.zst"
        copy.write_bytes(stored.data)
        return copy
    plain = folder / f"{sha256}.plain"
    with plain.open("wb") as file:
        for line in lines(sha256):
            file.write(line + b"\n")
    return plain


def sweep(keep: set[str]) -> int:
    """Remove lists that nothing names any more."""
    needed = set(keep)
    for sha256 in keep:
        row = SortedList.objects.filter(pk=sha256).only("base_id").first()
        while row is not None and row.base_id and row.base_id not in needed:
            needed.add(row.base_id)
            row = SortedList.objects.filter(pk=row.base_id).only("base_id").first()
    young = clock.now() - ORPHAN_AGE
    removed = 0
    while True:
        # A base goes only after everything derived from it: from the oldest end of each chain.
        batch = list(
            SortedList.objects.filter(derived=None, created_at__lt=young)
            .exclude(pk__in=needed)
            .values_list("pk", flat=True)[:500]
        )
        if not batch:
            return removed
        removed += SortedList.objects.filter(pk__in=batch).delete()[0]
        blobs.release(OWNER, batch)


def _get(sha256: str) -> SortedList:
    stored = SortedList.objects.filter(pk=sha256).first()
    if stored is None:
        raise BlobMissing(f"List {sha256[:12]} is not in the database.")
    return stored


def _shrink(previous: SortedList, successor: SortedList, successor_plain: Path) -> None:
    """Replace a whole list by the difference to its successor when that is under a quarter of its size."""
    with successor_plain.open("rb") as new:
        steps = _difference(_stored_lines(previous), (line.rstrip(b"\n") for line in new))
        packed = _pack_lines(steps, limit=previous.stored_bytes // 4)
    if packed is None:
        return
    previous.base, previous.stored_bytes = successor, len(packed)
    previous.data, previous.packed_sha256 = packed, None
    previous.save(update_fields=["base", "stored_bytes", "data", "packed_sha256"])
    blobs.release(OWNER, [previous.sha256])


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


def _keep(stored: SortedList, plain: Path) -> None:
    """Compress a plain list into its row, or into a blob if it is large."""
    with scratch("list") as folder:
        packed = folder / "packed"
        with plain.open("rb") as source, packed.open("wb") as target:
            _compressor().copy_stream(source, target)
        stored.stored_bytes = packed.stat().st_size
        if stored.stored_bytes <= IN_ROW_BYTES:
            stored.data, stored.packed_sha256 = packed.read_bytes(), None
            return
        stored.data, stored.packed_sha256 = None, blobs.put(packed).sha256
        blobs.refer(OWNER, stored.sha256, [stored.packed_sha256])


def _stored_lines(stored: SortedList) -> Iterator[bytes]:
    import zstandard  # only where blobs are written or read

    with _stored(stored) as source, zstandard.ZstdDecompressor().stream_reader(source) as reader:
        rest = b""
        while chunk := reader.read(1 << 18):
            whole = (rest + chunk).split(b"\n")
            rest = whole.pop()
            yield from whole
        if rest:
            yield rest


@contextmanager
def _stored(stored: SortedList) -> Iterator[bytes | IO[bytes]]:
    if stored.data is not None:
        yield bytes(stored.data)
        return
    with blobs.opened(_packed_name(stored)) as file:
        yield file


def _packed_name(stored: SortedList) -> str:
    if stored.packed_sha256 is None:
        raise BlobMissing(f"The blob of list {stored.sha256[:12]} is not known.")
    return stored.packed_sha256


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
