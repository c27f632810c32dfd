"""Items per day and system: the figures of the cards, and the requests of the day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import Exists, Sum
from django.utils.translation import gettext as _

from watchbook.core.jobs import options as job_options
from watchbook.core.jobs.models import JobRun
from watchbook.kit import formatting
from watchbook.kit.badges import CARD_DAYS, Card
from watchbook.kit.charts import Chart, Series, bars
from watchbook.kit.charts.svg import shown
from watchbook.kit.days import DayAxis, end_of, starts_of

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
    requests = _requests_since(starts_of(axis.days[-1:])[0])
    counts = {slug: card.days for slug, card in cards.items() if any(card.days.get(day) for day in axis.days)}
    if not counts:
        return Activity(None, requests_today=requests)
    total = {day: sum(days.get(day, 0) for days in counts.values()) for day in axis.days}
    first = min(day for days in counts.values() for day in days)
    empty = [day for day in axis.days if not total[day]]
    silent = {day for day in empty if day < first} | _off_days([day for day in empty if day >= first], axis)
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


def _requests_since(start: datetime) -> int:
    """Requests of the runs that ended since then."""
    found = JobRun.objects.filter(finished_at__gte=start).aggregate(requests=Sum("http_request_count"))
    return found["requests"] or 0


def _off_days(days: Sequence[date], axis: DayAxis) -> set[date]:
    """Those of these days without a finished run: nothing was measured. Older runs are deleted: no conclusion then."""
    kept = axis.days[-job_options.KEEP_DAYS.value : -1]
    asked = [day for day in days if day in kept]
    if not asked:
        return set()
    # One query for all days: counting the runs of a busy fortnight would read all of them.
    ended = (JobRun.objects.filter(finished_at__range=(starts_of([day])[0], end_of(day))) for day in asked)
    rows = JobRun.objects.order_by("pk").values_list(*[Exists(runs) for runs in ended])[:1]
    was_on = next(iter(rows), [False] * len(asked))
    return {day for day, is_on in zip(asked, was_on, strict=True) if not is_on}


def _finding(days: Sequence[date], totals: Sequence[int]) -> str:
    top = max(range(len(days)), key=lambda index: totals[index])
    return _("Items per day and source. Highest: %(most)s on %(day)s. Today so far: %(today)s.") % {
        "most": formatting.number_text(totals[top]),
        "day": formatting.day_text(days[top]),
        "today": formatting.number_text(totals[-1]),
    }
