"""Parses one line of a dump of Reddit: a post or comment as JSON, in the form of Pushshift and Arctic Shift.

Reads lines of a dump file: zstd or plain JSON Lines, with limits for window and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import zstandard

from watchbook.systems.reddit.parse.listings import Item, read_comment, read_post


class SkippedLine(ValueError):
    """Raised for a line that is not imported. The message is the reason."""


@dataclass(frozen=True)
class DumpedItem:
    """A post or comment, and when the makers of the dump read it, if the dump says so."""

    item: Item
    retrieved_at: datetime | None


def parse_line(line: bytes) -> DumpedItem:
    """Parse one line. Old dumps write numbers as text and leave out what Reddit had not yet."""
    try:
        raw = orjson.loads(line)
    except ValueError:
        raise SkippedLine("not JSON") from None
    if not isinstance(raw, dict):
        raise SkippedLine("not an object")
    if raw.get("promoted"):
        raise SkippedLine("promoted")
    if not isinstance(raw.get("subreddit"), str):
        raise SkippedLine("no community")
    is_comment = "body" in raw
    if not is_comment and "title" not in raw:
        raise SkippedLine("neither post nor comment")
    raw = _unescaped(raw) if _ESCAPE.search(line) else raw
    raw = {**raw, **{name: _number(raw[name]) for name in ("created_utc", "edited", "score") if name in raw}}
    if is_comment and not raw.get("parent_id"):
        raw["parent_id"] = raw.get("link_id")
    try:
        item: Item = read_comment(raw) if is_comment else read_post(raw)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise SkippedLine("a field is missing or invalid") from None
    return DumpedItem(item, _retrieved(raw))


# What Reddit escapes where `raw_json` is not asked for, as the makers of dumps do not.
_ESCAPE = re.compile(rb"&(?:amp|lt|gt);")
_BARE = re.compile("[<>]|&(?!(?:amp|lt|gt);)")
_SHOWN = ("title", "selftext", "body", "url", "link_flair_text")
# Captions of galleries and options of polls are not deeper.
_DEPTH = 6


def _unescaped(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the texts as they were written. One character that is not escaped shows that none is."""
    if any(isinstance(raw.get(name), str) and _BARE.search(raw[name]) for name in _SHOWN):
        return raw
    return {name: _plain(value, _DEPTH) for name, value in raw.items()}


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return value.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    if depth and isinstance(value, dict):
        return {name: _plain(one, depth - 1) for name, one in value.items()}
    return [_plain(one, depth - 1) for one in value] if depth and isinstance(value, list) else value


def _number(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, str) and len(value) < 20 else value
    except ValueError:
        return value


def _retrieved(raw: Mapping[str, Any]) -> datetime | None:
    value = _number(raw.get("retrieved_on") or raw.get("retrieved_utc") or raw.get("_meta", {}).get("retrieved_2nd_on"))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        moment = datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment if 2005 <= moment.year <= 2200 else None


MAGIC = b"\x28\xb5\x2f\xfd"
CHUNK = 1 << 20
# The largest posts of Reddit have 40,000 characters; with all fields a line has some hundred kilobytes.
MAX_LINE_BYTES = 4 << 20
# What the makers of dumps use (zstd --long=31). Decompressing needs as much memory as the frame says.
MAX_WINDOW_MEGABYTES = 2048
# The beginning is enough to distinguish two files of the same size.
FINGERPRINT_BYTES = 1 << 20


class UnreadableDump(Exception):
    """Raised for a file that is damaged or needs too much memory. The message says which."""


def fingerprint(path: Path) -> str:
    """Return a hash of size and beginning, by which an interrupted import finds its place."""
    with path.open("rb") as file:
        begin = file.read(FINGERPRINT_BYTES)
    return sha256(str(path.stat().st_size).encode() + b"\x1f" + begin).hexdigest()


def lines(path: Path, *, window_megabytes: int = MAX_WINDOW_MEGABYTES) -> Iterator[bytes | None]:
    """Yield the lines of a file; None for a line over the limit, which is not kept in memory."""
    with path.open("rb") as file:
        is_zstd = file.read(4) == MAGIC
        file.seek(0)
        yield from _lines(_decompressed(file, window_megabytes) if is_zstd else iter(lambda: file.read(CHUNK), b""))


def _decompressed(file: BinaryIO, window_megabytes: int) -> Iterator[bytes]:
    decompressor = zstandard.ZstdDecompressor(max_window_size=window_megabytes << 20)
    try:
        with decompressor.stream_reader(file, read_size=CHUNK, read_across_frames=True) as reader:
            while chunk := reader.read(CHUNK):
                yield chunk
    except zstandard.ZstdError as error:
        raise UnreadableDump(str(error)) from None
    except MemoryError:
        raise UnreadableDump("the memory of this machine is not enough for the window of the file") from None


def _lines(chunks: Iterator[bytes]) -> Iterator[bytes | None]:
    kept, is_dropping = b"", False
    for chunk in chunks:
        *whole, rest = (kept + chunk).split(b"\n")
        for line in whole:
            yield None if is_dropping or len(line) > MAX_LINE_BYTES else line
            is_dropping = False
        is_dropping = is_dropping or len(rest) > MAX_LINE_BYTES
        kept = b"" if is_dropping else rest
    if kept or is_dropping:
        yield None if is_dropping else kept
