"""Bit masks of topics and posts, and the packed field that carries a topic's display options."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from watchbook.sources.nga.parse.values import mapping, raw_text, whole

NOTE = 1
HIDDEN = 2
HAS_NOTES = 4
LOCKED = 1024
COLLECTION = 32768
IN_COLLECTION = 65536
ANONYMOUS = 262144
BOARD = 2097152
# Marks the row that is the topic itself; no part of what a topic is.
OPENING = 33554432

NEWEST_FIRST = 262144

RECYCLE_BIN = 108


def is_deleted(bits: int) -> bool:
    """Locked and hidden together are what the site shows as deleted."""
    return bits & (LOCKED | HIDDEN) == LOCKED | HIDDEN


def is_folded(bits: int) -> bool:
    return bool(bits & HIDDEN) and not is_deleted(bits)


def unpack(row: Any) -> dict[int, int]:
    """{1: display bits, 2: collection, 3: board} of a topic, from the unpacked field or the packed one."""
    ready = mapping(row.get("topic_misc_var"))
    found = {whole(key): whole(value) for key, value in ready.items() if whole(key)}
    return found or unpack_text(raw_text(row.get("topic_misc")))


def unpack_text(packed: str) -> dict[int, int]:
    """Records of five bytes in base64 without padding: an id and a number. Unknown ids are kept, none ends the list."""
    packed = packed.strip()
    if not packed or "~" in packed:
        return {}
    try:
        data = base64.b64decode(packed[:400].rstrip("=") + "=" * (-len(packed[:400].rstrip("=")) % 4), validate=True)
    except (binascii.Error, ValueError):
        return {}
    return {data[at]: int.from_bytes(data[at + 1 : at + 5]) for at in range(0, len(data) - 4, 5)}
