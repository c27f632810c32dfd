"""The reader's last days, and which of them a row belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from django.db.models import Case, IntegerField, Value, When
from django.utils import timezone

from watchbook.core.ui import moments


@dataclass(frozen=True)
class Days:
    """Days in order, the last one is today in the reader's zone."""

    days: tuple[date, ...]

    @classmethod
    def last(cls, count: int, now: datetime) -> Days:
        today = moments.local(now).date()
        return cls(tuple(today - timedelta(days=back) for back in range(count - 1, -1, -1)))

    def __len__(self) -> int:
        return len(self.days)

    @property
    def start(self) -> datetime:
        return starts_of(self.days[:1])[0]

    def place(self, moment: datetime) -> int:
        """Where a moment stands among the days; negative before the first."""
        return (moments.local(moment).date() - self.days[0]).days

    def bucket(self, column: str) -> Case:
        """The place as an expression. Boundaries are made here: one database knows zones, another does not."""
        ends = starts_of([day + timedelta(days=1) for day in self.days])
        return Case(
            *(When(**{f"{column}__lt": end}, then=Value(place)) for place, end in enumerate(ends[:-1])),
            default=Value(len(self.days) - 1),
            output_field=IntegerField(),
        )


def starts_of(days: Sequence[date]) -> list[datetime]:
    """The first moment of each day in the reader's zone."""
    zone = timezone.get_current_timezone()
    return [datetime.combine(day, time(0), tzinfo=zone) for day in days]


def end_of(day: date) -> datetime:
    """The last moment of a day in the reader's zone."""
    return starts_of([day + timedelta(days=1)])[0] - timedelta(microseconds=1)
