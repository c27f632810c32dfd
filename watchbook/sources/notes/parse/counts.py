"""Counts as people are shown them: "45", "1.2万", "10+", "1千+", "亿"."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from watchbook.sources.notes.parse.records import Count

UNITS = {"": 1, "千": 1_000, "k": 1_000, "万": 10_000, "w": 10_000, "亿": 100_000_000}
LARGEST = 10**15
_SHAPE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)?\s?(千|万|亿|[kw])?\s?(\+)?\Z", re.IGNORECASE)


def parse_count(raw: object) -> Count:
    """Never raises: what cannot be read has no value and keeps its text."""
    if isinstance(raw, bool) or raw is None:
        return Count()
    if isinstance(raw, int):
        return Count(raw, True, str(raw)) if 0 <= raw <= LARGEST else Count(raw=str(raw)[:40])
    text = str(raw).strip().replace(",", "")[:40]
    shape = _SHAPE.match(text)
    if shape is None or not (shape[1] or shape[2]):
        return Count(raw=text)
    unit = (shape[2] or "").lower()
    try:
        value = Decimal(shape[1] or 1) * UNITS[unit]
    except InvalidOperation:
        return Count(raw=text)
    if value > LARGEST:
        return Count(raw=text)
    whole = int(value)
    return Count(whole, not unit and not shape[3] and value == whole, text)
