"""Items per day and system: the figures of the cards, and the requests of the day, in one query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import Count, Sum
from django.utils.translation import gettext as _

from watchbook.core.jobs import options as job_options
from watchbook.core.jobs.models import JobRun
from watchbook.kit import formatting
from watchbook.kit.badges import CARD_DAYS, Card
from watchbook.kit.charts import Chart, Series, bars
from watchbook.kit.charts.svg import shown
from watchbook.kit.days import DayAxis

DAYS = CARD_DAYS
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


def activity(cards: Mapping[str, Card], now: datetime) -> Activity:
    """Add up what the cards count, by slug."""
    axis = DayAxis.last(DAYS, now)
    runs = _runs(axis)
    requests = runs.get(axis.days[-1], (0, 0))[1]
    counts = {slug: card.days for slug, card in cards.items() if any(card.days.get(day) for day in axis.days)}
    if not counts:
        return Activity(None, requests_today=requests)
    total = {day: sum(days.get(day, 0) for days in counts.values()) for day in axis.days}
    first = min(day for days in counts.values() for day in days)
    silent = {day for day in axis.days if not total[day] and (day < first or _was_off(day, axis, runs))}
    # A young desk shows its own days, not a month of hatching.
    kept = axis.days[max(0, min((first - axis.days[0]).days, DAYS - FEWEST_DAYS)) :]
    series = [
        Series(cards[slug].title, [None if day in silent else days.get(day, 0) for day in kept], f"sys-{slug}")
        for slug, days in counts.items()
    ]
    chart = bars(kept, series, label=_finding(kept, [total[day] for day in kept]))
    return Activity(chart, tuple(day for day in kept if day in silent and day >= first), requests, len(kept))


def _period(day_count: int) -> str:
    return _("last %(n)s days") % {"n": day_count}


def _runs(axis: DayAxis) -> dict[date, tuple[int, int]]:
    """Finished runs and requests of each day for which runs are still kept."""
    known = DayAxis(axis.days[-min(len(axis), job_options.KEEP_DAYS.value) :])
    rows = (
        JobRun.objects.filter(finished_at__gte=known.start)
        .annotate(place=known.bucket("finished_at"))
        .values_list("place")
        .annotate(number=Count("pk"), requests=Sum("http_request_count"))
        .order_by()
    )
    return {known.days[place]: (number, requests or 0) for place, number, requests in rows}


def _was_off(day: date, axis: DayAxis, runs: dict[date, tuple[int, int]]) -> bool:
    """No finished run: nothing was measured. Older runs are deleted: no conclusion about older days."""
    return day in axis.days[-job_options.KEEP_DAYS.value :] and day not in runs and day != axis.days[-1]


def _finding(days: Sequence[date], totals: Sequence[int]) -> str:
    top = max(range(len(days)), key=lambda index: totals[index])
    return _("Items per day and source. Highest: %(most)s on %(day)s. Today so far: %(today)s.") % {
        "most": formatting.number_text(totals[top]),
        "day": formatting.day_text(days[top]),
        "today": formatting.number_text(totals[-1]),
    }
