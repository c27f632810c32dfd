"""Where a body goes: into memory, or piece by piece into a file. Too much of it raises TooLarge."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from watchbook.base import pulse
from watchbook.base.web.errors import TooLarge

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Body:
    data: bytes = b""
    path: Path | None = None
    size: int = 0
    sha256: str = ""


def into_memory(pieces: Iterable[bytes], max_bytes: int, *, may_cut: bool = False) -> Body:
    """`may_cut` keeps the beginning of a body that is too long instead of raising."""
    # BytesIO hands its buffer over without a copy, so a body needs its own size once.
    buffer = io.BytesIO()
    for piece in _beating(pieces):
        if buffer.tell() + len(piece) > max_bytes:
            if not may_cut:
                raise TooLarge(f"more than {max_bytes} bytes")
            buffer.write(piece[: max_bytes - buffer.tell()])
            break
        buffer.write(piece)
    return Body(data=buffer.getvalue(), size=buffer.tell())


def into_file(pieces: Iterable[bytes], max_bytes: int, path: Path) -> Body:
    """Constant memory. A file that could not be filled is removed.

    One that is there is written over and not emptied first: giving pages back and asking for new ones costs half as
    much CPU as the whole download.
    """
    digest, size = hashlib.sha256(), 0
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666), "wb") as file:
            for piece in _beating(pieces):
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


def _beating(pieces: Iterable[bytes]) -> Iterable[bytes]:
    unread = MEGABYTE
    for piece in pieces:
        unread -= len(piece)
        if unread <= 0:
            unread = MEGABYTE
            pulse.beat()
        yield piece
