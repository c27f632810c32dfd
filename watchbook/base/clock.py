"""The one clock. Everything that decides or stores a time asks `now()`.

`set_to(moment)` holds the clock of this thread or task still: `--now` of a command, virtual time in tests.
Durations are measured with time.monotonic, never with this clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

SHANGHAI = ZoneInfo("Asia/Shanghai")

_held: ContextVar[datetime | None] = ContextVar("held_clock", default=None)


def now() -> datetime:
    """The present moment, aware, in UTC."""
    return _held.get() or datetime.now(UTC)


def is_held() -> bool:
    return _held.get() is not None


@contextmanager
def set_to(moment: datetime | None) -> Iterator[None]:
    """Hold the clock at a moment; None leaves it running."""
    if moment is not None and moment.tzinfo is None:
        raise ValueError("the clock needs an aware moment")
    token = _held.set(moment.astimezone(UTC) if moment else None)
    try:
        yield
    finally:
        _held.reset(token)


def parse(text: str) -> datetime:
    """An ISO moment; without a zone it is Shanghai wall time, as the seeds write it."""
    moment = datetime.fromisoformat(text.strip())
    return moment if moment.tzinfo else moment.replace(tzinfo=SHANGHAI)


def ago(**span: float) -> datetime:
    return now() - timedelta(**span)


def bounded(moment: datetime | None) -> datetime | None:
    """A moment that every database can compare: aware, and not at the ends of the calendar."""
    if moment is None or moment.year < 1900:
        return None
    if moment.year > 2200:
        return datetime(2200, 1, 1, tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
