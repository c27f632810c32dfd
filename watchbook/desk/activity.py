"""Items per day and system, counted in the reader's days, in one query (at most three while a desk is young)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from django.db.models import Case, Count, IntegerField, Sum, Value, When
from django.utils import timezone
from django.utils.translation import gettext as _

from watchbook.core import registry
from watchbook.core.jobs import options as job_options
from watchbook.core.jobs.models import JobRun
from watchbook.core.stream.models import StreamEntry
from watchbook.kit import formatting
from watchbook.kit.charts import Chart, Series, bars
from watchbook.kit.charts.svg import shown

DAYS = 30
FEWEST_DAYS = 7


@dataclass(frozen=True)
class Activity:
    """The chart, and what its evidence line says."""

    chart: Chart | None
    unmeasured: tuple[date, ...] = ()
    requests_today: int = 0
    day_count: int = DAYS

    @property
    def period(self) -> str:
        return _period(self.day_count)

    @property
    def short_period(self) -> str:
        """What the narrow drawing shows."""
        return _period(shown("s", self.day_count))


def activity(scopes: Sequence[str], now: datetime) -> Activity:
    days = _last_days(now)
    counts = _counts(days, scopes)
    runs = _runs(days)
    requests = runs.get(days[-1], (0, 0))[1]
    totals = [sum(row[index] for row in counts.values()) for index in range(len(days))]
    if not any(totals):
        return Activity(None, requests_today=requests)
    first = _first_measured(days, totals)
    silent = {
        day for index, day in enumerate(days) if index < first or (not totals[index] and _was_off(day, days, runs))
    }
    # A young desk shows its own days, not a month of hatching.
    start = max(0, min(first, len(days) - FEWEST_DAYS))
    kept = days[start:]
    series = [
        Series(
            title,
            [None if day in silent else counts[slug][start + index] for index, day in enumerate(kept)],
            f"sys-{slug}",
        )
        for slug, title in _titles(counts)
    ]
    chart = bars(kept, series, label=_finding(kept, totals[start:]))
    return Activity(
        chart, tuple(day for day in kept[-DAYS:] if day in silent and day >= days[first]), requests, len(kept)
    )


def _period(day_count: int) -> str:
    return _("last %(n)s days") % {"n": day_count}


def _last_days(now: datetime) -> list[date]:
    last = formatting.local(now).date()
    return [last - timedelta(days=back) for back in range(DAYS - 1, -1, -1)]


def _starts(days: Sequence[date]) -> list[datetime]:
    """The first moment of each day in the reader's zone."""
    zone = timezone.get_current_timezone()
    return [datetime.combine(day, time(0), tzinfo=zone) for day in days]


def _bucket(column: str, days: Sequence[date]) -> Case | Value:
    """Which of the days a row belongs to. Boundaries are made here: one database knows zones, another does not."""
    return _halves(column, _starts([*days, days[-1] + timedelta(days=1)]), 0, len(days))


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


def _counts(days: Sequence[date], scopes: Sequence[str]) -> dict[str, list[int]]:
    counts: dict[str, list[int]] = {}
    rows = (
        StreamEntry.objects.filter(occurred_at__gte=_starts(days)[0], scope__in=list(scopes))
        .annotate(bucket=_bucket("occurred_at", days))
        .values_list("source", "bucket")
        .annotate(number=Count("pk"))
        .order_by()
    )
    for slug, bucket, number in rows:
        if bucket < len(days):
            counts.setdefault(slug, [0] * len(days))[bucket] = number
    return counts


def _runs(days: Sequence[date]) -> dict[date, tuple[int, int]]:
    """Finished runs and requests of each day for which runs are still kept."""
    known = days[-min(len(days), job_options.KEEP_DAYS.value) :]
    rows = (
        JobRun.objects.filter(finished_at__gte=_starts(known)[0])
        .annotate(bucket=_bucket("finished_at", known))
        .values_list("bucket")
        .annotate(number=Count("pk"), requests=Sum("http_request_count"))
        .order_by()
    )
    return {known[bucket]: (number, requests or 0) for bucket, number, requests in rows if bucket < len(known)}


def _was_off(day: date, days: Sequence[date], runs: dict[date, tuple[int, int]]) -> bool:
    """No item and no finished run: nobody looked. Older runs are forgotten: no conclusion about older days."""
    return day in days[-job_options.KEEP_DAYS.value :] and day not in runs and day != days[-1]


def _first_measured(days: Sequence[date], totals: Sequence[int]) -> int:
    """Index of the first day on which this desk was there."""
    first = next(index for index, total in enumerate(totals) if total)
    if first and StreamEntry.objects.filter(occurred_at__lt=_starts(days)[0]).exists():
        return 0
    return first


def _titles(counts: dict[str, list[int]]) -> list[tuple[str, str]]:
    """Systems in menu order; a system that is gone keeps its slug as its name."""
    known = [(source.slug, _(source.title)) for source in registry.sources() if source.slug in counts]
    return known + [(slug, slug) for slug in sorted(counts) if slug not in dict(known)]


def _finding(days: Sequence[date], totals: Sequence[int]) -> str:
    top = max(range(len(days)), key=lambda index: totals[index])
    return _("New and changed items per day and source. Highest: %(most)s on %(day)s. Today so far: %(today)s.") % {
        "most": formatting.number_text(totals[top]),
        "day": formatting.day_text(days[top]),
        "today": formatting.number_text(totals[-1]),
    }
