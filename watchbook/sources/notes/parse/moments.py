"""Times of the platform: milliseconds, seconds, and the one that is part of a note's id."""

from __future__ import annotations

import re
from datetime import UTC, datetime

# Above this a number of the platform counts milliseconds.
MILLISECONDS_FROM = 10**12
EARLIEST, LATEST = 1_230_768_000, 4_102_444_800  # 2009 and 2100
_NOTE_ID = re.compile(r"[0-9a-f]{24}\Z")


def parse_moment(value: object) -> datetime | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    seconds = value / 1000 if value > MILLISECONDS_FROM else float(value)
    return datetime.fromtimestamp(seconds, UTC) if EARLIEST <= seconds <= LATEST else None


def moment_of_id(note_id: str) -> datetime | None:
    """The first eight hex digits of an id are the second in which the note was published."""
    return parse_moment(int(note_id[:8], 16)) if _NOTE_ID.match(note_id) else None
