"""The jobs that queue due monitors and check one monitor: read, evaluate, store.

Rules of the evaluation: a file that was not read whole keeps what was known of it; a check that did not read everything
removes nothing; a check that lost many URLs is accepted only when a second one gives the same result; the first
check is a baseline.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from time import sleep
from typing import Any

from django.utils.translation import gettext_noop

from watchbook.base import sandbox
from watchbook.base.store.blobs import BlobMissing
from watchbook.base.store.folder import scratch
from watchbook.base.web.errors import Blocked, Busy, Throttled, WebError
from watchbook.base.web.response import Validators
from watchbook.base.work import counted
from watchbook.core.jobs import queue, runner
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.jobs.runner import NOTHING_TO_DO, GiveUp, JobContext, Outcome
from watchbook.core.notify.outbox import deliver_due
from watchbook.systems.sitemaps.compare import HELD, REMOVED, Difference, Union, compare, union_of
from watchbook.systems.sitemaps.compare.reliability import Patterns, is_suspect
from watchbook.systems.sitemaps.jobs.read import confirm_gone, read_sitemap
from watchbook.systems.sitemaps.models import (
    ChangeType,
    Health,
    MonitorTask,
    SitemapCheck,
    SitemapPart,
    SitemapSnapshot,
    Status,
)
from watchbook.systems.sitemaps.parse.lists import ListWriter, PartList, write_line
from watchbook.systems.sitemaps.parse.records import NotASitemap, Unreadable
from watchbook.systems.sitemaps.records import (
    CARRIED,
    LEFT_INDEX,
    OK,
    READ_WHOLE,
    SAME,
    CheckFailure,
    CheckResult,
    Cost,
    KnownPart,
    PartReading,
    Reading,
    SnapshotList,
    error_message,
    repeated_notes,
)
from watchbook.systems.sitemaps.store.check import close_slot, store_check, store_failure
from watchbook.systems.sitemaps.store.lists import lost_files, stored_lists

CONFIRMED = "Confirmed in 2 checks."


def evaluate(
    monitor: MonitorTask, reading: Reading, known: Mapping[str, SitemapPart], counts: Sequence[int], folder: Path
) -> CheckResult:
    """Compare a reading with the current snapshot of the monitor."""
    snapshot = monitor.current_snapshot
    if snapshot is None:
        return _baseline(reading)
    if _is_same(reading, snapshot):
        same = Union(snapshot.url_hash, snapshot.url_count, 0)
        return _result(reading, [], same, ChangeType.NO_CHANGE, Health.OK)
    before, notes = stored_lists(snapshot, reading, folder)
    lists, dropped = _present_lists(reading, known, before)
    is_whole = reading.is_complete and all(one.outcome in READ_WHOLE for one in lists)
    old = [*before, *_late_baseline(lists, known)]
    patterns = Patterns.of(monitor.include_patterns, monitor.exclude_patterns)
    keep = patterns.matches if patterns else None
    difference = compare(old, [one.part for one in lists], removals=is_whole, keep=keep)
    if not is_whole and difference.counts[HELD]:
        lists.append(_carried(difference, folder))
    union = union_of([one.part for one in lists])
    health = Health.OK if is_whole else Health.DEGRADED
    checked = _result(reading, lists, union, ChangeType.CHANGED, health)
    checked.difference, checked.dropped, checked.has_repaired = difference, dropped, bool(notes)
    checked.notes += notes
    _hold_mass_removal(checked, monitor, snapshot, counts)
    if checked.health != Health.SUSPECT and union.url_hash == snapshot.url_hash:
        checked.change_type = ChangeType.NO_CHANGE
    return checked


def _hold_mass_removal(
    checked: CheckResult, monitor: MonitorTask, snapshot: SitemapSnapshot, counts: Sequence[int]
) -> None:
    """Mark a mass removal as unconfirmed, unless it is the second check that reports it."""
    assert checked.difference is not None
    removed = checked.difference.counts[REMOVED]
    if checked.health != Health.OK or not is_suspect(removed, snapshot.url_count, counts, left=checked.url_count):
        return
    if monitor.suspect_hash:
        checked.notes.append({"code": "confirmed_in_2_checks", "count": 2, "message": CONFIRMED})
    else:
        checked.health = Health.SUSPECT


def _baseline(reading: Reading) -> CheckResult:
    """Return the result of a first check."""
    lists = [listed for part in reading.pages if (listed := _listed(part, None, is_first=True))]
    union = union_of([one.part for one in lists])
    health = Health.OK if reading.is_complete else Health.DEGRADED
    return _result(reading, lists, union, ChangeType.INITIAL, health)


def _result(reading: Reading, lists: list[SnapshotList], union: Union, change_type: str, health: str) -> CheckResult:
    notes = [*reading.notes, *repeated_notes(union)]
    return CheckResult(reading, change_type, health, union.url_hash, union.count, lists, notes=notes)


def _is_same(reading: Reading, snapshot: SitemapSnapshot) -> bool:
    """Whether every file is unchanged since the snapshot, so that nothing needs to be compared."""
    listed = {entry["url"]: entry["sha256"] for entry in snapshot.parts}
    read = {part.url: part.summary.get("list_sha256") for part in reading.pages if part.outcome == SAME}
    return reading.is_complete and len(read) == len(reading.pages) and read == listed


def _present_lists(
    reading: Reading, known: Mapping[str, SitemapPart], before: Sequence[PartList]
) -> tuple[list[SnapshotList], list[str]]:
    """Return the current lists. Files that were not read completely keep their last list."""
    earlier = {part.name: part for part in before if part.name}
    lists = [listed for part in reading.pages if (listed := _listed(part, earlier.pop(part.url, None)))]
    # A file that lists pages no more but other files is read all the same: it did not leave.
    turned_index = {part.url for part in reading.parts if part.is_index and part.is_read}
    dropped = []
    for url, kept in earlier.items():
        if url in turned_index:
            continue
        row = known.get(url)
        seen_twice = row is not None and row.missing_since is not None
        if reading.is_complete and (seen_twice or url in reading.gone):
            dropped.append(url)
        else:
            # Left its index, and not yet known to be gone: what it listed stays until a second check agrees.
            lists.append(SnapshotList(kept, url, LEFT_INDEX))
    return lists, dropped


def _listed(part: PartReading, kept: PartList | None, *, is_first: bool = False) -> SnapshotList | None:
    if part.lines is not None and (part.outcome == OK or is_first):
        return SnapshotList(part.as_list(), part.url, part.outcome, part.lines)
    return SnapshotList(kept, part.url, part.outcome) if kept is not None else None


def _late_baseline(lists: Sequence[SnapshotList], known: Mapping[str, SitemapPart]) -> list[PartList]:
    """Return lists of files that the baseline could not read: their URLs are not additions."""
    return [one.part for one in lists if (row := known.get(one.url)) is not None and row.owes_baseline and one.lines]


def _carried(difference: Difference, folder: Path) -> SnapshotList:
    """Keep URLs that an incomplete check did not see, until a complete check."""
    target = folder / "carried.lines"
    writer = ListWriter(target)
    batch = []
    for change in difference.changes(HELD):
        assert change.old is not None
        batch.append(write_line(change.old.url, change.old.lastmod, change.old.changefreq, change.old.priority))
    writer.add(batch)
    return SnapshotList(writer.finish(CARRIED), "", CARRIED, target)


CHECK_JOB = "sitemaps.check"
BATCH = 5000
# How long `run-due` waits for hosts that another process checks, since the last check of its own.
BUSY_SECONDS, BUSY_PAUSE_SECONDS = 60.0, 0.5
TALLY = (
    "checked", "changed", "unchanged", "degraded", "suspect", "failed", "busy", "corrected", "http_request_count",
)  # fmt: skip
log = logging.getLogger("watchbook.sitemaps")


def anything_due(now: datetime) -> bool:
    monitors = MonitorTask.objects
    return monitors.due(now).exists() or monitors.far_ahead(now).exists() or bool(monitors.scheduled_far_ahead(now))


def enqueue_due(ctx: JobContext) -> Outcome:
    """Queue one run for every due monitor."""
    with ctx.writing():
        corrected = correct_far_ahead(ctx.now)
    found = MonitorTask.objects.due(ctx.now).order_by("next_check_at").only("pk", "host", "next_check_at")
    due = list(found[:BATCH])
    runs = [run_for(monitor) for monitor in due]
    made = {run.key for run in queue.enqueue_many(runs)}
    known = {run.key: monitor for run, monitor in zip(runs, due, strict=True) if run.key not in made}
    left = _close_ended(ctx, known)
    figures = {"enqueued": len(made), "broken_off": left, "corrected": corrected}
    return Outcome("done" if any(figures.values()) else "nothing_to_do", figures)


def correct_far_ahead(now: datetime) -> int:
    """Make monitors due whose next check is further ahead than any plan: the clock jumped, or `--now` was used."""
    scheduled = MonitorTask.objects.filter(pk__in=MonitorTask.objects.scheduled_far_ahead(now))
    wrong = (MonitorTask.objects.far_ahead(now), scheduled)
    corrected = sum(rows.update(next_check_at=now, updated_at=now) for rows in wrong)
    if corrected:
        log.warning("next_check_corrected monitors=%d", corrected)
    return corrected


def _close_ended(ctx: JobContext, known: Mapping[str, MonitorTask]) -> int:
    """Close the slots of monitors whose run has ended without a result: it crashed or was cancelled."""
    left = 0
    for run in JobRun.objects.filter(key__in=list(known)).exclude(state__in=[State.QUEUED, State.RUNNING]):
        with ctx.writing():
            left += close_slot(known[run.key].pk, known[run.key].next_check_at, run, ctx.now)
    return left


def run_for(monitor: MonitorTask) -> JobRun:
    """Return the run of a monitor's current slot. The slot is part of the key, so it runs once."""
    return queue.new_run(
        CHECK_JOB,
        {"monitor_id": str(monitor.pk)},
        key=f"{CHECK_JOB}:{monitor.pk}@{monitor.next_check_at:%Y%m%dT%H%M%S.%f}",
        exclusive=f"sitemaps-host:{monitor.host}",
    )


def run_due_now(now: datetime) -> dict[str, Any]:
    """Check all due monitors in this process and send due notifications (command, tests)."""
    tally: Counter[str] = Counter(corrected=correct_far_ahead(now))
    waiting = deque(MonitorTask.objects.due(now).order_by("next_check_at", "pk")[:BATCH])
    given_up_at = time.monotonic() + BUSY_SECONDS
    while waiting and time.monotonic() < given_up_at:
        busy: set[str] = set()
        for _ in range(len(waiting)):
            monitor = waiting.popleft()
            if monitor.host in busy or not _run_one(monitor, now, tally):
                busy.add(monitor.host)
                waiting.append(monitor)
            else:
                given_up_at = time.monotonic() + BUSY_SECONDS
        if waiting:
            # Another process checks these hosts. It may end before it has checked all their monitors.
            sleep(BUSY_PAUSE_SECONDS)
    tally["busy"] = len(waiting)
    deliver_due(now)
    return {name: tally[name] for name in TALLY}


def _run_one(monitor: MonitorTask, now: datetime, tally: Counter[str]) -> bool:
    """Check one monitor. Returns False if another process checks its host; then the monitor is still due."""
    if not MonitorTask.objects.due(now).filter(pk=monitor.pk).exists():
        return True  # another process has checked it
    try:
        run = runner.run_now(CHECK_JOB, {"monitor_id": str(monitor.pk)}, exclusive=f"sitemaps-host:{monitor.host}")
    except GiveUp:
        return False
    if run.outcome == "nothing_to_do":
        return True
    if run.state == State.QUEUED:
        queue.cancel(run.pk)  # the host wants a pause; the monitor stays due
        return False
    tally["checked"] += 1
    tally["http_request_count"] += run.http_request_count
    tally[run.progress.get("result", "failed") if run.state == State.DONE else "failed"] += 1
    return True


# A stale 304 behind a cache can hide changes for ever, so once a day everything is fetched without validators.
WHOLE_FETCH_EVERY = timedelta(days=1)
COUNTS_READ = 5


LIST_LOST = gettext_noop(
    "A stored list of URLs is lost, and its file could not be read again. Nothing was deleted. "
    "The next check tries again."
)


def check_monitor(ctx: JobContext, monitor_id: str) -> Outcome:
    """Read, compare, store and notify. A failed check changes only the state of the monitor."""
    monitor = MonitorTask.objects.live().select_related("user", "current_snapshot").filter(pk=monitor_id).first()
    if monitor is None or monitor.status == Status.PAUSED or monitor.next_check_at > ctx.now:
        return NOTHING_TO_DO
    began = time.monotonic()
    with scratch("sitemap") as folder, counted() as count:
        try:
            reading = _read(ctx, monitor, folder)
        except Busy:
            raise  # another run reads this host: the run goes back to the queue
        except (WebError, sandbox.TaskError, Unreadable) as error:
            cost = _cost(count.requests, count.bytes, began)
            with ctx.writing():
                check = store_failure(monitor, _failed(error), cost, ctx.now)
            return _outcome(check)
        try:
            check = _conclude(ctx, monitor, reading, folder, lambda: _cost(count.requests, count.bytes, began))
        except BlobMissing:
            failed = CheckFailure(Health.FAILING, "list_lost", LIST_LOST)
            with ctx.writing():
                check = store_failure(monitor, failed, _cost(count.requests, count.bytes, began), ctx.now)
    return _outcome(check)


def _read(ctx: JobContext, monitor: MonitorTask, folder: Path) -> Reading:
    rows = {row.url: row for row in monitor.parts.all()}
    lost = lost_files(monitor.current_snapshot)
    # A file whose stored list is lost is read as if it were new, so that its list can be stored again.
    known = {url: _known(row) for url, row in rows.items() if row.body_sha256 and url not in lost}
    whole = bool(lost) or needs_whole_fetch(monitor, ctx.now)
    reading = read_sitemap(monitor.sitemap_url, known=known, folder=folder, whole=whole, report=ctx.report)
    if reading.is_complete:
        read = {part.url for part in reading.parts}
        left = [url for url, row in rows.items() if url not in read and row.summary.get("kind") != "index"]
        confirm_gone(left, reading, folder)
    return reading


def needs_whole_fetch(monitor: MonitorTask, now: datetime) -> bool:
    """Whether to fetch without validators: once a day, and to confirm a mass removal."""
    last = monitor.whole_fetch_at
    if monitor.suspect_hash or last is None or last > now:  # a moment ahead of now was written by a wrong clock
        return True
    return now - last >= WHOLE_FETCH_EVERY


def _conclude(ctx: JobContext, monitor: MonitorTask, reading: Reading, folder: Path, cost) -> SitemapCheck:  # type: ignore[no-untyped-def]
    known = {row.url: row for row in monitor.parts.all()}
    checked = evaluate(monitor, reading, known, _recent_counts(monitor), folder)
    checked.was_whole_fetch = needs_whole_fetch(monitor, ctx.now)
    try:
        with ctx.writing():
            return store_check(monitor, checked, cost(), folder, ctx.now)
    finally:
        checked.close()


def _recent_counts(monitor: MonitorTask) -> list[int]:
    newest = monitor.checks.exclude(url_count=None).exclude(outcome=Health.SUSPECT).order_by("-created_at", "-pk")
    counts = newest.values_list("url_count", flat=True)[:COUNTS_READ]
    return [count for count in counts if count is not None][::-1]


def _known(row: SitemapPart) -> KnownPart:
    return KnownPart(row.url, Validators(row.etag or None, row.last_modified or None), row.body_sha256, row.summary)


def _failed(error: WebError | sandbox.TaskError | Unreadable) -> CheckFailure:
    health: str = Health.FAILING
    if isinstance(error, NotASitemap):
        health = Health.NOT_A_SITEMAP
    elif isinstance(error, Blocked | Throttled):
        health = Health.BLOCKED
    return CheckFailure(health, error.code, error_message(error), getattr(error, "retry_after_seconds", None))


def _cost(requests: int, bytes_read: int, began: float) -> Cost:
    return Cost(requests, bytes_read, int((time.monotonic() - began) * 1000))


RESULTS: Mapping[str, str] = {
    Health.OK: "unchanged",
    Health.DEGRADED: "degraded",
    Health.SUSPECT: "suspect",
}


def _outcome(check: SitemapCheck) -> Outcome:
    """Return the outcome of a run; `result` is changed, unchanged, degraded, suspect or failed."""
    record = check.change_record
    result = RESULTS.get(check.outcome, "failed")
    if result == "unchanged" and record is not None and record.change_type == ChangeType.CHANGED:
        result = "changed"
    words = {"failed": "failed", "degraded": "partly"}
    figures = {"result": result, "urls": check.url_count, "requests": check.http_request_count}
    if record is not None:
        figures |= {
            "added": record.added_count,
            "removed": record.removed_count,
            "modified": record.modified_count,
        }
    return Outcome(words.get(result, "done"), figures)
