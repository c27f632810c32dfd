"""The life of a monitor: active, error after three failed checks, back by itself; and when it is looked at next."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import sha256

from watchbook.sources.sitemaps.models import ERRORS_UNTIL_ERROR, Health, MonitorTask, Status

LONGEST_WAIT = timedelta(hours=24)
CONFIRM_AFTER = timedelta(minutes=5)
# Monitors added in the same minute must not ask in the same second for ever: each comes a little early.
JITTER_SHARE = 0.02


def next_check(monitor: MonitorTask, now: datetime, *, asked_pause: float | None = None) -> datetime:
    interval = timedelta(minutes=monitor.check_interval_minutes)
    if monitor.status == Status.ERROR:
        doublings = min(monitor.error_count - ERRORS_UNTIL_ERROR, 16)
        interval = min(interval * 2**doublings, LONGEST_WAIT)
    if asked_pause is not None:
        interval = max(interval, min(timedelta(seconds=asked_pause), LONGEST_WAIT))
    part = int.from_bytes(sha256(str(monitor.pk).encode()).digest()[:4]) / 2**32
    return now + interval - interval * JITTER_SHARE * part


def succeed(monitor: MonitorTask, health: str, now: datetime) -> bool:
    """A check that gave an answer. True when the monitor comes back from an error that was told."""
    recovered = monitor.told_error
    if monitor.status == Status.ERROR:
        monitor.status = Status.ACTIVE
    monitor.error_count = 0
    monitor.last_error = None
    monitor.told_error = False
    monitor.health = health
    monitor.degraded_count = monitor.degraded_count + 1 if health == Health.DEGRADED else 0
    monitor.last_check_at = now
    monitor.next_check_at = now + CONFIRM_AFTER if health == Health.SUSPECT else next_check(monitor, now)
    return recovered


def fail(monitor: MonitorTask, health: str, message: str, now: datetime, *, asked_pause: float | None) -> bool:
    """A check that gave none. True when the monitor enters the error state now."""
    monitor.error_count += 1
    monitor.last_error = message
    monitor.health = health
    monitor.last_check_at = now
    entered = monitor.status == Status.ACTIVE and monitor.error_count >= ERRORS_UNTIL_ERROR
    if entered:
        monitor.status = Status.ERROR
        monitor.told_error = True
    monitor.next_check_at = next_check(monitor, now, asked_pause=asked_pause)
    return entered


CHECKED_FIELDS = [
    "status", "error_count", "last_error", "told_error", "health", "degraded_count", "last_check_at", "next_check_at",
    "kind", "suspect_hash", "suspect_since", "whole_fetch_at", "current_snapshot", "updated_at",
]  # fmt: skip
