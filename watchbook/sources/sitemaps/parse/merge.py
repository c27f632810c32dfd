"""Walking many sorted lists side by side with bounded memory and at the speed of the built-in sort."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Protocol

from watchbook.sources.sitemaps.parse.lines import key_of

OPEN_BYTES = 2_000_000


def block_size(lists: int) -> int:
    """Bytes to read at a time when so many lists are open together."""
    return max(8_192, min(262_144, OPEN_BYTES // max(1, lists)))


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
        self._ended = False
        self.first: bytes | None = None
        """The next page, None at the end."""
        self.last: bytes | None = None
        """The last page at hand, which may stand in the next block too; None when no block is left."""
        self.fill()

    def fill(self) -> None:
        """Have two different pages at hand, so that the last one can wait for its equals in other lists."""
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
    """Every round gives, by the number of the list, all lines of one range of URLs; the ranges follow each other.

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
    """One sorted list of several. Sorting joined runs is a merge in C; heapq would ask Python for every line."""
    filled = [lines for lines in lists if lines]
    if len(filled) < 2:
        return filled[0] if filled else []
    joined = [line for lines in filled for line in lines]
    joined.sort()
    return joined
