"""Parses one line of a dump of Reddit: a post or comment as JSON, in the form of Pushshift and Arctic Shift."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

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
    raw = {**raw, **{name: _number(raw[name]) for name in ("created_utc", "edited", "score") if name in raw}}
    if is_comment and not raw.get("parent_id"):
        raw["parent_id"] = raw.get("link_id")
    try:
        item: Item = read_comment(raw) if is_comment else read_post(raw)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise SkippedLine("a field is missing or invalid") from None
    return DumpedItem(item, _retrieved(raw))


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
