"""Time and byte limits of one request, and reading response bodies within them: decompression, memory or file, text.

A kilobyte can decompress to gigabytes, so no layer yields more than PIECE bytes at a time, and readers stop at their
limit with TooLarge.

The connection pool has no such limits, so they travel beside it in a context variable: the checked stream calls
`current_transfer()` at every read and write.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from watchbook.base import work
from watchbook.base.web.errors import BadAnswer, TimedOut, TooLarge

STALL_SECONDS = 30.0  # a connection without a byte for so long ends, whatever the deadline
MAX_HEAD_BYTES = 256 * 1024  # interim responses (100, 103) included
# Every read of a body passes the protocol reader once: with 64 kB at a time a large file costs twice the CPU.
BODY_READ_BYTES = 512 * 1024


class Deadline:
    """The end of a request on the monotonic clock: it covers everything from the name lookup to the last byte."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left, always above zero; raise TimedOut otherwise."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimedOut("total deadline")
        return left

    def extend(self, seconds: float) -> None:
        self._ends += seconds


class Transfer:
    """One request on the wire."""

    def __init__(self, deadline: Deadline, on_sent: Callable[[], None]) -> None:
        self.deadline = deadline
        self.received = 0
        self.is_reused = False
        self._is_in_head = True
        self._is_sent = False
        self._on_sent = on_sent

    def mark_sent(self) -> None:
        """Record once that the request goes out: the address passed all checks."""
        if not self._is_sent:
            self._is_sent = True
            self._on_sent()

    def timeout(self) -> float:
        return min(self.deadline.left(), STALL_SECONDS)

    def read_size(self, usual: int) -> int:
        """Return how many bytes to read in one step: few for a head, because all of them count as head."""
        return usual if self._is_in_head else BODY_READ_BYTES

    def count_bytes(self, size: int) -> None:
        self.received += size
        if self._is_in_head and self.received > MAX_HEAD_BYTES:
            raise BadAnswer("endless head")

    def end_head(self) -> None:
        self._is_in_head = False


_transfer: ContextVar[Transfer] = ContextVar("web_transfer")


def current_transfer() -> Transfer:
    return _transfer.get()


@contextmanager
def active_transfer(transfer: Transfer) -> Iterator[None]:
    token = _transfer.set(transfer)
    try:
        yield
    finally:
        _transfer.reset(token)


PIECE = 64 * 1024
MAX_LAYERS = 2
MAX_MEMBERS = 1000  # a gzip file may be many in a row; an empty one costs 20 bytes and some work
MAX_TRAILER = 1024 * 1024
ACCEPT_ENCODING = "gzip, deflate"


def encodings(header: str) -> list[str]:
    """Return the layers of Content-Encoding in the order applied; raise BadAnswer for one not requested."""
    names = [name.strip().lower() for name in header[:1000].split(",") if name.strip()]
    names = [name.removeprefix("x-") for name in names if name != "identity"]
    if len(names) > MAX_LAYERS or not set(names) <= {"gzip", "deflate"}:
        raise BadAnswer(f"Content-Encoding {', '.join(names)[:80]}", code="bad_encoding")
    return names


def decoded(pieces: Iterable[bytes], layers: list[str]) -> Iterator[bytes]:
    """Yield the pieces without the layers. A truncated stream raises BadAnswer at its end."""
    if layers:
        pieces = _split_pieces(pieces)
    for layer in reversed(layers):
        pieces = _gunzip(pieces) if layer == "gzip" else _inflate(pieces)
    return iter(pieces)


def _split_pieces(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Split large pieces: zlib copies its unread input at every step."""
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
                # Padding after the last member is common and harmless: its checksum was right.
                if not piece.startswith(b"\x1f"):
                    _skip_rest(pieces)
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
    """Decompress "deflate", which means either of two formats; the first two bytes show which."""
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


def _skip_rest(pieces: Iterable[bytes]) -> None:
    """Read to the end, so that the length is checked and the connection can be reused."""
    size = 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_TRAILER:
            raise BadAnswer("too much after the gzip stream", code="bad_encoding")


MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Body:
    data: bytes = b""
    path: Path | None = None
    size: int = 0
    sha256: str = ""


def read_into_memory(pieces: Iterable[bytes], max_bytes: int, *, may_cut: bool = False) -> Body:
    """Read a body into memory. `may_cut` keeps the beginning of a body that is too long instead of raising."""
    # BytesIO returns its buffer without a copy, so a body needs its own size once.
    buffer = io.BytesIO()
    for piece in _with_heartbeat(pieces):
        if buffer.tell() + len(piece) > max_bytes:
            if not may_cut:
                raise TooLarge(f"more than {max_bytes} bytes")
            buffer.write(piece[: max_bytes - buffer.tell()])
            break
        buffer.write(piece)
    return Body(data=buffer.getvalue(), size=buffer.tell())


def read_into_file(pieces: Iterable[bytes], max_bytes: int, path: Path) -> Body:
    """Write a body to a file in constant memory. A file that could not be completed is removed.

    An existing file is overwritten and not emptied first: freeing pages and allocating new ones costs half as much
    CPU as the whole download.
    """
    digest, size = hashlib.sha256(), 0
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666), "wb") as file:
            for piece in _with_heartbeat(pieces):
                size += len(piece)
                if size > max_bytes:
                    raise TooLarge(f"more than {max_bytes} bytes")
                file.write(piece)
                digest.update(piece)
            file.truncate()
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return Body(path=path, size=size, sha256=digest.hexdigest())


def _with_heartbeat(pieces: Iterable[bytes]) -> Iterable[bytes]:
    unread = MEGABYTE
    for piece in pieces:
        unread -= len(piece)
        if unread <= 0:
            unread = MEGABYTE
            work.beat()
        yield piece


_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Names as browsers read them: servers that declare the smaller set mean the larger one.
_LARGER = {
    "ascii": "cp1252", "us-ascii": "cp1252", "iso-8859-1": "cp1252", "latin1": "cp1252", "latin-1": "cp1252",
    "gb2312": "gb18030", "gbk": "gb18030", "gb_2312-80": "gb18030", "x-gbk": "gb18030", "cp936": "gb18030",
    "utf8": "utf-8", "utf-16": "utf-16-le", "big5": "big5hkscs", "shift-jis": "cp932", "shift_jis": "cp932",
    "sjis": "cp932", "x-sjis": "cp932", "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "iso-8859-9": "cp1254",
}  # fmt: skip
_KNOWN = re.compile(
    r"utf-8|utf-16-?[lb]e|gb18030|big5hkscs|cp932|cp949|cp1252|cp1254|euc-jp|koi8-[ru]"
    r"|iso-8859-(?:[2-8]|1[0134-6])|windows-125[0-8]|cp125[0-8]"
)


def declared_charset(content_type: str) -> str | None:
    """Return the Python codec for a Content-Type charset, or None.

    Only real character sets count: utf-7 turns harmless bytes into markup, and Python also has codecs such as hex.
    """
    match = re.search(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", content_type[:1000], re.IGNORECASE)
    if not match:
        return None
    name = match.group(1).lower()
    name = _LARGER.get(name, name)
    return name if _KNOWN.fullmatch(name) else None


def to_text(body: bytes, content_type: str = "", *, fallback: str = "utf-8") -> str:
    """Decode a body; undecodable bytes become U+FFFD.

    A byte order mark takes precedence over the declaration, the declaration over the fallback.
    """
    for bom, name in _BOMS:
        if body.startswith(bom):
            return body[len(bom) :].decode(name, "replace")
    return body.decode(declared_charset(content_type) or fallback, "replace")
