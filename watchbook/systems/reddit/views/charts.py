"""Charts of hours and days. An hour without a row has no data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import dropwhile

from django.db.models import Case, IntegerField, When
from django.db.models import Value as SqlValue
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from watchbook.base.clock import SHANGHAI
from watchbook.kit import formatting
from watchbook.kit.charts import Chart, Limit, Series, bars, heat, lines
from watchbook.kit.charts.svg import Value
from watchbook.kit.formatting import number_text
from watchbook.systems.reddit import options
from watchbook.systems.reddit.models import CrawlDay, CrawlMetrics


def last_days(count: int, now: datetime) -> list[date]:
    today = formatting.local(now).date()
    return [today - timedelta(days=back) for back in range(count - 1, -1, -1)]


def start_of(day: date) -> datetime:
    """Return the start of a day in the time zone of the user."""
    return datetime.combine(day, time(0), tzinfo=timezone.get_current_timezone())


def day_index(days: list[date], column: str) -> Case:
    """Return SQL for the index of the day. The boundaries are values: not every database knows time zones."""
    ends = [start_of(day + timedelta(days=1)) for day in days]
    return Case(
        *(When(**{f"{column}__lt": end}, then=SqlValue(place)) for place, end in enumerate(ends[:-1])),
        default=SqlValue(len(days) - 1),
        output_field=IntegerField(),
    )


HOURS = 48
HEAT_DAYS = 7

Hour = tuple[datetime, CrawlMetrics | None]


def hours_of(rows: Sequence[CrawlMetrics], now: datetime) -> list[Hour]:
    """Return the last hours with their rows, starting at the first hour with data."""
    by_hour = _by_hour(rows)
    this = now.astimezone(SHANGHAI).replace(minute=0, second=0, microsecond=0)
    starts = [this - timedelta(hours=back) for back in range(HOURS - 1, -1, -1)]
    found: list[Hour] = [(start, by_hour.get((start.date(), start.hour))) for start in starts]
    found = list(dropwhile(lambda hour: hour[1] is None, found))
    # The current hour may have no row yet.
    return found[:-1] if found and found[-1][1] is None else found


def _by_hour(rows: Sequence[CrawlMetrics]) -> dict[tuple[date, int], CrawlMetrics]:
    return {(row.metric_date, row.metric_hour): row for row in rows}


@dataclass(frozen=True)
class HourCharts:
    """Charts per hour; None without data."""

    posts: Chart | None
    crawls: Chart | None
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
        crawls=_crawls(places, values),
        freshness=_freshness(
            places,
            values(lambda row: _minutes(row.freshness_p50_seconds)),
            values(lambda row: _minutes(row.freshness_p95_seconds)),
        ),
        cache=_cache(
            places, values(lambda row: round(100 * row.cache_hits / row.cache_reads, 1) if row.cache_reads else None)
        ),
    )


def _crawls(places: Sequence[datetime], values: Callable[..., list[Value]]) -> Chart:
    ok, empty, failed = (
        values(lambda row: row.successful_crawls),
        values(lambda row: row.empty_crawls),
        values(lambda row: row.failed_crawls),
    )
    series = [
        Series(pgettext("chart", "successful"), ok, "c-h4"),
        Series(pgettext("chart", "empty"), empty, "c-h1"),
        Series(pgettext("chart", "failed"), failed, "c-del"),
    ]
    label = _("Crawls per hour: %(ok)s successful, %(empty)s empty, %(failed)s failed.") % {
        "ok": _total(ok),
        "empty": _total(empty),
        "failed": _total(failed),
    }
    return bars(places, series, label=label, place="half")


def _freshness(places: Sequence[date | datetime], p50: list[Value], p95: list[Value]) -> Chart | None:
    known = [value for value in p50 if value is not None]
    if not known:
        return None
    label = _("Minutes from posted to first seen; median in the last hour: %(n)s.") % {"n": number_text(known[-1])}
    return lines(places, [Series("p95", p95, "c-h3"), Series("p50", p50, "c-h5")], label=label, place="half")


def _cache(places: Sequence[datetime], rates: list[Value]) -> Chart | None:
    known = [value for value in rates if value is not None]
    if not known:
        return None
    least = 100 * options.CACHE_HIT_THRESHOLD.value
    limit = Limit(pgettext("chart", "minimum %(n)s") % {"n": f"{least:.0f}"}, least)
    label = _("Share of reads answered by the cache; %(n)s%% in the last hour with reads.") % {
        "n": number_text(known[-1])
    }
    top = Series(pgettext("chart", "hit rate"), rates, "c-h5")
    return lines(places, [top], limits=[limit], label=label, unit="%", place="half")


def heat_chart(rows: Sequence[CrawlMetrics], now: datetime) -> Chart | None:
    """Return the chart of requests per hour and day, in Shanghai time like the rows."""
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
    label = _("Requests per hour; maximum %(n)s.") % {"n": number_text(most)}
    return heat(days, values, label=label, unit=_("requests"), place="half")


def _requests(row: CrawlMetrics | None) -> Value:
    return row.requests if row is not None else None


@dataclass(frozen=True)
class DayCharts:
    posts: Chart | None
    freshness: Chart | None


def day_charts(days: Sequence[CrawlDay]) -> DayCharts:
    """Return charts from the first to the last day with a row. A day without a row has no data."""
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
    return _("New posts, %(n)s in total.") % {"n": _total(values)}
