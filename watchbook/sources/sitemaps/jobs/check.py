"""One check of one monitor, from its address to what is told."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from watchbook.base import sandbox
from watchbook.base.store.scratch import scratch
from watchbook.base.web.answer import Validators
from watchbook.base.web.counting import counted
from watchbook.base.web.errors import Blocked, Busy, Throttled, WebError
from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.sources.sitemaps.jobs.judging import judge
from watchbook.sources.sitemaps.jobs.reading import ask_after, read_sitemap
from watchbook.sources.sitemaps.models import ChangeType, Health, MonitorTask, SitemapCheck, SitemapPart, Status
from watchbook.sources.sitemaps.parse import NotASitemap, Unreadable
from watchbook.sources.sitemaps.records import Cost, Failed, KnownPart, Reading
from watchbook.sources.sitemaps.sentences import said
from watchbook.sources.sitemaps.store.check import store_check, store_failure

# A stale 304 behind a cache can hide a sitemap for ever: once a day everything is asked for anew.
WHOLE_FETCH_EVERY = timedelta(days=1)
COUNTS_LOOKED_AT = 5


def check_monitor(ctx: JobContext, monitor_id: str) -> Outcome:
    """Read, compare, store, tell. A check that fails changes nothing but the monitor's own state."""
    monitor = MonitorTask.objects.live().select_related("user", "current_snapshot").filter(pk=monitor_id).first()
    if monitor is None or monitor.status == Status.PAUSED or monitor.next_check_at > ctx.now:
        return NOTHING_TO_DO
    began = time.monotonic()
    with scratch("sitemap") as folder, counted() as count:
        try:
            reading = _read(ctx, monitor, folder)
        except Busy:
            raise  # somebody else asks this host: the run goes back to the queue
        except (WebError, sandbox.TaskError, Unreadable) as error:
            cost = _cost(count.requests, count.bytes, began)
            with ctx.writing():
                check = store_failure(monitor, _failed(error), cost, ctx.now)
            return _outcome(check)
        check = _conclude(ctx, monitor, reading, folder, lambda: _cost(count.requests, count.bytes, began))
    return _outcome(check)


def _read(ctx: JobContext, monitor: MonitorTask, folder: Path) -> Reading:
    rows = {row.url: row for row in monitor.parts.all()}
    known = {url: _known(row) for url, row in rows.items() if row.body_sha256}
    whole = needs_whole_fetch(monitor, ctx.now)
    reading = read_sitemap(monitor.sitemap_url, known=known, folder=folder, whole=whole, report=ctx.report)
    if reading.is_complete:
        read = {part.url for part in reading.parts}
        left = [url for url, row in rows.items() if url not in read and row.summary.get("kind") != "index"]
        ask_after(left, reading, folder)
    return reading


def needs_whole_fetch(monitor: MonitorTask, now: datetime) -> bool:
    """Ask without validators: once a day, and when a suspicion is to be confirmed past every cache."""
    last = monitor.whole_fetch_at
    return bool(monitor.suspect_hash) or last is None or now - last >= WHOLE_FETCH_EVERY


def _conclude(ctx: JobContext, monitor: MonitorTask, reading: Reading, folder: Path, cost) -> SitemapCheck:  # type: ignore[no-untyped-def]
    known = {row.url: row for row in monitor.parts.all()}
    checked = judge(monitor, reading, known, _recent_counts(monitor), folder)
    checked.was_whole_fetch = needs_whole_fetch(monitor, ctx.now)
    try:
        with ctx.writing():
            return store_check(monitor, checked, cost(), folder, ctx.now)
    finally:
        checked.close()


def _recent_counts(monitor: MonitorTask) -> list[int]:
    newest = monitor.checks.exclude(url_count=None).exclude(outcome=Health.SUSPECT).order_by("-created_at", "-pk")
    counts = newest.values_list("url_count", flat=True)[:COUNTS_LOOKED_AT]
    return [count for count in counts if count is not None][::-1]


def _known(row: SitemapPart) -> KnownPart:
    return KnownPart(row.url, Validators(row.etag or None, row.last_modified or None), row.body_sha256, row.summary)


def _failed(error: WebError | sandbox.TaskError | Unreadable) -> Failed:
    health: str = Health.FAILING
    if isinstance(error, NotASitemap):
        health = Health.NOT_A_SITEMAP
    elif isinstance(error, Blocked | Throttled):
        health = Health.BLOCKED
    return Failed(health, error.code, said(error), getattr(error, "retry_after_seconds", None))


def _cost(requests: int, bytes_read: int, began: float) -> Cost:
    return Cost(requests, bytes_read, int((time.monotonic() - began) * 1000))


RESULTS: Mapping[str, str] = {
    Health.OK: "unchanged",
    Health.DEGRADED: "degraded",
    Health.SUSPECT: "suspect",
}


def _outcome(check: SitemapCheck) -> Outcome:
    """`result` is one word for counting: changed, unchanged, degraded, suspect or failed."""
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
