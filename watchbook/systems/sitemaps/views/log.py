"""The log of checks. Consecutive checks with the same result become one entry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby, zip_longest
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.kit import formatting
from watchbook.systems.sitemaps.health import FAILED
from watchbook.systems.sitemaps.models import (
    ChangeRecord,
    ChangeType,
    Health,
    MonitorTask,
    SitemapCheck,
)
from watchbook.systems.sitemaps.records import error_text
from watchbook.systems.sitemaps.views import LONG_COLUMNS, requests_text, urls_text


@dataclass(frozen=True)
class LogEntry:
    """One entry. Without a title the counts are shown; `change_id` links to a change."""

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
class DayEntries:
    title: str
    entries: tuple[LogEntry, ...]


def checks_of(monitor: MonitorTask) -> QuerySet[SitemapCheck]:
    """Return checks with their change record."""
    deferred = [f"change_record__{name}" for name in LONG_COLUMNS]
    rows = SitemapCheck.objects.filter(monitor_task=monitor).select_related("change_record")
    return rows.defer(*deferred)


def changes_of(monitor: MonitorTask) -> QuerySet[ChangeRecord]:
    """Return changes and baselines."""
    rows = ChangeRecord.objects.filter(monitor_task=monitor).exclude(change_type=ChangeType.NO_CHANGE)
    return rows.select_related("new_snapshot").only(
        "created_at", "change_type", "added_count", "removed_count", "modified_count", "noisy_count",
        "rolled_off_count", "health", "monitor_task_id", "new_snapshot__url_count",
        "delivery_count", "sent_count", "failing_count",
    )  # fmt: skip


def delivery_texts(record: ChangeRecord) -> tuple[str, ...]:
    """Return what became of the deliveries of a change: sent, failing, pending."""
    sent, failing = record.sent_count, record.failing_count
    pending = max(record.delivery_count - sent - failing, 0)
    texts = (
        (sent, ngettext("notified %(n)s channel", "notified %(n)s channels", sent)),
        (failing, ngettext("%(n)s delivery failing", "%(n)s deliveries failing", failing)),
        (pending, ngettext("%(n)s delivery pending", "%(n)s deliveries pending", pending)),
    )
    return tuple(text % {"n": count} for count, text in texts if count)


def entries_of(checks: Sequence[SitemapCheck], *, across_days: bool = False) -> list[LogEntry]:
    """Return entries, newest first. Equal checks are joined, per day or across days."""
    found: list[LogEntry] = []
    for check, older in zip_longest(checks, checks[1:]):
        line = _line(check, older)
        if found and _are_one(found[-1], line, across_days=across_days):
            joined = found[-1].requests + line.requests
            found[-1] = replace(found[-1], checks=found[-1].checks + 1, since=line.at, requests=joined)
        else:
            found.append(line)
    return [_counted(line) for line in found]


def by_day(entries: Iterable[LogEntry]) -> list[DayEntries]:
    return [
        DayEntries(formatting.log_heading(day), tuple(group))
        for day, group in groupby(entries, key=lambda entry: formatting.local(entry.at).date())
    ]


def change_entry(record: ChangeRecord) -> LogEntry:
    """Return the entry of a change or a baseline."""
    if record.change_type == ChangeType.INITIAL:
        return _baseline(record, record.new_snapshot.url_count)
    is_whole = record.health != Health.DEGRADED
    modified = record.modified_count - record.noisy_count
    line = LogEntry(
        record.created_at,
        "info" if is_whole else "warn",
        "s-info" if is_whole else "s-warn",
        "" if is_whole else _("Incomplete check"),
        record.added_count,
        record.removed_count,
        modified,
        _notified_text(record),
        record.pk,
    )
    if not is_whole:
        return replace(line, more=(_("unread files keep their last content; removals are not notified"), *line.more))
    return (
        line if line.has_delta else replace(line, title=_("Frequently changing URLs only"), tone="off", shape="s-off")
    )


def _baseline(record: ChangeRecord, count: int) -> LogEntry:
    more = (urls_text(count), _("baselines are not notified"))
    return LogEntry(record.created_at, "off", "s-off", _("Baseline"), more=more, change_id=record.pk)


def _notified_text(record: ChangeRecord) -> tuple[str, ...]:
    if record.delivery_count:
        return delivery_texts(record)
    if not (record.added_count or record.removed_count or record.modified_count - record.noisy_count):
        count = record.noisy_count
        noisy = ngettext("%(n)s frequently changing URL", "%(n)s frequently changing URLs", count)
        return noisy % {"n": formatting.number_text(count)}, _("not notified")
    return (_("not sent"),)


def _line(check: SitemapCheck, older: SitemapCheck | None) -> LogEntry:
    if check.outcome in FAILED:
        return _failed(check)
    if check.outcome == Health.SUSPECT:
        return _suspect(check)
    record = check.change_record
    if record is not None and record.change_type != ChangeType.NO_CHANGE:
        if record.change_type == ChangeType.INITIAL:
            return _baseline(record, check.url_count or 0)
        return change_entry(record)
    if check.outcome == Health.DEGRADED:
        more = (_("unread files keep their last content; removals are not notified"),)
        return LogEntry(check.created_at, "warn", "s-warn", _("Incomplete check"), more=more)
    if older is not None and older.outcome == Health.SUSPECT:
        title = _("Back to %(n)s URLs") % {"n": formatting.number_text(check.url_count)}
        more = (_("nothing was removed; not notified"),)
        return LogEntry(check.created_at, "off", "s-off", title, more=more)
    requests = check.http_request_count
    return LogEntry(check.created_at, "off", "s-off", _("No change"), same="no_change", requests=requests)


def _failed(check: SitemapCheck) -> LogEntry:
    return LogEntry(
        check.created_at,
        "bad",
        "s-bad",
        _("Failed check"),
        more=(error_text(check.message),),
        same=f"failed {check.message}",
        requests=check.http_request_count,
    )


def _suspect(check: SitemapCheck) -> LogEntry:
    before = (check.url_count or 0) + check.removed_count
    share = round(100 * check.removed_count / before) if before else 100
    more = (_("unconfirmed: %(share)s%% missing, next check after 5 min") % {"share": share},)
    return LogEntry(check.created_at, "warn", "s-hold", removed=check.removed_count, more=more)


def _are_one(newer: LogEntry, older: LogEntry, *, across_days: bool) -> bool:
    same_day = formatting.local(newer.at).date() == formatting.local(older.at).date()
    return bool(newer.same) and newer.same == older.same and (across_days or same_day)


def _counted(line: LogEntry) -> LogEntry:
    """Add the number of checks and requests to an entry."""
    if not line.same:
        return line
    if line.checks == 1:
        return replace(line, more=(*line.more, requests_text(line.requests)))
    checks = ngettext("%(n)s check", "%(n)s checks", line.checks) % {"n": line.checks}
    return replace(line, more=(*line.more, checks, _since(line), requests_text(line.requests)))


def _since(line: LogEntry) -> str:
    assert line.since is not None
    same_day = formatting.local(line.at).date() == formatting.local(line.since).date()
    return _("since %(time)s") % {"time": formatting.moment_text(line.since, "time" if same_day else "full")}
