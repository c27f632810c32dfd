"""What the head and the tabs of every page of a monitor show."""

from __future__ import annotations

from typing import Any

from watchbook.sources.sitemaps.models import Health, MonitorTask, Status
from watchbook.sources.sitemaps.sentences import error_text
from watchbook.sources.sitemaps.views.words import FAILED, kind_text, monitor_badges


def head(monitor: MonitorTask) -> dict[str, Any]:
    return {
        "monitor": monitor,
        "badges": monitor_badges(monitor),
        "interval_seconds": monitor.check_interval_minutes * 60,
        "kind": kind_text(monitor.kind),
        "error": error_text(monitor.last_error),
        "trouble": _trouble(monitor),
    }


def _trouble(monitor: MonitorTask) -> str:
    """Which notice stands on top: error, failed, degraded, suspect or none."""
    if monitor.status == Status.PAUSED:
        return ""
    if monitor.status == Status.ERROR:
        return "error"
    if monitor.health in FAILED:
        return "failed"
    return monitor.health if monitor.health in (Health.DEGRADED, Health.SUSPECT) else ""
