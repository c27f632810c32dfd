"""Leaving a slot whose run ended without a verdict: a slot has one run, so the monitor would stay due for ever."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.utils.translation import gettext_noop

from watchbook.core.jobs.models import JobRun, State
from watchbook.sources.sitemaps.models import Health, MonitorTask
from watchbook.sources.sitemaps.records import Cost, Failed
from watchbook.sources.sitemaps.store import states
from watchbook.sources.sitemaps.store.check import store_failure

BROKE_OFF = gettext_noop("The check broke off. It is tried again at the next time.")


def leave_slot(monitor_id: UUID, slot: datetime, run: JobRun, now: datetime) -> bool:
    """Called in a transaction, after the run was seen to have ended. False when the monitor has moved on by itself."""
    due = MonitorTask.objects.due(now).select_for_update()
    monitor = due.filter(pk=monitor_id, next_check_at=slot).first()
    if monitor is None:
        return False
    if run.state == State.FAILED:
        failed = Failed(Health.FAILING, run.error_code or "failed", BROKE_OFF)
        store_failure(monitor, failed, Cost(0, 0, 0), now)
        return True
    # A cancelled check is left out. One that found itself too early, by a clock that is behind, is due again.
    monitor.next_check_at = states.next_check(monitor, now) if run.state == State.CANCELLED else now
    monitor.save(update_fields=["next_check_at"])
    return True
