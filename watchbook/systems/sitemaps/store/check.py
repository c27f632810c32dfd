"""Stores a check: snapshot, change record, files, monitor and notification, in one transaction.

The state of a monitor after a check follows the rules of `core.watching`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import chain, islice
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db.models import F
from django.utils.translation import gettext_noop

from watchbook.base.store import lists as sorted_lists
from watchbook.base.store.rows import upsert
from watchbook.base.text import cut
from watchbook.core import watching
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.watching import Plan, Schedule, Watched
from watchbook.systems.sitemaps.compare import ADDED, MINOR, MODIFIED, REMOVED, ROLLED_OFF, Difference, union_records
from watchbook.systems.sitemaps.models import (
    ERRORS_UNTIL_ERROR,
    LONGEST_WAIT,
    ChangeRecord,
    ChangeType,
    Health,
    MonitorTask,
    SitemapCheck,
    SitemapPart,
    SitemapSnapshot,
    UrlHistory,
    url_digest,
)
from watchbook.systems.sitemaps.records import CheckFailure, CheckResult, Cost, PartReading
from watchbook.systems.sitemaps.schedules import outside_quiet
from watchbook.systems.sitemaps.store import notifications
from watchbook.systems.sitemaps.store.lists import Noise, learn, write_changes

# Results of checks that read the sitemap and were accepted.
READ = (Health.OK, Health.DEGRADED)
CONFIRM_AFTER = timedelta(minutes=5)


def next_check(monitor: MonitorTask, now: datetime) -> datetime:
    """Return the next check as planned, after a check at `now`."""
    planned = watching.skipped(_watched(monitor), _plan(monitor), str(monitor.pk), now).next_at
    return _outside_quiet(monitor, planned)


def succeed(monitor: MonitorTask, health: str, now: datetime) -> bool:
    """Apply a successful check. Returns True if the monitor recovers from a notified error."""
    again_at = now + CONFIRM_AFTER if health == Health.SUSPECT else None
    step = watching.succeeded(_watched(monitor), _plan(monitor), str(monitor.pk), now, again_at=again_at)
    _take(monitor, step.watched)
    monitor.last_error = None
    monitor.health = health
    monitor.degraded_count = monitor.degraded_count + 1 if health == Health.DEGRADED else 0
    monitor.last_check_at = now
    if health in READ:
        monitor.last_success_at = now
    return step.recovered


def fail(monitor: MonitorTask, health: str, message: str, now: datetime, *, asked_pause: float | None) -> bool:
    """Apply a failed check. Returns True if the monitor enters the error state now."""
    step = watching.failed(_watched(monitor), _plan(monitor), str(monitor.pk), now, asked_pause=asked_pause)
    _take(monitor, step.watched)
    monitor.last_error = message
    monitor.health = health
    monitor.last_check_at = now
    return step.entered_error


def _plan(monitor: MonitorTask) -> Plan:
    interval = timedelta(minutes=monitor.check_interval_minutes)
    if monitor.schedule:
        return Plan(
            schedule=Schedule(cron=monitor.schedule), errors_until_error=ERRORS_UNTIL_ERROR, longest_wait=LONGEST_WAIT
        )
    return Plan(interval=interval, errors_until_error=ERRORS_UNTIL_ERROR, longest_wait=LONGEST_WAIT)


def _watched(monitor: MonitorTask) -> Watched:
    return Watched(monitor.status, monitor.error_count, monitor.told_error, monitor.next_check_at)


def _take(monitor: MonitorTask, watched: Watched) -> None:
    monitor.status, monitor.error_count = watched.status, watched.failures
    monitor.told_error = watched.error_notified
    monitor.next_check_at = _outside_quiet(monitor, watched.next_at)


def _outside_quiet(monitor: MonitorTask, moment: datetime) -> datetime:
    return outside_quiet(moment, monitor.quiet_hours) if monitor.quiet_hours else moment


CHECKED_FIELDS = [
    "status", "error_count", "last_error", "told_error", "health", "degraded_count", "last_check_at", "last_success_at",
    "next_check_at",
    "kind", "suspect_hash", "suspect_since", "whole_fetch_at", "current_snapshot", "updated_at",
]  # fmt: skip


# Above this many entries a list lives in a blob and its column holds the manifest.
INLINE_ENTRIES = 1000


def store_check(monitor: MonitorTask, checked: CheckResult, cost: Cost, folder: Path, now: datetime) -> SitemapCheck:
    """Store the result of a check, or that it must be confirmed."""
    if checked.health == Health.SUSPECT:
        return _store_suspect(monitor, checked, cost, now)
    record = _store_record(monitor, checked, folder, now)
    monitor.current_snapshot = record.new_snapshot
    monitor.kind = cut(str(checked.reading.root.summary.get("kind", "")), 12)
    monitor.suspect_hash, monitor.suspect_since = "", None
    if checked.was_whole_fetch:
        monitor.whole_fetch_at = now
    recovered = succeed(monitor, checked.health, now)
    monitor.updated_at = now
    monitor.save(update_fields=CHECKED_FIELDS)
    _store_parts(monitor, checked, now)
    if recovered:
        notifications.notify_recovery(monitor, now)
    return _store_cost(monitor, cost, now, outcome=checked.health, url_count=checked.url_count, change_record=record)


def store_failure(monitor: MonitorTask, failed: CheckFailure, cost: Cost, now: datetime) -> SitemapCheck:
    """Store a failed check: only the state of the monitor changes."""
    entered = fail(monitor, failed.health, failed.message, now, asked_pause=failed.retry_after_seconds)
    monitor.updated_at = now
    monitor.save(update_fields=CHECKED_FIELDS)
    if entered:
        notifications.notify_error(monitor, now)
    return _store_cost(
        monitor, cost, now, outcome=failed.health, error_code=failed.code[:60], message=failed.message[:2000]
    )


def _store_suspect(monitor: MonitorTask, checked: CheckResult, cost: Cost, now: datetime) -> SitemapCheck:
    assert checked.difference is not None
    removed = checked.difference.counts[REMOVED]
    monitor.suspect_hash, monitor.suspect_since = checked.url_hash, now
    succeed(monitor, Health.SUSPECT, now)
    monitor.updated_at = now
    monitor.save(update_fields=CHECKED_FIELDS)
    return _store_cost(monitor, cost, now, outcome=Health.SUSPECT, url_count=checked.url_count, removed_count=removed)


def _store_cost(monitor: MonitorTask, cost: Cost, now: datetime, **columns: Any) -> SitemapCheck:
    return SitemapCheck.objects.create(
        monitor_task=monitor,
        http_request_count=cost.http_request_count,
        bytes_read=cost.bytes_read,
        duration_ms=cost.duration_ms,
        created_at=now,
        **columns,
    )


def _store_record(monitor: MonitorTask, checked: CheckResult, folder: Path, now: datetime) -> ChangeRecord:
    old = monitor.current_snapshot
    if checked.change_type == ChangeType.NO_CHANGE:
        assert old is not None
        return _store_unchanged(monitor, old, checked, folder, now)
    _keep_lists(old, checked)
    new = SitemapSnapshot.objects.create(
        monitor_task=monitor,
        url_count=checked.url_count,
        url_hash=checked.url_hash,
        urls=_urls_column(checked),
        fetch_duration_ms=checked.reading.fetch_ms,
        parse_duration_ms=checked.reading.parse_ms,
        created_at=now,
        is_complete=checked.health == Health.OK,
        parts=checked.manifest(),
        notes=checked.notes,
    )
    if checked.difference is None:
        return _record(monitor, None, new, ChangeType.INITIAL, checked, now, changes=_no_changes())
    noise = learn(monitor, checked.difference)
    record = _changed(monitor, old, new, checked, noise, folder, now)
    notifications.notify_change(monitor, record, checked.difference, noise, now)
    return record


def _store_unchanged(
    monitor: MonitorTask, snapshot: SitemapSnapshot, checked: CheckResult, folder: Path, now: datetime
) -> ChangeRecord:
    """Store a check without changes. The snapshot is updated where files or minor values differ."""
    minor: list[dict[str, Any]] = []
    count = 0
    if checked.difference is not None and (checked.manifest() != snapshot.parts or checked.has_repaired):
        _keep_lists(snapshot, checked)
        snapshot.parts, snapshot.urls = checked.manifest(), _urls_column(checked)
        snapshot.save(update_fields=["parts", "urls"])
        count = checked.difference.counts[MINOR]
        minor = [_minor_item(change) for change in islice(checked.difference.changes(MINOR), INLINE_ENTRIES)]
    UrlHistory.objects.filter(pk=monitor.pk).update(unchanged_checks=F("unchanged_checks") + 1)
    record = _record(
        monitor, snapshot, snapshot, ChangeType.NO_CHANGE, checked, now, changes=_no_changes(),
        minor_count=count, extras={"minor": minor} if minor else {},
    )  # fmt: skip
    if count and monitor.tell_minor:
        notifications.notify_minor(monitor, record, now)
    return record


def _changed(
    monitor: MonitorTask,
    old: SitemapSnapshot | None,
    new: SitemapSnapshot,
    checked: CheckResult,
    noise: Noise,
    folder: Path,
    now: datetime,
) -> ChangeRecord:
    difference = checked.difference
    assert difference is not None
    counts = difference.counts
    removed = counts[REMOVED] + counts[ROLLED_OFF]
    total = counts[ADDED] + removed + counts[MODIFIED]
    extras: dict[str, Any] = {}
    if noise.noisy:
        extras["noisy"] = noise.noisy
    if noise.restamp:
        extras["restamp"] = {"lastmod": noise.restamp.lastmod, "count": noise.restamp.count}
    if counts[MINOR]:
        extras["minor"] = [_minor_item(change) for change in islice(difference.changes(MINOR), INLINE_ENTRIES)]
    kind = ChangeType.CHANGED if total else ChangeType.NO_CHANGE
    return _record(
        monitor, old, new, kind, checked, now,
        added_count=counts[ADDED], removed_count=removed, modified_count=counts[MODIFIED],
        noisy_count=noise.noisy_count, minor_count=counts[MINOR], rolled_off_count=counts[ROLLED_OFF], extras=extras,
        changes=_inline(difference) if total <= INLINE_ENTRIES else write_changes(difference, folder),
    )  # fmt: skip


def _record(
    monitor: MonitorTask,
    old: SitemapSnapshot | None,
    new: SitemapSnapshot,
    kind: str,
    checked: CheckResult,
    now: datetime,
    **columns: Any,
) -> ChangeRecord:
    return ChangeRecord.objects.create(
        monitor_task=monitor,
        old_snapshot=old,
        new_snapshot=new,
        change_type=kind,
        created_at=now,
        health=checked.health,
        notes=checked.notes,
        **columns,
    )


def _no_changes() -> dict[str, list[Any]]:
    return {"added": [], "removed": [], "modified": []}


def _minor_item(change: Any) -> dict[str, Any]:
    return {
        "url": change.url,
        "changefreq": [change.old.changefreq or None, change.new.changefreq or None],
        "priority": [change.old.priority or None, change.new.priority or None],
    }


def _inline(difference: Difference) -> dict[str, list[Any]]:
    removed = sorted(chain(difference.items(REMOVED), difference.items(ROLLED_OFF)), key=lambda item: str(item["url"]))
    return {"added": list(difference.items(ADDED)), "removed": removed, "modified": list(difference.items(MODIFIED))}


def _keep_lists(old: SitemapSnapshot | None, checked: CheckResult) -> None:
    earlier = {entry["url"]: entry["sha256"] for entry in old.parts} if old else {}
    for listed in checked.lists:
        if listed.lines is not None:
            sorted_lists.put(
                listed.lines,
                sha256=listed.part.sha256,
                line_count=listed.part.count,
                successor_of=earlier.get(listed.url),
            )


def _urls_column(checked: CheckResult) -> Any:
    if checked.url_count <= INLINE_ENTRIES:
        return [record.as_json() for record in union_records([listed.part for listed in checked.lists])]
    return {"manifest": checked.manifest(), "url_count": checked.url_count}


PART_COLUMNS = [
    "position", "summary", "etag", "last_modified", "body_sha256", "outcome", "fail_count", "missing_since", "read_at",
    "owes_baseline",
]  # fmt: skip


def _store_parts(monitor: MonitorTask, checked: CheckResult, now: datetime) -> None:
    """Store the files. Validators are stored only together with the content they belong to."""
    known = {row.url: row for row in monitor.parts.all()}
    is_first = checked.change_type == ChangeType.INITIAL
    rows = []
    for position, part in enumerate(checked.reading.parts):
        row = known.pop(part.url, None)
        before = _values(row)
        row = row or SitemapPart(monitor_task=monitor, url=part.url, url_digest=url_digest(part.url))
        row.position, row.outcome, row.missing_since = position, part.outcome[:20], None
        _take_part(row, part, now) if part.is_read else _miss_part(row, is_first=is_first)
        rows += [row] if _values(row) != before else []
    for url, row in known.items():
        if row.missing_since is None and url not in checked.dropped:
            row.missing_since = now
            rows.append(row)
    upsert(SitemapPart, rows, unique=["monitor_task", "url_digest"], update=PART_COLUMNS)
    if checked.dropped:
        SitemapPart.objects.filter(monitor_task=monitor, url__in=checked.dropped).delete()


def _take_part(row: SitemapPart, part: PartReading, now: datetime) -> None:
    if row.body_sha256 != part.body_sha256:
        row.read_at = now
    row.fail_count, row.owes_baseline = 0, False
    row.etag = (part.validators.etag or "")[:500]
    row.last_modified = (part.validators.last_modified or "")[:100]
    row.body_sha256, row.summary = part.body_sha256, dict(part.summary)


def _miss_part(row: SitemapPart, *, is_first: bool) -> None:
    row.fail_count += 1
    row.owes_baseline = row.owes_baseline or is_first


def _values(row: SitemapPart | None) -> list[Any]:
    return [getattr(row, name) for name in PART_COLUMNS] if row else []


INTERRUPTED = gettext_noop("The check was interrupted. The next check follows as scheduled.")


def close_slot(monitor_id: UUID, slot: datetime, run: JobRun, now: datetime) -> bool:
    """Move a monitor past a slot whose run ended without a result. Returns False if it already moved."""
    due = MonitorTask.objects.due(now).select_for_update()
    monitor = due.filter(pk=monitor_id, next_check_at=slot).first()
    if monitor is None:
        return False
    if run.state == State.FAILED:
        failed = CheckFailure(Health.FAILING, run.error_code or "failed", INTERRUPTED)
        store_failure(monitor, failed, Cost(0, 0, 0), now)
        return True
    # A cancelled check is skipped. A check that ran too early, on a worker with a slow clock, is due again.
    monitor.next_check_at = next_check(monitor, now) if run.state == State.CANCELLED else now
    monitor.updated_at = now
    monitor.save(update_fields=["next_check_at", "updated_at"])
    return True
