"""The card of the sitemaps system on the home page: the reader's own monitors in three queries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Max, Min, Q, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from watchbook.base import clock
from watchbook.core.alerts.models import Alert
from watchbook.core.ui import badges, moments
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.cards import Card, Fact
from watchbook.core.ui.charts.record import Value
from watchbook.core.ui.templatetags.ui import when
from watchbook.sources.sitemaps.models import ChangeType, Health, MonitorTask, SitemapCheck, Status
from watchbook.sources.sitemaps.views.days import Days
from watchbook.sources.sitemaps.views.words import FAILED, requests_text

DAYS = 14
SOURCE = "sitemaps"


def card(request: HttpRequest) -> Card:
    title, url = _("Sitemaps"), reverse("sitemaps:monitors")
    state = _state(request)
    if not state["total"]:
        return Card(
            title=title,
            url=url,
            hint=_("No monitors yet. Give the address of a sitemap, a feed or just a site."),
            action_title=_("Add a monitor"),
            action_url=reverse("sitemaps:add"),
        )
    now = clock.now()
    checks = _checks(request, now)
    number = sum(row["late"] for row in checks.values())
    return Card(
        title=title,
        url=url,
        number=number,
        unit=ngettext("change since yesterday", "changes since yesterday", number),
        trend=_trend(checks),
        badge=_badge(state),
        facts=_facts(state, checks),
    )


def _state(request: HttpRequest) -> dict[str, Any]:
    working = ~Q(status=Status.PAUSED)
    return MonitorTask.objects.of(request.user).aggregate(
        total=Count("pk"),
        paused=Count("pk", filter=Q(status=Status.PAUSED)),
        error=Count("pk", filter=Q(status=Status.ERROR)),
        suspect=Count("pk", filter=working & Q(health=Health.SUSPECT)),
        degraded=Count("pk", filter=working & Q(health=Health.DEGRADED)),
        failing=Count("pk", filter=working & Q(health__in=FAILED)),
        checked=Count("pk", filter=Q(last_check_at__isnull=False)),
        last_at=Max("last_check_at"),
        next_at=Min("next_check_at", filter=working),
    )


def _checks(request: HttpRequest, now: datetime) -> dict[int, dict[str, int]]:
    """Per day: checks, changes, changes of the last 24 hours, requests."""
    axis = Days.last(DAYS, now)
    changed = Q(change_record__change_type=ChangeType.CHANGED)
    rows = (
        SitemapCheck.objects.filter(monitor_task__in=MonitorTask.objects.of(request.user), created_at__gte=axis.start)
        .annotate(place=axis.bucket("created_at"))
        .values("place")
        .annotate(
            checks=Count("pk"),
            changes=Count("pk", filter=changed),
            late=Count("pk", filter=changed & Q(created_at__gte=now - timedelta(days=1))),
            requests=Sum("http_request_count"),
        )
        .order_by()
    )
    return {row["place"]: row for row in rows}


def _trend(checks: dict[int, dict[str, int]]) -> Sequence[Value]:
    first = min(checks, default=DAYS)
    return [checks[place]["changes"] if place in checks else None for place in range(first, max(checks, default=0) + 1)]


def _badge(state: dict[str, Any]) -> Badge:
    """The worst of open alerts and of the state of the monitors."""
    level = Alert.objects.open().filter(source=SOURCE).values_list("level", flat=True).first()
    if level:
        return badges.find("alert", level)
    for name in ("error", "suspect", "degraded"):
        if state[name]:
            return badges.find("monitor", name)
    if state["failing"]:
        return badges.find("monitor", "degraded")
    if state["paused"] == state["total"]:
        return badges.find("health", "paused")
    return badges.find("health", "healthy" if state["checked"] else "never")


def _facts(state: dict[str, Any], checks: dict[int, dict[str, int]]) -> list[Fact]:
    counts = (
        (_("%(n)s active"), state["total"] - state["paused"] - state["error"]),
        (_("%(n)s in error"), state["error"]),
        (_("%(n)s paused"), state["paused"]),
    )
    comma = pgettext("list", ", ")
    monitors = comma.join(text % {"n": moments.number_text(count)} for text, count in counts if count)
    return [
        Fact(_("Last run"), _last_run(state, checks)),
        Fact(_("Next run"), when(state["next_at"], "short")),
        Fact(_("Monitors"), monitors),
    ]


def _last_run(state: dict[str, Any], checks: dict[int, dict[str, int]]) -> SafeString:
    """When the last check was, and what today's checks have cost."""
    moment = when(state["last_at"], "short")
    today = checks.get(DAYS - 1)
    if today is None:
        return moment
    return format_html("{}{}{}", moment, pgettext("list", ", "), requests_text(today["requests"]))
