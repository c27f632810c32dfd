"""Health of websites, from the stored results of their runs."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import clock
from watchbook.core import health as states
from watchbook.core.accounts.models import User
from watchbook.core.health import Health, HealthItem, worst
from watchbook.systems.pages.models import Site

LATE_AFTER = timedelta(hours=1)
FAILURES_UNTIL_ERROR = 3


def health(user: User | None = None) -> Health:
    """Return the worst of all websites that this user may see; None means the whole server."""
    now = clock.now()
    found = [site_health(site, now, named=True) for site in _sites(user)]
    return worst(found) if found else Health(states.NEVER, url=reverse("pages:sites"))


def items(user: User | None = None) -> list[HealthItem]:
    """Return the health of each website."""
    now = clock.now()
    return [
        HealthItem(
            site.name,
            _("Website"),
            site_health(site, now),
            owner_id=site.user_id,
            try_url=reverse("pages:check", args=[site.pk]),
        )
        for site in _sites(user)
    ]


def _sites(user: User | None) -> QuerySet[Site]:
    rows = Site.objects.live() if user is None else Site.objects.of(user)
    return rows.defer("boilerplate", "robots").order_by("name", "pk")


def site_health(site: Site, now: datetime, *, named: bool = False) -> Health:
    """Return the health of one website."""
    state = _state(site, now)
    reason = _reason(site, state)
    return Health(
        state,
        last_success_at=site.last_success_at,
        last_failure_at=site.last_failure_at,
        last_failure=_(site.last_error) if site.last_error else "",
        reason=f"{site.name}: {reason}" if named and reason else reason,
        remedy=_remedy(state),
        next_try_at=None if site.is_paused else site.next_at,
        url=reverse("pages:site", args=[site.pk]),
    )


def _state(site: Site, now: datetime) -> str:
    if site.last_error and site.is_paused:
        return states.ERROR
    if site.is_paused:
        return states.PAUSED
    if site.failures:
        return states.ERROR if site.failures >= FAILURES_UNTIL_ERROR else states.FAILING
    if site.next_at < now - LATE_AFTER:
        return states.LATE
    return states.HEALTHY if site.last_success_at is not None else states.NEVER


def _reason(site: Site, state: str) -> str:
    if state == states.ERROR and site.is_paused:
        return _(site.last_error)
    if state in (states.ERROR, states.FAILING):
        words = ngettext("The last run failed: %(error)s", "The last %(n)s runs failed: %(error)s", site.failures)
        return words % {"n": site.failures, "error": _(site.last_error)}
    return _("Pages were due and were not read.") if state == states.LATE else ""


def _remedy(state: str) -> str:
    if state in (states.ERROR, states.FAILING):
        return _("Stored versions stay, and no page is marked as gone. Watchbook tries again at increasing intervals.")
    if state == states.LATE:
        return _("Make sure that a worker and the scheduler are running.")
    return ""
