"""Health of monitors, from rows only: the source of what cards, pages, API and alerts say about them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, IntegerField, Max, Min, Q, Value, When
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import clock
from watchbook.core import health as states
from watchbook.core.accounts.models import User
from watchbook.core.health import Health, HealthItem
from watchbook.kit import formatting
from watchbook.systems.sitemaps.models import (
    FAR_AHEAD,
    LONGEST_QUIET,
    MonitorTask,
    SitemapCheck,
    Status,
    is_far_ahead,
)
from watchbook.systems.sitemaps.models import Health as CheckHealth
from watchbook.systems.sitemaps.records import error_text

# A check that is due for longer than this is late. Workers need some minutes after a restart.
LATE_AFTER = timedelta(minutes=30)
FAILED = (CheckHealth.FAILING, CheckHealth.BLOCKED, CheckHealth.NOT_A_SITEMAP)
# From good to bad, for the whole source: monitors that were never checked or are paused prove nothing about the others.
ORDER = (
    states.PAUSED, states.NEVER, states.HEALTHY, states.UNCONFIRMED, states.INCOMPLETE, states.LATE, states.FAILING,
    states.BLOCKED, states.ERROR,
)  # fmt: skip


def health(user: User | None = None) -> Health:
    """Return the health of the user's monitors, or of all monitors: the worst one decides and is named."""
    return overview(user)[0]


def overview(user: User | None) -> tuple[Health, dict[str, Any]]:
    """Return the health and the counts of monitors, in two queries."""
    now = clock.now()
    rows = MonitorTask.objects.live() if user is None else MonitorTask.objects.of(user)
    ranked = rows.annotate(rank=_rank(now))
    worst = ranked.order_by("-rank", "-last_check_at").first()
    if worst is None:
        return Health(states.NEVER, url=reverse("sitemaps:monitors")), {"total": 0}
    rank = worst.rank  # type: ignore[attr-defined]
    facts = ranked.aggregate(
        total=Count("pk"),
        paused=Count("pk", filter=Q(status=Status.PAUSED)),
        error=Count("pk", filter=Q(status=Status.ERROR)),
        last_at=Max("last_check_at"),
        same=Count("pk", filter=Q(rank=rank)),
        last_success_at=Max("last_success_at"),
        last_failure_at=Max("last_check_at", filter=Q(health__in=FAILED)),
        next_try_at=Min("next_check_at", filter=~Q(status=Status.PAUSED)),
    )
    own = monitor_health(worst, now)
    found = Health(
        own.state,
        last_success_at=facts["last_success_at"],
        last_failure_at=facts["last_failure_at"],
        last_failure=own.last_failure,
        reason=_source_reason(worst, own, facts["same"]),
        remedy=own.remedy,
        next_try_at=facts["next_try_at"],
        detail=own.detail,
        url=own.url,
    )
    return found, facts


def _source_reason(monitor: MonitorTask, own: Health, same: int) -> str:
    if not own.reason or same == 1:
        return f"{monitor.name}: {own.reason}" if own.reason else ""
    more = ngettext("%(n)s more monitor", "%(n)s more monitors", same - 1) % {"n": formatting.number_text(same - 1)}
    return f"{monitor.name}: {own.reason} (+ {more})"


def items(user: User | None = None) -> list[HealthItem]:
    """Return the health of each monitor, in two queries."""
    now = clock.now()
    rows = MonitorTask.objects.live() if user is None else MonitorTask.objects.of(user)
    monitors = list(rows.order_by("name", "pk").defer("current_snapshot"))
    failed = last_failures([monitor.pk for monitor in monitors])
    return [
        HealthItem(
            monitor.name,
            _("Monitor"),
            monitor_health(monitor, now, failed.get(monitor.pk)),
            owner_id=monitor.user_id,
            try_url=reverse("sitemaps:check", args=[monitor.pk]),
        )
        for monitor in monitors
    ]


def last_failures(monitors: list[UUID]) -> dict[UUID, SitemapCheck]:
    """Return the newest failed check of each monitor that is still stored."""
    failed = SitemapCheck.objects.filter(monitor_task__in=monitors, outcome__in=FAILED)
    newest = failed.order_by().values("monitor_task").annotate(last=Max("pk")).values("last")
    return {check.monitor_task_id: check for check in SitemapCheck.objects.filter(pk__in=newest)}


def monitor_health(monitor: MonitorTask, now: datetime, failed: SitemapCheck | None = None) -> Health:
    """Return the health of one monitor. `failed` is its newest failed check, for a failure before the last success."""
    state = _state(monitor, now)
    is_failing = monitor.health in FAILED and monitor.last_check_at is not None
    last_failure_at = monitor.last_check_at if is_failing else failed.created_at if failed else None
    return Health(
        state,
        last_success_at=monitor.last_success_at,
        last_failure_at=last_failure_at,
        last_failure=error_text(monitor.last_error if is_failing else failed.message if failed else ""),
        reason=_reason(monitor, state, now),
        remedy=_remedy(state),
        next_try_at=None if monitor.status == Status.PAUSED else monitor.next_check_at,
        detail=monitor.last_error or "",
        url=reverse("sitemaps:monitor", args=[monitor.pk]),
    )


def _state(monitor: MonitorTask, now: datetime) -> str:
    """Return the state. `_rank` says the same to the database; a test compares them."""
    if monitor.status == Status.PAUSED:
        return states.PAUSED
    if monitor.status == Status.ERROR:
        return states.ERROR
    if monitor.health in FAILED:
        return states.BLOCKED if monitor.health == CheckHealth.BLOCKED else states.FAILING
    if monitor.next_check_at < now - LATE_AFTER or _is_far_ahead(monitor, now):
        return states.LATE
    if monitor.health == CheckHealth.DEGRADED:
        return states.INCOMPLETE
    if monitor.health == CheckHealth.SUSPECT:
        return states.UNCONFIRMED
    return states.HEALTHY if monitor.last_success_at is not None else states.NEVER


def _is_far_ahead(monitor: MonitorTask, now: datetime) -> bool:
    """Whether `is_far_ahead` finds the monitor."""
    quiet = LONGEST_QUIET if monitor.quiet_hours else timedelta(0)
    return not monitor.schedule and monitor.next_check_at > now + FAR_AHEAD + quiet


def _rank(now: datetime) -> Case:
    late = Q(next_check_at__lt=now - LATE_AFTER) | is_far_ahead(now)
    order = (
        (Q(status=Status.PAUSED), states.PAUSED),
        (Q(status=Status.ERROR), states.ERROR),
        (Q(health=CheckHealth.BLOCKED), states.BLOCKED),
        (Q(health__in=FAILED), states.FAILING),
        (late, states.LATE),
        (Q(health=CheckHealth.DEGRADED), states.INCOMPLETE),
        (Q(health=CheckHealth.SUSPECT), states.UNCONFIRMED),
        (Q(last_success_at=None), states.NEVER),
    )
    return Case(
        *(When(condition, then=Value(ORDER.index(state))) for condition, state in order),
        default=Value(ORDER.index(states.HEALTHY)),
        output_field=IntegerField(),
    )


def _reason(monitor: MonitorTask, state: str, now: datetime) -> str:
    error = error_text(monitor.last_error)
    if state in (states.ERROR, states.FAILING, states.BLOCKED):
        count = max(monitor.error_count, 1)
        text = ngettext("The last check failed: %(error)s", "The last %(count)d checks failed: %(error)s", count)
        return text % {"count": count, "error": error}
    if state == states.INCOMPLETE:
        return _("Some files could not be read.")
    if state == states.UNCONFIRMED:
        return _("Many URLs disappeared. A second check must confirm it.")
    if state == states.LATE and monitor.next_check_at > now:
        return _("The next check is planned too far ahead. The clock of the server was wrong.")
    if state == states.LATE:
        return _("The check was due at %(moment)s and did not run.") % {
            "moment": formatting.moment_text(monitor.next_check_at, "full")
        }
    return ""


def _remedy(state: str) -> str:
    if state == states.ERROR:
        return _("Nothing was marked as deleted. Watchbook checks again at increasing intervals, or select Retry.")
    if state in (states.FAILING, states.BLOCKED):
        return _("Nothing was marked as deleted. No action is needed.")
    if state == states.INCOMPLETE:
        return _("Unread files keep their last content. Removals are not notified until all files can be read.")
    if state == states.UNCONFIRMED:
        return _("Watchbook checks again before it notifies you. Until then, the previous list applies.")
    if state == states.LATE:
        return _("Make sure that a worker and the scheduler are running.")
    return ""
