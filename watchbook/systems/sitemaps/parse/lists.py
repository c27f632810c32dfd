"""Canonical lists of URLs: one URL per line, sorted and unique, read and merged with bounded memory.

A line is URL, lastmod, changefreq and priority, separated by tabs.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from io import SEEK_END, BufferedReader, BytesIO, RawIOBase
from itertools import islice
from operator import eq
from pathlib import Path
from shutil import copyfileobj
from typing import IO, BinaryIO, Protocol, cast

from watchbook.systems.sitemaps.parse.lastmod import read_lastmod
from watchbook.systems.sitemaps.parse.records import UrlRecord

_ESCAPES = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_PLAIN = {written: plain for plain, written in _ESCAPES.items()}
_TO_ESCAPE = re.compile(r"[\\\t\n\r]")
_ESCAPED = re.compile(r"\\[\\tnr]")


def write_line(url: str, lastmod: str = "", changefreq: str = "", priority: str = "") -> bytes:
    line = f"{url}\t{lastmod}\t{changefreq}\t{priority}"
    if "\\" in line or "\n" in line or "\r" in line or line.count("\t") != 3:
        fields = (url, lastmod, changefreq, priority)
        line = "\t".join(_TO_ESCAPE.sub(lambda m: _ESCAPES[m[0]], field) for field in fields)
    return line.encode()


def key_for(url: str) -> bytes:
    """The URL as a line has it: what lists are sorted by."""
    return _TO_ESCAPE.sub(lambda m: _ESCAPES[m[0]], url).encode()


def read_line(line: bytes) -> UrlRecord:
    fields = line.decode().split("\t")
    if b"\\" in line:
        fields = [_ESCAPED.sub(lambda m: _PLAIN[m[0]], field) for field in fields]
    return UrlRecord(*fields)


def key_of(line: bytes) -> bytes:
    return line.partition(b"\t")[0]


def best_of(lines: list[bytes]) -> bytes:
    """Which of several lines for one page counts: the newest lastmod, wherever it stood in whichever file."""
    return max(lines, key=_rank)


def _rank(line: bytes) -> tuple[bool, int, bytes]:
    moment = read_lastmod(read_line(line).lastmod)
    return moment is not None, moment.nanoseconds if moment else 0, line


def unique(lines: list[bytes]) -> list[bytes]:
    """Return sorted lines with each URL once."""
    keys = [line.partition(b"\t")[0] for line in lines]
    like_next = [*map(eq, keys, islice(keys, 1, None)), False]
    if True not in like_next:
        return lines
    kept: list[bytes] = []
    at = 0
    for first in [place for place, twin in enumerate(like_next) if twin and not (place and like_next[place - 1])]:
        last = like_next.index(False, first)
        kept += lines[at:first]
        kept.append(best_of(lines[first : last + 1]))
        at = last + 1
    return kept + lines[at:]


class ByteSource(ABC):
    """Bytes that can be read from the start any number of times."""

    def open(self) -> BinaryIO:
        return cast(BinaryIO, _Reader(self))

    @abstractmethod
    def read_at(self, position: int, size: int) -> bytes: ...


@dataclass(frozen=True, slots=True)
class FileOnDemand(ByteSource):
    """A file that is open only while it is read."""

    path: Path

    def read_at(self, position: int, size: int) -> bytes:
        with self.path.open("rb") as file:
            file.seek(position)
            return file.read(size)


@dataclass(frozen=True, slots=True)
class FileSlice(ByteSource):
    """A slice of an open file."""

    file: int
    start: int
    end: int

    def read_at(self, position: int, size: int) -> bytes:
        at = self.start + position
        return os.pread(self.file, max(0, min(size, self.end - at)), at)


class _Reader(RawIOBase):
    def __init__(self, source: ByteSource) -> None:
        self._source = source
        self._at = 0

    def read(self, size: int = -1, /) -> bytes:
        data = self._source.read_at(self._at, size)
        self._at += len(data)
        return data


OPEN_BYTES = 2_000_000


def block_size(lists: int) -> int:
    """Return the bytes to read at a time when this many lists are open."""
    return max(8_192, min(262_144, OPEN_BYTES // max(1, lists)))


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def blocks_of(file: Readable, size: int) -> Iterator[list[bytes]]:
    """Yield the lines of a file in blocks."""
    rest = b""
    while data := file.read(size):
        whole, newline, rest = (rest + data).rpartition(b"\n")
        if newline:
            yield whole.split(b"\n")
    if rest:
        yield [rest]


class _Walk:
    """One sorted list and the position in it."""

    def __init__(self, blocks: Iterator[list[bytes]]) -> None:
        self._blocks = blocks
        self._lines: list[bytes] = []
        self._at = 0
        self._ended = False
        self.first: bytes | None = None
        """The next page, None at the end."""
        self.last: bytes | None = None
        """The last page at hand, which may stand in the next block too; None when no block is left."""
        self.fill()

    def fill(self) -> None:
        """Load two different URLs, so that the last one can wait for equal ones in other lists."""
        while not self._ended and not self._has_two():
            block = next(self._blocks, None)
            if block is None:
                self._ended = True
            else:
                self._lines = self._lines[self._at :] + block
                self._at = 0
        self.first = key_of(self._lines[self._at]) if self._at < len(self._lines) else None
        self.last = None if self._ended else key_of(self._lines[-1])

    def _has_two(self) -> bool:
        return len(self._lines) - self._at > 1 and key_of(self._lines[self._at]) != key_of(self._lines[-1])

    def take_below(self, key: bytes | None) -> list[bytes]:
        stop = len(self._lines) if key is None else bisect_left(self._lines, key + b"\t", self._at)
        taken = self._lines[self._at : stop]
        self._at = stop
        self.fill()
        return taken


def aligned(lists: Iterable[Iterator[list[bytes]]]) -> Iterator[dict[int, list[bytes]]]:
    """Yield, per range of URLs, the lines of every list in that range; ranges follow each other.

    A round touches only lists that have something in its range: there may be thousands.
    """
    walks = [_Walk(blocks) for blocks in lists]
    firsts = [(walk.first, number) for number, walk in enumerate(walks) if walk.first is not None]
    lasts = [(walk.last, number) for number, walk in enumerate(walks) if walk.last is not None]
    heapify(firsts)
    heapify(lasts)
    while firsts:
        pivot = lasts[0][0] if lasts else None
        taken: dict[int, list[bytes]] = {}
        while firsts and (pivot is None or firsts[0][0] < pivot):
            number = heappop(firsts)[1]
            taken[number] = walks[number].take_below(pivot)
        if not all(taken.values()) or not taken:
            raise ValueError("a list is not sorted")
        yield taken
        for number in taken:
            if (first := walks[number].first) is not None:
                heappush(firsts, (first, number))
        # Only a list that was read on has a new last page.
        while lasts and walks[lasts[0][1]].last != lasts[0][0]:
            number = heappop(lasts)[1]
            if (last := walks[number].last) is not None:
                heappush(lasts, (last, number))


def join_sorted(lists: Iterable[list[bytes]]) -> list[bytes]:
    """Merge sorted lists. Sorting joined runs is a merge in C; heapq would call Python per line."""
    filled = [lines for lines in lists if lines]
    if len(filled) < 2:
        return filled[0] if filled else []
    joined = [line for lines in filled for line in lines]
    joined.sort()
    return joined


RUN_BYTES = 24_000_000
_FEW = 8
_LINES_PER_WRITE = 10_000
_ZSTD = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class PartList:
    """The URLs of one file, in a file or bytes, plain or zstd. Equal sha256 means equal lists."""

    name: str
    sha256: str
    count: int
    source: Path | bytes | ByteSource
    news: bool = False

    def open(self) -> BinaryIO:
        if isinstance(self.source, ByteSource):
            return self.source.open()
        raw: BinaryIO = BytesIO(self.source) if isinstance(self.source, bytes) else self.source.open("rb")
        magic = raw.read(4)
        raw.seek(0)
        if magic != _ZSTD:
            return raw
        # Loaded late: plain lists and the start of the program do not need it.
        import zstandard

        reader = zstandard.ZstdDecompressor().stream_reader(raw, closefd=True, read_across_frames=True)
        return cast(BinaryIO, reader)

    def blocks(self, size: int = 262_144) -> Iterator[list[bytes]]:
        """Yield the lines in order, in blocks."""
        with self.open() as file:
            yield from blocks_of(file, size)

    def records(self) -> Iterator[UrlRecord]:
        for block in self.blocks():
            yield from map(read_line, block)


@contextmanager
def opened(parts: Sequence[PartList]) -> Iterator[list[Iterator[list[bytes]]]]:
    """Open many lists together without holding as many files or decompressors."""
    size = block_size(len(parts))
    if len(parts) <= _FEW:
        yield [part.blocks(size) for part in parts]
        return
    with tempfile.TemporaryFile() as spool:
        yield [replace(part, source=_spooled(part, spool)).blocks(size) for part in parts]


def _spooled(part: PartList, spool: IO[bytes]) -> Path | bytes | ByteSource:
    if isinstance(part.source, bytes) and not part.source.startswith(_ZSTD):
        return part.source
    with part.open() as file:
        if isinstance(part.source, Path) and isinstance(file, BufferedReader):
            return FileOnDemand(part.source)
        start = spool.seek(0, SEEK_END)
        copyfileobj(file, spool, 262_144)
        spool.flush()
        return FileSlice(spool.fileno(), start, spool.tell())


class ListWriter:
    """Takes lines in any order and writes the canonical list; large lists are sorted on disk."""

    def __init__(self, output: Path | None = None) -> None:
        self._output = output
        self._lines: list[bytes] = []
        self._bytes = 0
        self._urls: set[bytes] | None = set()
        self._runs: list[IO[bytes]] = []
        self._files = ExitStack()
        self.taken = 0

    def add(self, lines: list[bytes], urls: list[bytes] | None = None) -> None:
        """Add lines. If their `urls` are given and unique, duplicates need not be searched."""
        if self._urls is not None and urls is not None:
            self._urls.update(urls)
        else:
            self._urls = None
        self._lines += lines
        self._bytes += sum(map(len, lines))
        self.taken += len(lines)
        if self._bytes > RUN_BYTES:
            self._spill()

    def finish(self, name: str, *, news: bool = False) -> PartList:
        """Write the list to the output, or keep it in memory if there is none."""
        digest, count = hashlib.sha256(), 0
        with self._files, ExitStack() as stack:
            target: BinaryIO = self._output.open("wb") if self._output else BytesIO()
            file = stack.enter_context(target)
            for batch in self._batches():
                count += len(batch)
                for data in _in_pieces(batch):
                    digest.update(data)
                    file.write(data)
            source = self._output or cast(BytesIO, target).getvalue()
        return PartList(name, digest.hexdigest(), count, source, news)

    def discard(self) -> None:
        self._lines = []
        self._files.close()

    def _spill(self) -> None:
        folder = self._output.parent if self._output else None
        run = self._files.enter_context(tempfile.TemporaryFile(dir=folder))  # noqa: SIM115 - closed with the others
        self._lines.sort()
        run.writelines(_in_pieces(self._lines))
        run.seek(0)
        self._runs.append(run)
        self._lines, self._bytes, self._urls = [], 0, None

    def _batches(self) -> Iterator[list[bytes]]:
        self._lines.sort()
        if not self._runs:
            has_twins = self._urls is None or len(self._urls) < len(self._lines)
            yield unique(self._lines) if has_twins else self._lines
            return
        size = block_size(len(self._runs))
        lists = [*(blocks_of(run, size) for run in self._runs), iter([self._lines] if self._lines else [])]
        for round_ in aligned(lists):
            yield unique(join_sorted(round_.values()))


def _in_pieces(lines: list[bytes]) -> Iterator[bytes]:
    for start in range(0, len(lines), _LINES_PER_WRITE):
        yield b"\n".join(lines[start : start + _LINES_PER_WRITE]) + b"\n"
