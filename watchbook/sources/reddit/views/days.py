"""The reader's last days, and which of them a row belongs to."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from django.db.models import Case, IntegerField, Value, When
from django.utils import timezone

from watchbook.core.ui import moments


def last_days(count: int, now: datetime) -> list[date]:
    today = moments.local(now).date()
    return [today - timedelta(days=back) for back in range(count - 1, -1, -1)]


def start_of(day: date) -> datetime:
    """The first moment of a day in the reader's zone."""
    return datetime.combine(day, time(0), tzinfo=timezone.get_current_timezone())


def place_in(days: list[date], column: str) -> Case:
    """Which of the days a moment belongs to. Boundaries are made here: one database knows zones, another does not."""
    ends = [start_of(day + timedelta(days=1)) for day in days]
    return Case(
        *(When(**{f"{column}__lt": end}, then=Value(place)) for place, end in enumerate(ends[:-1])),
        default=Value(len(days) - 1),
        output_field=IntegerField(),
    )
