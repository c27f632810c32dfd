"""Canonical lists at rest: one page per line, sorted, each page once; written with bounded memory."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from io import SEEK_END, BufferedReader, BytesIO
from pathlib import Path
from shutil import copyfileobj
from typing import IO, BinaryIO, cast

from watchbook.sources.sitemaps.parse.frugal import FileOnDemand, Frugal, SliceOfFile
from watchbook.sources.sitemaps.parse.lines import read_line, unique
from watchbook.sources.sitemaps.parse.merge import aligned, block_size, blocks_of, join_sorted
from watchbook.sources.sitemaps.parse.records import UrlRecord

RUN_BYTES = 24_000_000
_FEW = 8
_LINES_PER_WRITE = 10_000
_ZSTD = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class PartList:
    """The pages of one part: a file or bytes, plain or zstd. Lists with one sha256 are the same list."""

    name: str
    sha256: str
    count: int
    source: Path | bytes | Frugal
    news: bool = False

    def open(self) -> BinaryIO:
        if isinstance(self.source, Frugal):
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
        """The lines in order, many at a time."""
        with self.open() as file:
            yield from blocks_of(file, size)

    def records(self) -> Iterator[UrlRecord]:
        for block in self.blocks():
            yield from map(read_line, block)


@contextmanager
def opened(parts: Sequence[PartList]) -> Iterator[list[Iterator[list[bytes]]]]:
    """Many lists open side by side, without as many files or unpackers: each of those holds megabytes."""
    size = block_size(len(parts))
    if len(parts) <= _FEW:
        yield [part.blocks(size) for part in parts]
        return
    with tempfile.TemporaryFile() as spool:
        yield [replace(part, source=_frugal(part, spool)).blocks(size) for part in parts]


def _frugal(part: PartList, spool: IO[bytes]) -> Path | bytes | Frugal:
    if isinstance(part.source, bytes) and not part.source.startswith(_ZSTD):
        return part.source
    with part.open() as file:
        if isinstance(part.source, Path) and isinstance(file, BufferedReader):
            return FileOnDemand(part.source)
        start = spool.seek(0, SEEK_END)
        copyfileobj(file, spool, 262_144)
        spool.flush()
        return SliceOfFile(spool.fileno(), start, spool.tell())


class ListWriter:
    """Takes lines in any order and writes the canonical list; sorts in runs on disk when there are many."""

    def __init__(self, output: Path | None = None) -> None:
        self._output = output
        self._lines: list[bytes] = []
        self._bytes = 0
        self._urls: set[bytes] | None = set()
        self._runs: list[IO[bytes]] = []
        self._files = ExitStack()
        self.taken = 0

    def add(self, lines: list[bytes], urls: list[bytes] | None = None) -> None:
        """`urls` are those of the lines, where they are at hand: without twins among them nobody has to look again."""
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
        """Write the list to the output, or keep it in memory when there is none."""
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
