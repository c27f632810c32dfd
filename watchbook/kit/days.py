"""Consecutive days in the zone of the reader: the axis of charts, and groups of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from django.db.models import Case, IntegerField, Value, When
from django.utils import timezone

from watchbook.kit import formatting


@dataclass(frozen=True)
class DayAxis:
    """Consecutive days; the last one is today."""

    days: tuple[date, ...]

    @classmethod
    def last(cls, count: int, now: datetime) -> DayAxis:
        today = formatting.local(now).date()
        return cls(tuple(today - timedelta(days=back) for back in range(count - 1, -1, -1)))

    def __len__(self) -> int:
        return len(self.days)

    @property
    def start(self) -> datetime:
        return starts_of(self.days[:1])[0]

    def place(self, moment: datetime) -> int:
        """Return the index of the day of a moment; negative before the first day."""
        return (formatting.local(moment).date() - self.days[0]).days

    def bucket(self, column: str) -> Case | Value:
        """Return the index as a database expression. Not all databases know time zones."""
        return _halves(column, starts_of(self.days), 0, len(self.days) - 1)


def _halves(column: str, starts: Sequence[datetime], first: int, last: int) -> Case | Value:
    """Halved again and again: five comparisons for each row instead of thirty."""
    if first == last:
        return Value(first)
    middle = (first + last + 1) // 2
    return Case(
        When(**{f"{column}__lt": starts[middle]}, then=_halves(column, starts, first, middle - 1)),
        default=_halves(column, starts, middle, last),
        output_field=IntegerField(),
    )


def starts_of(days: Sequence[date]) -> list[datetime]:
    """Return the start of each day in the reader's zone."""
    zone = timezone.get_current_timezone()
    return [datetime.combine(day, time(0), tzinfo=zone) for day in days]


def end_of(day: date) -> datetime:
    """Return the last moment of a day in the reader's zone."""
    return starts_of([day + timedelta(days=1)])[0] - timedelta(microseconds=1)
