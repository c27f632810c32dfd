"""Gzip by its magic bytes, never by a name or a header: at most two layers, streamed, with a cap on what comes out."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import BinaryIO

from watchbook.sources.sitemaps.parse.errors import Dangerous
from watchbook.sources.sitemaps.parse.notes import Notes
from watchbook.sources.sitemaps.parse.records import Limits

CHUNK = 1 << 16
_SIP = 1 << 12
"""Compressed bytes taken at a time: when one call meets damage, what it had unpacked is lost."""
_MAGIC = b"\x1f\x8b"


class Decoded:
    """The bytes inside a file, however it is packed. `size` is how many were given out."""

    def __init__(self, file: BinaryIO, limits: Limits, notes: Notes) -> None:
        self._file = file
        self._limits = limits
        self._notes = notes
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        chunks = iter(lambda: self._file.read(CHUNK), b"")
        for chunk in _joined(self._capped(self._peel(chunks))):
            self.size += len(chunk)
            yield chunk

    def _peel(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for layer in range(self._limits.gzip_layers + 1):
            head = _first_bytes(chunks, len(_MAGIC))
            chunks = chain([head], chunks) if head else chunks
            if not head.startswith(_MAGIC):
                if layer > 1:
                    self._notes.once("double_gzip")
                break
            if layer == self._limits.gzip_layers:
                raise Dangerous("too_many_layers", "The file is compressed again and again.")
            chunks = self._capped(_inflate(chunks, self._notes))
        return chunks

    def _capped(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        left = self._limits.decoded_bytes
        for chunk in chunks:
            if len(chunk) > left:
                self._notes.once("decoded_cap", self._limits.decoded_bytes)
                if left:
                    yield chunk[:left]
                return
            left -= len(chunk)
            yield chunk


def _first_bytes(chunks: Iterator[bytes], count: int) -> bytes:
    head = b""
    while len(head) < count and (chunk := next(chunks, b"")):
        head += chunk
    return head


def _joined(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Small chunks joined to larger ones, which are cheaper to read."""
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= CHUNK // 2:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _inflate(chunks: Iterable[bytes], notes: Notes) -> Iterator[bytes]:
    """Unpack gzip members one after the other; what follows the last one is only noted."""
    source = (chunk[at : at + _SIP] for chunk in chunks for at in range(0, len(chunk), _SIP))
    data = _first_bytes(source, len(_MAGIC))
    while data.startswith(_MAGIC):
        member = zlib.decompressobj(wbits=31)
        try:
            yield from _unpack(member, data, source)
        except zlib.error:
            notes.once("corrupt_gzip")
            return
        if not member.eof:
            notes.once("truncated_gzip")
            return
        data = _after(member.unused_data, source)
    if data:
        notes.once("trailing_bytes_after_gzip")


def _unpack(member: zlib._Decompress, data: bytes, source: Iterator[bytes]) -> Iterator[bytes]:
    while not member.eof:
        if not data and not (data := next(source, b"")):
            return
        piece = member.decompress(data, CHUNK)
        data = member.unconsumed_tail
        if piece:
            yield piece


def _after(data: bytes, source: Iterator[bytes]) -> bytes:
    """What follows a member; padding with zeros, as tapes have it, says nothing."""
    while not data.strip(b"\0") and (more := next(source, b"")):
        data = more
    data = data.lstrip(b"\0")
    return data + _first_bytes(source, len(_MAGIC)) if 0 < len(data) < len(_MAGIC) else data
