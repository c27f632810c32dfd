"""Walking many sorted lists side by side with bounded memory and at the speed of the built-in sort."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Protocol

from watchbook.sources.sitemaps.parse.lines import key_of

OPEN_BYTES = 8_000_000


def block_size(lists: int) -> int:
    """Bytes to read at a time when so many lists are open together."""
    return max(16_384, min(262_144, OPEN_BYTES // max(1, lists)))


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def blocks_of(file: Readable, size: int) -> Iterator[list[bytes]]:
    """The lines of a file, many at a time."""
    rest = b""
    while data := file.read(size):
        whole, newline, rest = (rest + data).rpartition(b"\n")
        if newline:
            yield whole.split(b"\n")
    if rest:
        yield [rest]


class _Walk:
    """One sorted list and how far it has been walked."""

    def __init__(self, blocks: Iterator[list[bytes]]) -> None:
        self._blocks = blocks
        self._lines: list[bytes] = []
        self._at = 0
        self.ended = False

    def fill(self) -> None:
        """Have two different pages at hand, so that the last one can wait for its equals in other lists."""
        while not self.ended and not self._has_two():
            block = next(self._blocks, None)
            if block is None:
                self.ended = True
            else:
                self._lines = self._lines[self._at :] + block
                self._at = 0

    def _has_two(self) -> bool:
        return len(self._lines) - self._at > 1 and key_of(self._lines[self._at]) != key_of(self._lines[-1])

    @property
    def last_key(self) -> bytes:
        return key_of(self._lines[-1])

    def take_below(self, key: bytes | None) -> list[bytes]:
        stop = len(self._lines) if key is None else bisect_left(self._lines, key + b"\t", self._at)
        taken = self._lines[self._at : stop]
        self._at = stop
        return taken


def aligned(lists: Iterable[Iterator[list[bytes]]]) -> Iterator[list[list[bytes]]]:
    """Every round gives, per list, all its lines of one range of URLs; the ranges follow each other."""
    walks = [_Walk(blocks) for blocks in lists]
    while True:
        for walk in walks:
            walk.fill()
        pivot = min((walk.last_key for walk in walks if not walk.ended), default=None)
        taken = [walk.take_below(pivot) for walk in walks]
        if any(taken):
            yield taken
        elif pivot is not None:
            raise ValueError("a list is not sorted")
        if pivot is None:
            return


def join_sorted(lists: list[list[bytes]]) -> list[bytes]:
    """One sorted list of several. Sorting joined runs is a merge in C; heapq would ask Python for every line."""
    filled = [lines for lines in lists if lines]
    if len(filled) < 2:
        return filled[0] if filled else []
    joined = [line for lines in filled for line in lines]
    joined.sort()
    return joined
