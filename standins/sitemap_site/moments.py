"""When are two lastmod texts the same moment? The ledger's own reading, written apart from the product's."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

FORM = re.compile(
    r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s*(Z|[+-]\d\d:?\d\d)?)?)?)?"
)
YEAR, MONTH, DAY, MINUTE, SECOND, FRACTION = range(6)


class Reading(NamedTuple):
    moment: datetime
    precision: int


def same_moment(one: str | None, other: str | None) -> bool:
    """Equal at the coarser of both precisions; what cannot be read is compared as text."""
    if one is None or other is None:
        return one is other
    first, second = read(one), read(other)
    if first is None or second is None:
        return one.strip() == other.strip()
    precision = min(first.precision, second.precision)
    return _cut(first.moment, precision) == _cut(second.moment, precision)


def read(text: str) -> Reading | None:
    """A W3C date or time in any of its precisions; without a zone it is UTC."""
    found = FORM.fullmatch(text.strip())
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        moment = datetime(int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), tzinfo=UTC)
        moment += timedelta(seconds=int(second or 0), microseconds=int((fraction or "0").ljust(6, "0")[:6]))
        moment -= _offset(zone)
    except (ValueError, OverflowError):
        return None
    given = [month, day, hour, second, fraction]
    return Reading(moment, next((at for at, part in enumerate(given) if part is None), FRACTION))


def _offset(zone: str | None) -> timedelta:
    if zone in (None, "Z"):
        return timedelta()
    assert zone is not None
    span = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
    return -span if zone[0] == "-" else span


def _cut(moment: datetime, precision: int) -> tuple[int, ...]:
    parts = moment.timetuple()[: (1, 2, 3, 5, 6, 6)[precision]]
    return (*parts, moment.microsecond if precision == FRACTION else 0)
