"""The history of a monitor: days as chart axis, URL counts, changes and cost per day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from django.db.models import Count, Max, Q, Sum
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from watchbook.kit import formatting
from watchbook.kit.charts import Chart, Note, checks, steps
from watchbook.kit.charts.svg import Series, Value, runs, shown
from watchbook.kit.days import DayAxis, starts_of
from watchbook.systems.sitemaps.compare.reliability import LEAST_REMOVED
from watchbook.systems.sitemaps.health import FAILED
from watchbook.systems.sitemaps.models import ChangeRecord, ChangeType, Health, MonitorTask, SitemapCheck

DAYS, WEEK = 60, 7
NOTED = 2
MOST_CHECKS = 200  # marks of the first day; the newest
READ = (Health.OK, Health.DEGRADED)


@dataclass
class Day:
    """Results of one day. `close` is None if no check succeeded."""

    close: int | None = None
    checks: int = 0
    changed: int = 0
    failed: int = 0
    added: int = 0
    removed: int = 0
    requests: int = 0
    bytes_read: int = 0
    failed_at: datetime | None = None


@dataclass(frozen=True)
class Week:
    """Totals of the last 7 days."""

    checks: int = 0
    changed: int = 0
    added: int = 0
    removed: int = 0
    failed: int = 0
    failed_at: datetime | None = None
    requests: int = 0
    bytes_read: int = 0
    requests_today: int = 0

    @property
    def read(self) -> int:
        return self.checks - self.failed


@dataclass(frozen=True)
class History:
    chart: Chart | None
    week: Week
    # Spans of days that are hatched, and whether checks failed in them.
    without_data: list[tuple[date, date]] = field(default_factory=list)
    has_failures: bool = False
    # What the chart covers, and what a phone shows of it.
    period: str = ""
    short_period: str = ""
    # On the first day one mark per check is shown instead of days; so many URLs are the baseline.
    is_first_day: bool = False
    baseline: int = 0


def history(monitor: MonitorTask, now: datetime) -> History:
    axis = DayAxis.last(DAYS, now)
    days = _days(monitor, axis)
    week = _week(days)
    first = next((place for place, day in enumerate(days) if day.close is not None), None)
    if first is None:
        return History(None, week)
    # A new monitor shows only its own days. Today is shown after its first check.
    end = len(days) if days[-1].checks else len(days) - 1
    kept, places = days[first:end], axis.days[first:end]
    if len(kept) == 1:
        return _first_day(monitor, starts_of(places)[0], week, now)
    without_data = runs([day.close is None for day in kept])
    return History(
        _chart(places, kept, _notes(monitor, axis, first)),
        week,
        [(places[begin], places[last]) for begin, last in without_data],
        any(day.failed for begin, last in without_data for day in kept[begin : last + 1]),
        _period(len(kept)),
        _period(shown("s", len(kept))),
    )


def _first_day(monitor: MonitorTask, start: datetime, week: Week, now: datetime) -> History:
    """Show every check of the day: one bar per day says nothing yet."""
    rows = SitemapCheck.objects.filter(monitor_task=monitor, created_at__gte=start).order_by("-created_at", "-pk")
    record = "change_record__"
    names = ("created_at", "outcome", "url_count", *(f"{record}{kind}_count" for kind in ("added", "removed")))
    found = list(rows.values(*names, f"{record}modified_count", f"{record}noisy_count")[:MOST_CHECKS])[::-1]
    first = next(place for place, row in enumerate(found) if row["outcome"] in READ)
    baseline = found[first]["url_count"] or 0
    figures = [_figures(row, place == first) for place, row in enumerate(found)]
    titles = (pgettext("chart", "new"), pgettext("chart", "changed"), pgettext("chart", "removed"))
    css = ("c-add", "sys-sitemaps", "c-del")
    series = [Series(title, [row[n] for row in figures], css[n]) for n, title in enumerate(titles)]
    text = ngettext("first check, %(n)s URL", "first check, %(n)s URLs", baseline) % {
        "n": formatting.number_text(baseline)
    }
    label = ngettext("%(n)s check on the first day.", "%(n)s checks on the first day.", len(found)) % {"n": len(found)}
    moments = [row["created_at"] for row in found]
    chart = checks(moments, series, now=now, first=text, label=label, below=titles[2:])
    period = _("first day, %(day)s") % {"day": formatting.heading_text(formatting.local(now).date())}
    return History(chart, week, period=period, is_first_day=True, baseline=baseline)


def _figures(row: dict[str, Any], is_baseline: bool) -> tuple[Value, Value, Value]:
    """New, changed and removed URLs of a check; None for a check that failed."""
    if row["outcome"] in FAILED:
        return None, None, None
    if is_baseline:
        return 0, 0, 0
    added, removed, modified, noisy = (
        row[f"change_record__{kind}_count"] or 0 for kind in ("added", "removed", "modified", "noisy")
    )
    return added, modified - noisy, removed


def _period(count: int) -> str:
    return ngettext("%(n)s day, last check of each day", "%(n)s days, last check of each day", count) % {"n": count}


def _days(monitor: MonitorTask, axis: DayAxis) -> list[Day]:
    found = [Day() for _day in axis.days]
    closing: dict[int, int] = {}
    for row in _grouped(monitor, axis):
        place, last_read = row.pop("place"), row.pop("last_read")
        for name, value in row.items():
            setattr(found[place], name, value if name == "failed_at" else value or 0)
        if last_read is not None:
            closing[last_read] = place
    for pk, count in SitemapCheck.objects.filter(pk__in=closing).values_list("pk", "url_count"):
        found[closing[pk]].close = count
    return found


def _grouped(monitor: MonitorTask, axis: DayAxis) -> Iterator[dict[str, Any]]:
    failed = Q(outcome__in=FAILED)
    rows = SitemapCheck.objects.filter(monitor_task=monitor, created_at__gte=axis.start)
    yield from (
        rows.annotate(place=axis.bucket("created_at"))
        .values("place")
        .annotate(
            last_read=Max("pk", filter=Q(outcome__in=READ)),
            checks=Count("pk"),
            changed=Count("pk", filter=Q(change_record__change_type=ChangeType.CHANGED)),
            failed=Count("pk", filter=failed),
            failed_at=Max("created_at", filter=failed),
            added=Sum("change_record__added_count"),
            removed=Sum("change_record__removed_count"),
            requests=Sum("http_request_count"),
            bytes_read=Sum("bytes_read"),
        )
        .order_by()
    )


def _week(days: Sequence[Day]) -> Week:
    last = days[-WEEK:]
    return Week(
        checks=sum(day.checks for day in last),
        changed=sum(day.changed for day in last),
        added=sum(day.added for day in last),
        removed=sum(day.removed for day in last),
        failed=sum(day.failed for day in last),
        failed_at=max((day.failed_at for day in last if day.failed_at), default=None),
        requests=sum(day.requests for day in last),
        bytes_read=sum(day.bytes_read for day in last),
        requests_today=days[-1].requests,
    )


def _notes(monitor: MonitorTask, axis: DayAxis, start: int) -> list[Note]:
    """Return the largest removals that were confirmed by a second check."""
    rows = ChangeRecord.objects.filter(
        monitor_task=monitor,
        change_type=ChangeType.CHANGED,
        removed_count__gte=LEAST_REMOVED,
        created_at__gte=axis.start,
    )
    found = []
    for created_at, removed, notes in rows.order_by("-removed_count").values_list(
        "created_at", "removed_count", "notes"
    )[:NOTED]:
        if any(note["code"] == "confirmed_in_2_checks" for note in notes):
            text = _("−%(n)s, confirmed in 2 checks") % {"n": formatting.number_text(removed)}
            found.append(Note(axis.place(created_at) - start, text))
    return found


def _chart(places: Sequence[date], days: Sequence[Day], notes: Sequence[Note]) -> Chart:
    closes: list[Value] = [day.close for day in days]
    known = [close for close in closes if close is not None]
    label = _("URL count over %(days)s days, from %(first)s to %(last)s.") % {
        "days": len(days),
        "first": formatting.number_text(known[0]),
        "last": formatting.number_text(known[-1]),
    }
    return steps(
        places,
        closes,
        added=[day.added for day in days],
        removed=[day.removed for day in days],
        label=label,
        title=_("URLs"),
        notes=notes,
    )
