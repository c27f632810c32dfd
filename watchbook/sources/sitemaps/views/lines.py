"""Checks as lines of a log: what each found, in words; neighbours that found nothing are one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby, zip_longest
from uuid import UUID

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.core.ui import moments
from watchbook.sources.sitemaps.models import (
    ChangeRecord,
    ChangeType,
    Health,
    MonitorTask,
    NotificationLog,
    SitemapCheck,
)
from watchbook.sources.sitemaps.sentences import error_text
from watchbook.sources.sitemaps.views.own import LONG_COLUMNS
from watchbook.sources.sitemaps.views.words import FAILED, requests_text, urls_text


@dataclass(frozen=True)
class Line:
    """One line. Without a title the difference speaks; `change_id` is set where there is something to open."""

    at: datetime
    tone: str
    shape: str
    title: str = ""
    added: int = 0
    removed: int = 0
    modified: int = 0
    more: tuple[str, ...] = ()
    change_id: UUID | None = None
    # Neighbours with the same mark say the same and become one line: how many, since when, and what they cost.
    same: str = ""
    checks: int = 1
    since: datetime | None = None
    requests: int = 0

    @property
    def has_delta(self) -> bool:
        return bool(self.added or self.removed or self.modified)


@dataclass(frozen=True)
class DayOfLines:
    title: str
    lines: tuple[Line, ...]


def checks_of(monitor: MonitorTask) -> QuerySet[SitemapCheck]:
    """Checks with their change record and `told`, the number of channels that were told."""
    deferred = [f"change_record__{name}" for name in LONG_COLUMNS]
    rows = SitemapCheck.objects.filter(monitor_task=monitor).select_related("change_record")
    return rows.defer(*deferred).annotate(told=_told(OuterRef("change_record_id")))


def changes_of(monitor: MonitorTask) -> QuerySet[ChangeRecord]:
    """Changes and baselines, with `told`."""
    rows = ChangeRecord.objects.filter(monitor_task=monitor).exclude(change_type=ChangeType.NO_CHANGE)
    return rows.select_related("new_snapshot").only(
        "created_at", "change_type", "added_count", "removed_count", "modified_count", "noisy_count",
        "rolled_off_count", "health", "monitor_task_id", "new_snapshot__url_count",
    ).annotate(told=_told(OuterRef("pk")))  # fmt: skip


def _told(record: OuterRef) -> Subquery:
    logs = NotificationLog.objects.filter(change_record=record).order_by().values("change_record")
    return Subquery(logs.annotate(number=Count("pk")).values("number"))


def lines_of(checks: Sequence[SitemapCheck], *, across_days: bool = False) -> list[Line]:
    """Newest first, as the checks are given. Checks that say the same are one line, of a day or of all."""
    found: list[Line] = []
    for check, older in zip_longest(checks, checks[1:]):
        line = _line(check, older)
        if found and _are_one(found[-1], line, across_days=across_days):
            joined = found[-1].requests + line.requests
            found[-1] = replace(found[-1], checks=found[-1].checks + 1, since=line.at, requests=joined)
        else:
            found.append(line)
    return [_counted(line) for line in found]


def by_day(lines: Iterable[Line]) -> list[DayOfLines]:
    return [
        DayOfLines(moments.log_heading(day), tuple(group))
        for day, group in groupby(lines, key=lambda line: moments.local(line.at).date())
    ]


def change_line(record: ChangeRecord, told: int | None) -> Line:
    """A change or a baseline."""
    if record.change_type == ChangeType.INITIAL:
        return _baseline(record, record.new_snapshot.url_count)
    is_whole = record.health != Health.DEGRADED
    modified = record.modified_count - record.noisy_count
    line = Line(
        record.created_at,
        "info" if is_whole else "warn",
        "s-info" if is_whole else "s-warn",
        "" if is_whole else _("Degraded check"),
        record.added_count,
        record.removed_count,
        modified,
        _told_text(record, told or 0),
        record.pk,
    )
    if not is_whole:
        return replace(line, more=(_("what was not read keeps its last content, no removals told"), *line.more))
    return line if line.has_delta else replace(line, title=_("Noise only"), tone="off", shape="s-off")


def _baseline(record: ChangeRecord, count: int) -> Line:
    more = (urls_text(count), _("nobody is told of a baseline"))
    return Line(record.created_at, "off", "s-off", _("Baseline"), more=more, change_id=record.pk)


def _told_text(record: ChangeRecord, told: int) -> tuple[str, ...]:
    if told:
        return (ngettext("told to %(n)s channel", "told to %(n)s channels", told) % {"n": told},)
    if not (record.added_count or record.removed_count or record.modified_count - record.noisy_count):
        count = record.noisy_count
        noisy = ngettext("%(n)s URL that always changes", "%(n)s URLs that always change", count)
        return noisy % {"n": moments.number_text(count)}, _("not told")
    return (_("told to nobody"),)


def _line(check: SitemapCheck, older: SitemapCheck | None) -> Line:
    if check.outcome in FAILED:
        return _failed(check)
    if check.outcome == Health.SUSPECT:
        return _suspect(check)
    record = check.change_record
    if record is not None and record.change_type != ChangeType.NO_CHANGE:
        if record.change_type == ChangeType.INITIAL:
            return _baseline(record, check.url_count or 0)
        return change_line(record, check.told)  # type: ignore[attr-defined]
    if check.outcome == Health.DEGRADED:
        more = (_("what was not read keeps its last content, no removals told"),)
        return Line(check.created_at, "warn", "s-warn", _("Degraded check"), more=more)
    if older is not None and older.outcome == Health.SUSPECT:
        title = _("Back to %(n)s") % {"n": moments.number_text(check.url_count)}
        more = (_("nothing was gone; nobody was told"),)
        return Line(check.created_at, "off", "s-off", title, more=more)
    requests = check.http_request_count
    return Line(check.created_at, "off", "s-off", _("No change"), same="no_change", requests=requests)


def _failed(check: SitemapCheck) -> Line:
    return Line(
        check.created_at,
        "bad",
        "s-bad",
        _("Failed check"),
        more=(error_text(check.message),),
        same=f"failed {check.message}",
        requests=check.http_request_count,
    )


def _suspect(check: SitemapCheck) -> Line:
    before = (check.url_count or 0) + check.removed_count
    share = round(100 * check.removed_count / before) if before else 100
    more = (_("suspect: %(share)s %% gone, read again after 5 min") % {"share": share},)
    return Line(check.created_at, "warn", "s-hold", removed=check.removed_count, more=more)


def _are_one(newer: Line, older: Line, *, across_days: bool) -> bool:
    same_day = moments.local(newer.at).date() == moments.local(older.at).date()
    return bool(newer.same) and newer.same == older.same and (across_days or same_day)


def _counted(line: Line) -> Line:
    """The words of a line that may stand for several checks, once it is known for how many."""
    if not line.same:
        return line
    if line.checks == 1:
        return replace(line, more=(*line.more, requests_text(line.requests)))
    checks = ngettext("%(n)s check", "%(n)s checks", line.checks) % {"n": line.checks}
    return replace(line, more=(*line.more, checks, _since(line), requests_text(line.requests)))


def _since(line: Line) -> str:
    assert line.since is not None
    same_day = moments.local(line.at).date() == moments.local(line.since).date()
    return _("since %(time)s") % {"time": moments.moment_text(line.since, "time" if same_day else "full")}
