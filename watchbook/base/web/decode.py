"""Bounded decompression of Content-Encoding: gzip and deflate, at most two layers, never more than a piece at a time.

A kilobyte can unpack to gigabytes, so no layer ever hands out more than PIECE bytes at once; whoever reads the pieces
stops when there are too many.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from watchbook.base.web.errors import BadAnswer

PIECE = 64 * 1024
MAX_LAYERS = 2
MAX_MEMBERS = 1000  # a gzip file may be many in a row; an empty one costs 20 bytes and some work
MAX_TRAILER = 1024 * 1024
ACCEPT_ENCODING = "gzip, deflate"


def encodings(header: str) -> list[str]:
    """Layers in the order in which they were put on; raises BadAnswer for one that was not asked for."""
    names = [name.strip().lower() for name in header[:1000].split(",") if name.strip()]
    names = [name.removeprefix("x-") for name in names if name != "identity"]
    if len(names) > MAX_LAYERS or not set(names) <= {"gzip", "deflate"}:
        raise BadAnswer(f"Content-Encoding {', '.join(names)[:80]}", code="bad_encoding")
    return names


def decoded(pieces: Iterable[bytes], layers: list[str]) -> Iterator[bytes]:
    """The pieces with every layer peeled off. A stream cut short raises BadAnswer at its end."""
    if layers:
        pieces = _bites(pieces)
    for layer in reversed(layers):
        pieces = _gunzip(pieces) if layer == "gzip" else _inflate(pieces)
    return iter(pieces)


def _bites(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """What is not unpacked yet is copied at every step, so a step must not leave much of it."""
    for piece in pieces:
        for start in range(0, len(piece), PIECE):
            yield piece[start : start + PIECE]


def _gunzip(pieces: Iterable[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(31)
    members = 1
    is_fresh = True
    for piece in pieces:
        while piece:
            if unpacker.eof:
                # Padding and text after the last member are common and harmless: its checksum was right.
                if not piece.startswith(b"\x1f"):
                    _pass_over(pieces)
                    return
                unpacker, members = zlib.decompressobj(31), members + 1
                if members > MAX_MEMBERS:
                    raise BadAnswer("too many gzip members", code="bad_encoding")
            is_fresh = False
            yield from _unpack(unpacker, piece)
            piece = unpacker.unused_data
    if not is_fresh and not unpacker.eof:
        raise BadAnswer("gzip cut short", code="bad_encoding")


def _inflate(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Servers mean either of two formats by "deflate"; the first two bytes tell which."""
    unpacker = None
    start = b""
    for piece in pieces:
        if unpacker is None:
            start += piece
            if len(start) < 2:
                continue
            is_zlib = start[0] & 0x0F == 8 and int.from_bytes(start[:2], "big") % 31 == 0
            unpacker, piece = zlib.decompressobj(15 if is_zlib else -15), start
        if not unpacker.eof:
            yield from _unpack(unpacker, piece)
    if start and (unpacker is None or not unpacker.eof):
        raise BadAnswer("deflate cut short", code="bad_encoding")


def _unpack(unpacker: zlib._Decompress, piece: bytes) -> Iterator[bytes]:
    try:
        while piece:
            data = unpacker.decompress(piece, PIECE)
            if data:
                yield data
            piece = unpacker.unconsumed_tail
        while not unpacker.eof and (data := unpacker.decompress(b"", PIECE)):
            yield data
    except zlib.error as error:
        raise BadAnswer(f"compression: {error}", code="bad_encoding") from None


def _pass_over(pieces: Iterable[bytes]) -> None:
    """Read to the end, so that the length is checked and the connection can be used again."""
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_TRAILER:
            raise BadAnswer("too much after the gzip stream", code="bad_encoding")
