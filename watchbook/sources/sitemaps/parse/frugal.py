"""Files to read from while hundreds of others are read too: none of them stays open by itself."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path
from typing import BinaryIO, cast


class Frugal(ABC):
    """Bytes at rest, to be read from their start by anybody and any number of times."""

    def open(self) -> BinaryIO:
        return cast(BinaryIO, _Reader(self))

    @abstractmethod
    def read_at(self, position: int, size: int) -> bytes: ...


@dataclass(frozen=True, slots=True)
class FileOnDemand(Frugal):
    """A file that is open only while it is read from."""

    path: Path

    def read_at(self, position: int, size: int) -> bytes:
        with self.path.open("rb") as file:
            file.seek(position)
            return file.read(size)


@dataclass(frozen=True, slots=True)
class SliceOfFile(Frugal):
    """A piece of a file that somebody else holds open."""

    file: int
    start: int
    end: int

    def read_at(self, position: int, size: int) -> bytes:
        at = self.start + position
        return os.pread(self.file, max(0, min(size, self.end - at)), at)


class _Reader(RawIOBase):
    def __init__(self, source: Frugal) -> None:
        self._source = source
        self._at = 0

    def read(self, size: int = -1, /) -> bytes:
        data = self._source.read_at(self._at, size)
        self._at += len(data)
        return data
