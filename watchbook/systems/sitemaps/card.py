"""The home card of the sitemaps system: the user's monitors in four queries."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Count, Q, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from watchbook.base import clock
from watchbook.core.accounts.access import person_of
from watchbook.kit import formatting
from watchbook.kit.badges import CARD_DAYS, Card, Fact
from watchbook.kit.days import DayAxis
from watchbook.kit.templatetags.kit import when
from watchbook.systems.sitemaps.health import FAILED, overview
from watchbook.systems.sitemaps.models import ChangeType, MonitorTask, SitemapCheck
from watchbook.systems.sitemaps.views import requests_text


def card(request: HttpRequest) -> Card:
    title, url = _("Websites"), reverse("sitemaps:monitors")
    found, state = overview(person_of(request))
    if not state["total"]:
        return Card(
            title=title,
            url=url,
            hint=_("No websites yet. Paste the address of a sitemap, a feed or just a website."),
            action_title=_("Add source"),
            action_url=reverse("add_source"),
        )
    now = clock.now()
    checks = _checks(request, now)
    number = sum(row["late"] for row in checks.values())
    return Card(
        title=title,
        url=url,
        number=number,
        unit=ngettext("change since yesterday", "changes since yesterday", number),
        days={day: row["changes"] for day, row in checks.items() if row["read"]},
        health=found,
        badge=found.badge(),
        facts=_facts(state, checks),
    )


def _checks(request: HttpRequest, now: datetime) -> dict[date, dict[str, int]]:
    """Count successful checks, changes, changes of the last 24 hours and requests per day."""
    axis = DayAxis.last(CARD_DAYS, now)
    changed = Q(change_record__change_type=ChangeType.CHANGED)
    rows = (
        SitemapCheck.objects.filter(
            monitor_task__in=MonitorTask.objects.of(person_of(request)), created_at__gte=axis.start
        )
        .annotate(place=axis.bucket("created_at"))
        .values("place")
        .annotate(
            read=Count("pk", filter=~Q(outcome__in=FAILED)),
            changes=Count("pk", filter=changed),
            late=Count("pk", filter=changed & Q(created_at__gte=now - timedelta(days=1))),
            requests=Sum("http_request_count"),
        )
        .order_by()
    )
    return {axis.days[row["place"]]: row for row in rows}


def _facts(state: dict[str, Any], checks: dict[date, dict[str, int]]) -> list[Fact]:
    counts = (
        (_("%(n)s active"), state["total"] - state["paused"] - state["error"]),
        (_("%(n)s in error"), state["error"]),
        (_("%(n)s paused"), state["paused"]),
    )
    comma = pgettext("list", ", ")
    monitors = comma.join(text % {"n": formatting.number_text(count)} for text, count in counts if count)
    return [
        Fact(_("Last run"), _last_run(state, checks)),
        Fact(_("Next run"), when(state["next_try_at"], "short")),
        Fact(_("Monitors"), monitors),
    ]


def _last_run(state: dict[str, Any], checks: dict[date, dict[str, int]]) -> SafeString:
    """Return the time of the last check and the number of requests today."""
    moment = when(state["last_at"], "short")
    today = checks.get(formatting.today())
    if today is None:
        return moment
    return format_html("{}{}{}", moment, pgettext("list", ", "), requests_text(today["requests"]))
