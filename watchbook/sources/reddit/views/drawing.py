"""Hours and days of crawling as charts. Rows in, drawings out; an hour without a row was not measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import dropwhile

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from watchbook.base.clock import SHANGHAI
from watchbook.core.ui.charts import Chart, Limit, Series, bars, heat, lines
from watchbook.core.ui.charts.record import Value
from watchbook.core.ui.moments import number_text
from watchbook.sources.reddit import options
from watchbook.sources.reddit.models import CrawlDay, CrawlMetrics

HOURS = 48
HEAT_DAYS = 7

Hour = tuple[datetime, CrawlMetrics | None]


def hours_of(rows: Sequence[CrawlMetrics], now: datetime) -> list[Hour]:
    """The last hours with what was measured in each, from the first that was measured at all."""
    by_hour = _by_hour(rows)
    this = now.astimezone(SHANGHAI).replace(minute=0, second=0, microsecond=0)
    starts = [this - timedelta(hours=back) for back in range(HOURS - 1, -1, -1)]
    found: list[Hour] = [(start, by_hour.get((start.date(), start.hour))) for start in starts]
    found = list(dropwhile(lambda hour: hour[1] is None, found))
    # The hour that has just begun is not missing, it is not there yet.
    return found[:-1] if found and found[-1][1] is None else found


def _by_hour(rows: Sequence[CrawlMetrics]) -> dict[tuple[date, int], CrawlMetrics]:
    return {(row.metric_date, row.metric_hour): row for row in rows}


@dataclass(frozen=True)
class HourCharts:
    """None where there is no measurement."""

    posts: Chart | None
    visits: Chart | None
    freshness: Chart | None
    cache: Chart | None


def hour_charts(hours: Sequence[Hour]) -> HourCharts:
    if not hours:
        return HourCharts(None, None, None, None)
    places = [start for start, _row in hours]

    def values(pick: Callable[[CrawlMetrics], Value]) -> list[Value]:
        return [pick(row) if row is not None else None for _start, row in hours]

    new = values(lambda row: row.total_new_posts)
    return HourCharts(
        posts=bars(
            places, [Series(pgettext("chart", "new posts"), new, "sys-reddit")], label=_sum_label(new), place="half"
        ),
        visits=_visits(places, values),
        freshness=_freshness(
            places,
            values(lambda row: _minutes(row.freshness_p50_seconds)),
            values(lambda row: _minutes(row.freshness_p95_seconds)),
        ),
        cache=_cache(
            places, values(lambda row: round(100 * row.cache_hits / row.cache_reads, 1) if row.cache_reads else None)
        ),
    )


def _visits(places: Sequence[datetime], values: Callable[..., list[Value]]) -> Chart:
    ok, empty, failed = (
        values(lambda row: row.successful_crawls),
        values(lambda row: row.empty_crawls),
        values(lambda row: row.failed_crawls),
    )
    series = [
        Series(pgettext("chart", "read"), ok, "c-h4"),
        Series(pgettext("chart", "empty"), empty, "c-h1"),
        Series(pgettext("chart", "failed"), failed, "c-del"),
    ]
    label = _("Visits per hour: %(ok)s read, %(empty)s empty, %(failed)s failed.") % {
        "ok": _total(ok),
        "empty": _total(empty),
        "failed": _total(failed),
    }
    return bars(places, series, label=label, place="half")


def _freshness(places: Sequence[date | datetime], p50: list[Value], p95: list[Value]) -> Chart | None:
    known = [value for value in p50 if value is not None]
    if not known:
        return None
    label = _("Minutes from posted to first seen; half of the posts within %(n)s in the last measurement.") % {
        "n": number_text(known[-1])
    }
    return lines(places, [Series("p95", p95, "c-h3"), Series("p50", p50, "c-h5")], label=label, place="half")


def _cache(places: Sequence[datetime], rates: list[Value]) -> Chart | None:
    known = [value for value in rates if value is not None]
    if not known:
        return None
    least = 100 * options.CACHE_HIT_THRESHOLD.value
    limit = Limit(pgettext("chart", "%(n)s least") % {"n": f"{least:.0f}"}, least)
    label = _("Share of reads that needed no cold store; %(n)s %% in the last hour that had reads.") % {
        "n": number_text(known[-1])
    }
    top = Series(pgettext("chart", "hit rate"), rates, "c-h5")
    return lines(places, [top], limits=[limit], label=label, unit="%", place="half")


def heat_chart(rows: Sequence[CrawlMetrics], now: datetime) -> Chart | None:
    """Requests by hour and day, days of Shanghai as the rows have them."""
    if not rows:
        return None
    by_hour = _by_hour(rows)
    wall = now.astimezone(SHANGHAI)
    first = min(row.metric_date for row in rows)
    days = [day for back in range(HEAT_DAYS - 1, -1, -1) if (day := wall.date() - timedelta(days=back)) >= first]
    values = [
        [_requests(by_hour.get((day, hour))) for hour in range(wall.hour + 1 if day == wall.date() else 24)]
        for day in days
    ]
    most = max((value for row in values for value in row if value is not None), default=0)
    label = _("Requests per hour; %(n)s in the busiest.") % {"n": number_text(most)}
    return heat(days, values, label=label, unit=_("requests"), place="half")


def _requests(row: CrawlMetrics | None) -> Value:
    return row.requests if row is not None else None


@dataclass(frozen=True)
class DayCharts:
    posts: Chart | None
    freshness: Chart | None


def day_charts(days: Sequence[CrawlDay]) -> DayCharts:
    """From the first day to the last that was summed up; a day between them without a row was not measured."""
    if not days:
        return DayCharts(None, None)
    by_day: Mapping[date, CrawlDay] = {row.metric_date: row for row in days}
    span = (days[-1].metric_date - days[0].metric_date).days
    places = [days[0].metric_date + timedelta(days=n) for n in range(span + 1)]
    new: list[Value] = [by_day[day].total_new_posts if day in by_day else None for day in places]

    def minutes(name: str) -> list[Value]:
        return [_minutes(getattr(by_day[day], name)) if day in by_day else None for day in places]

    return DayCharts(
        bars(places, [Series(pgettext("chart", "new posts"), new, "sys-reddit")], label=_sum_label(new), place="half"),
        _freshness(places, minutes("freshness_p50_seconds"), minutes("freshness_p95_seconds")),
    )


def _minutes(seconds: float | None) -> Value:
    return None if seconds is None else round(seconds / 60, 1)


def _total(values: Sequence[Value]) -> str:
    return number_text(sum(int(value) for value in values if value is not None))


def _sum_label(values: Sequence[Value]) -> str:
    return _("New posts, %(n)s in all.") % {"n": _total(values)}
