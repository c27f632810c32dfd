"""Modification dates as sites write them: read into an instant with a precision, compared at the coarser one.

What cannot be read stays text and is compared as text. Nothing here guesses: a date without a zone is UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import cast

YEAR, MONTH, DAY, MINUTE, SECOND = 0, 1, 2, 3, 4
# SECOND + n is a fraction of n digits.

# Placeholders such as 0000-00-00, 0001-01-01 and 9999-12-31 are not moments.
FIRST_YEAR, LAST_YEAR = 1900, 2999

_EPOCH = date(1970, 1, 1)
_ISO = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[Tt ]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,12}))?)?"
    r"\s*([Zz]|[+-]\d{2}(?::?\d{2})?)?)?)?)?",
    re.ASCII,
)
_MAIL = re.compile(
    r"(?:[A-Za-z]{3,9},?\s+)?(\d{1,2})[ -]([A-Za-z]{3})[a-z]*[ -](\d{4}|\d{2})\s+(\d{1,2}):(\d{2})(?::(\d{2}))?"
    r"(?:\s+([A-Za-z]{1,5}|[+-]\d{2}:?\d{2}))?",
    re.ASCII,
)
_MONTHS = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10,
           "nov": 11, "dec": 12}  # fmt: skip
_ZONES = {"UT": 0, "UTC": 0, "GMT": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5,
          "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}  # fmt: skip

# The formats of nearly all sites, for whole columns. The full parser reads the 29th of February.
_DAY = (
    rb"(?:19|2[0-9])[0-9]{2}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    rb"|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
)
_TIME = rb"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_DATE = re.compile(_DAY)
_UTC = re.compile(_DAY + _TIME + rb"(?:Z|\+00:00)")
_DATES = re.compile(rb"(?:" + _DAY + rb"\n)*+")
_UTCS = re.compile(rb"(?:" + _DAY + _TIME + rb"(?:Z|\+00:00)\n)*+")
PLAIN = _DAY + rb"(?:" + _TIME + rb"(?:Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]))?+"
"""A regular expression for dates that can be read, in the forms of the standard."""


@dataclass(frozen=True, slots=True)
class Lastmod:
    """A moment (the first of its day, month or year where no more is said) and how exactly it was written."""

    nanoseconds: int
    precision: int
    offset_seconds: int = 0

    def days_written(self) -> set[tuple[int, ...]]:
        """The date in UTC and in the writer's own zone, cut to the precision."""
        return {_day_of(self.nanoseconds), _day_of(self.nanoseconds + self.offset_seconds * 10**9)}

    def same_as(self, other: Lastmod) -> bool:
        precision = min(self.precision, other.precision)
        if precision <= DAY:
            # "2025-01-01" may be the writer's own day or the day in UTC; both readings are the same date.
            cut = precision + 1
            mine = {day[:cut] for day in self.days_written()}
            return any(day[:cut] in mine for day in other.days_written())
        unit = 60 * 10**9 if precision == MINUTE else 10 ** max(0, 9 - (precision - SECOND))
        return self.nanoseconds // unit == other.nanoseconds // unit


def _day_of(nanoseconds: int) -> tuple[int, ...]:
    day = _EPOCH + timedelta(days=nanoseconds // (86_400 * 10**9))
    return day.year, day.month, day.day


def read_lastmod(raw: str) -> Lastmod | None:
    """The instant that a text means, or None when it means none."""
    text = raw.strip()
    if len(text) > 64:
        return None
    if match := _ISO.fullmatch(text):
        year, month, day, hour, minute, second, fraction, zone = match.groups()
        precision = SECOND + len(fraction) if fraction else sum(p is not None for p in (month, day, hour, second))
        return _moment((year, month, day), (hour, minute, second, fraction), zone, precision)
    if match := _MAIL.fullmatch(text):
        day, name, year, hour, minute, second, zone = match.groups()
        month = str(_MONTHS.get(name.lower(), 0))
        if len(year) == 2:
            year = ("20" if int(year) < 70 else "19") + year
        return _moment((year, month, day), (hour, minute, second, None), zone, SECOND if second else MINUTE)
    return None


def _moment(
    day: tuple[str, str | None, str | None],
    time: tuple[str | None, str | None, str | None, str | None],
    zone: str | None,
    precision: int,
) -> Lastmod | None:
    year, month, dom = (int(part or 1) for part in day)
    hour, minute, second = (int(part or 0) for part in time[:3])
    offset = _offset(zone)
    if offset is None or not FIRST_YEAR <= year <= LAST_YEAR or hour > 23 or minute > 59 or second > 59:
        return None
    try:
        days = date(year, month, dom).toordinal() - _EPOCH.toordinal()
    except ValueError:
        return None
    seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
    fraction = int((time[3] or "0").ljust(9, "0")[:9])
    return Lastmod(seconds * 10**9 + fraction, precision, offset)


def _offset(zone: str | None) -> int | None:
    if not zone:
        return 0
    if zone[0] not in "+-":
        hours = _ZONES.get(zone.upper())
        return None if hours is None else hours * 3600
    hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
    if hours > 14 or minutes > 59:
        return None
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def same_lastmod(old: bytes, new: bytes) -> bool:
    """Whether two written dates mean the same; one that appears or disappears does not."""
    if old == new:
        return True
    if not old or not new:
        return False
    if _UTC.fullmatch(old) and _UTC.fullmatch(new):
        return old[:19] == new[:19]
    first, second = read_lastmod(old.decode()), read_lastmod(new.decode())
    return first is not None and second is not None and first.same_as(second)


def is_backwards(old: str, new: str) -> bool:
    """The new date is earlier than the old one: the site's dates cannot be trusted."""
    first, second = read_lastmod(old), read_lastmod(new)
    if first is None or second is None or first.same_as(second):
        return False
    return second.nanoseconds < first.nanoseconds


def instant_text(raw: bytes) -> bytes:
    """One spelling per instant, for hashing; what is not an instant keeps its own text behind a question mark."""
    if not raw:
        return raw
    if _UTC.fullmatch(raw):
        return raw[:19]
    return raw + b"T00:00:00" if _DATE.fullmatch(raw) else _instant_text(raw)


@lru_cache(maxsize=16_384)
def _instant_text(raw: bytes) -> bytes:
    moment = read_lastmod(raw.decode())
    if moment is None:
        return b"?" + raw
    seconds, fraction = divmod(moment.nanoseconds, 10**9)
    days, second = divmod(seconds, 86_400)
    day = _EPOCH + timedelta(days=days)
    text = f"{day.isoformat()}T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return (f"{text}.{fraction:09}".rstrip("0") if fraction else text).encode()


def instant_texts(values: list[bytes]) -> list[bytes]:
    """instant_text of a whole column."""
    if not any(values):
        return values
    is_dates = len(values[0]) == 10
    texts: list[bytes] = []
    for is_plain, run in _runs(values, _DATES if is_dates else _UTCS):
        if not is_plain:
            texts += map(instant_text, run)
        elif is_dates:
            texts += [value + b"T00:00:00" for value in run]
        else:
            texts += [value[:19] for value in run]
    return texts


def is_unreadable(value: bytes) -> bool:
    """An empty one is not there to be read."""
    return instant_text(value).startswith(b"?")


def _runs(values: list[bytes], plain: re.Pattern[bytes]) -> Iterator[tuple[bool, list[bytes]]]:
    """Cut a column into runs that a pattern covers and single values that it does not."""
    column = b"\n".join(values) + b"\n"
    at = position = 0
    while at < len(values):
        end = cast("re.Match[bytes]", plain.match(column, position)).end()
        if end > position:
            stop = at + column.count(b"\n", position, end)
            yield True, values[at:stop]
            at, position = stop, end
        else:
            yield False, [values[at]]
            position += len(values[at]) + 1
            at += 1
