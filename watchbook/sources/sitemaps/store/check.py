"""Storing a check: snapshot, change record, parts, monitor, and what is told, all in one transaction."""

from __future__ import annotations

from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

from django.db.models import F

from watchbook.base.store import blobs
from watchbook.base.store.upsert import upsert
from watchbook.base.text import cut
from watchbook.sources.sitemaps.compare import Difference, union_records
from watchbook.sources.sitemaps.compare.difference import ADDED, MINOR, MODIFIED, REMOVED, ROLLED_OFF
from watchbook.sources.sitemaps.models import (
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
from watchbook.sources.sitemaps.records import Checked, Cost, Failed, PartReading
from watchbook.sources.sitemaps.store import notices, states
from watchbook.sources.sitemaps.store.lists import write_changes
from watchbook.sources.sitemaps.store.noise import Noise, learn

# Above this many entries a list lives in a blob and its column holds the manifest.
INLINE_ENTRIES = 1000


def store_check(monitor: MonitorTask, checked: Checked, cost: Cost, folder: Path, now: datetime) -> SitemapCheck:
    """Save what a check found, or that it waits to be confirmed."""
    if checked.health == Health.SUSPECT:
        return _store_suspect(monitor, checked, cost, now)
    record = _store_record(monitor, checked, folder, now)
    monitor.current_snapshot = record.new_snapshot
    monitor.kind = cut(str(checked.reading.root.summary.get("kind", "")), 12)
    monitor.suspect_hash, monitor.suspect_since = "", None
    if checked.was_whole_fetch:
        monitor.whole_fetch_at = now
    recovered = states.succeed(monitor, checked.health, now)
    monitor.updated_at = now
    monitor.save(update_fields=states.CHECKED_FIELDS)
    _store_parts(monitor, checked, now)
    if recovered:
        notices.tell_recovery(monitor, now)
    return _store_cost(monitor, cost, now, outcome=checked.health, url_count=checked.url_count, change_record=record)


def store_failure(monitor: MonitorTask, failed: Failed, cost: Cost, now: datetime) -> SitemapCheck:
    """A check that read nothing changes nothing but the monitor's own state."""
    entered = states.fail(monitor, failed.health, failed.message, now, asked_pause=failed.retry_after_seconds)
    monitor.updated_at = now
    monitor.save(update_fields=states.CHECKED_FIELDS)
    if entered:
        notices.tell_error(monitor, now)
    return _store_cost(
        monitor, cost, now, outcome=failed.health, error_code=failed.code[:60], message=failed.message[:2000]
    )


def _store_suspect(monitor: MonitorTask, checked: Checked, cost: Cost, now: datetime) -> SitemapCheck:
    assert checked.difference is not None
    removed = checked.difference.counts[REMOVED]
    monitor.suspect_hash, monitor.suspect_since = checked.url_hash, now
    states.succeed(monitor, Health.SUSPECT, now)
    monitor.save(update_fields=states.CHECKED_FIELDS)
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


def _store_record(monitor: MonitorTask, checked: Checked, folder: Path, now: datetime) -> ChangeRecord:
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
    notices.tell_change(monitor, record, checked.difference, noise, now)
    return record


def _store_unchanged(
    monitor: MonitorTask, snapshot: SitemapSnapshot, checked: Checked, folder: Path, now: datetime
) -> ChangeRecord:
    """The same URLs and dates: no new snapshot. Where files or minor values differ, it is brought up to date."""
    minor: list[dict[str, Any]] = []
    count = 0
    if checked.difference is not None and checked.manifest() != snapshot.parts:
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
        notices.tell_minor(monitor, record, now)
    return record


def _changed(
    monitor: MonitorTask,
    old: SitemapSnapshot | None,
    new: SitemapSnapshot,
    checked: Checked,
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
    checked: Checked,
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


def _keep_lists(old: SitemapSnapshot | None, checked: Checked) -> None:
    earlier = {entry["url"]: entry["sha256"] for entry in old.parts} if old else {}
    for listed in checked.lists:
        if listed.lines is not None:
            blobs.put(
                listed.lines,
                sha256=listed.part.sha256,
                line_count=listed.part.count,
                successor_of=earlier.get(listed.url),
            )


def _urls_column(checked: Checked) -> Any:
    if checked.url_count <= INLINE_ENTRIES:
        return [record.as_json() for record in union_records([listed.part for listed in checked.lists])]
    return {"manifest": checked.manifest(), "url_count": checked.url_count}


PART_COLUMNS = [
    "position", "summary", "etag", "last_modified", "body_sha256", "outcome", "fail_count", "missing_since", "read_at",
    "owes_baseline",
]  # fmt: skip


def _store_parts(monitor: MonitorTask, checked: Checked, now: datetime) -> None:
    """Validators go together with what was read; a part that was not read keeps its own."""
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
