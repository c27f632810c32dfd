"""Single values of an answer. The same field may be a number, a text, a map, a list, empty or null."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

from watchbook.sources.nga.parse.entities import unescape

# The site's own time; China has known no other offset since the site exists.
SHANGHAI = timezone(timedelta(hours=8), "Asia/Shanghai")
_WHOLE = re.compile(r"\s*([+-]?\d{1,18})\s*", re.ASCII)
_MINUTE = re.compile(r"(\d{4})-(\d\d?)-(\d\d?) (\d\d?):(\d\d?)", re.ASCII)
_LONGER = 10**18
# Before the site existed, and so far ahead that it is no date: milliseconds, overflows.
_EARLIEST, _LATEST = 946_684_800, 4_102_444_800


class SpellingLost(Exception):
    """A number is asked for as text, and was read in a way that does not keep how it was written."""


def whole(value: Any, default: int = 0) -> int:
    """A whole number, whatever it was written as. Longer ones are no ids."""
    if type(value) is int and -_LONGER < value < _LONGER:
        return value  # as nearly all of the dozen numbers of a floor are
    if isinstance(value, str):
        found = _WHOLE.fullmatch(value)
        return int(found[1]) if found else default
    return int(value) if isinstance(value, bool) else default


def raw_text(value: Any) -> str:
    """Text as it was printed. Texts made of digits arrive as numbers."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        raise SpellingLost
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def text(value: Any) -> str:
    """Text as a reader sees it, on one line: titles and names."""
    return "" if value is None else " ".join(unescape(raw_text(value)).split())


def mapping(value: Any) -> dict[str, Any]:
    """A map, whichever serialiser wrote it: lists count from "0", empty ones are "" or null."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        return {str(number): item for number, item in enumerate(value)}
    return {}


def rows_in_order(value: Any) -> Iterator[Mapping[str, Any]]:
    """Rows of a numbered map in the order in which they stand; what is no row is passed over."""
    if isinstance(value, list):
        yield from (row for row in value if isinstance(row, dict))
        return
    for key, row in mapping(value).items():
        if key.lstrip("-").isdigit() and isinstance(row, dict):
            yield row


def moment(value: Any) -> datetime | None:
    """Seconds since 1970 as Shanghai time; None for 0, nonsense and what lies outside of any calendar."""
    seconds = whole(value)
    return datetime.fromtimestamp(seconds, SHANGHAI) if _EARLIEST <= seconds < _LATEST else None


def minute(value: Any) -> datetime | None:
    """`YYYY-MM-DD HH:MM` in Shanghai: all that a stub says about its time."""
    found = _MINUTE.match(raw_text(value))
    if not found:
        return None
    try:
        return datetime(*(int(part) for part in found.groups()), tzinfo=SHANGHAI)  # type: ignore[arg-type,misc]
    except ValueError:
        return None
