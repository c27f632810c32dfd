"""The days of a chart: the database puts a moment on the day on which the reader's calendar has it."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db.models import Count
from django.utils import timezone

from watchbook.core.jobs.models import JobRun
from watchbook.kit.days import DayAxis

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
# The last days of March and October hold the nights in which clocks are changed.
ENDS = (datetime(2026, 4, 6, 9, tzinfo=UTC), datetime(2026, 11, 4, 9, tzinfo=UTC))


@pytest.mark.parametrize("end", ENDS, ids=("spring", "autumn"))
@pytest.mark.parametrize("zone", ["Asia/Shanghai", "Europe/Berlin", "America/New_York"])
def test_the_database_places_moments_as_the_calendar_does(zone: str, end: datetime) -> None:
    with timezone.override(ZoneInfo(zone)):
        axis = DayAxis.last(30, end)
        moments = [axis.start + timedelta(minutes=37 * step) for step in range(1200)]
        edges = [axis.start, axis.start + timedelta(days=4) - timedelta(microseconds=1)]
        moments = [moment for moment in (*moments, *edges) if moment <= end]
        JobRun.objects.bulk_create(
            JobRun(name="example", key=f"{number}", state="done", created_at=moment, due_at=moment, finished_at=moment)
            for number, moment in enumerate(moments)
        )
        rows = JobRun.objects.filter(finished_at__gte=axis.start).annotate(place=axis.bucket("finished_at"))
        placed = dict(rows.values_list("place").annotate(number=Count("pk")).order_by())
        assert placed == Counter(axis.place(moment) for moment in moments)
        assert set(placed) == set(range(30))
