"""The card of the forum on the home page: new floors, runs, gaps, in six queries."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta

from django.db.models import F, Sum
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from watchbook.base import clock
from watchbook.core.alerts.models import Alert
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.ui import badges, moments
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.cards import Card, Fact
from watchbook.core.ui.charts.record import Value
from watchbook.core.ui.templatetags.ui import when
from watchbook.sources.nga.actions import CRAWL
from watchbook.sources.nga.models import CrawlRun, ThreadFloorAuditThread
from watchbook.sources.nga.views.head import next_run
from watchbook.sources.nga.views.words import requests_text

DAYS = 14
SOURCE = "nga"


def card(request: HttpRequest) -> Card:
    title, url = _("Forum"), reverse("nga:topics")
    now = clock.now()
    runs = _runs(now)
    last = runs[-1][0] if runs else CrawlRun.objects.order_by("-run_started_at", "-pk").first()
    if last is None:
        return Card(
            title=title,
            url=url,
            hint=_("The board is read every 12 hours. Its topics will be listed here."),
            action_title=_("Open the forum"),
            action_url=url,
        )
    number = sum(floors for run, floors in runs if run.run_started_at >= now - timedelta(days=1))
    gaps = _gaps()
    return Card(
        title=title,
        url=url,
        number=number,
        unit=ngettext("new floor since yesterday", "new floors since yesterday", number),
        trend=_trend(runs),
        badge=_badge(gaps),
        facts=_facts(last, gaps),
    )


def _gaps() -> int:
    """How many floors the newest audit left missing."""
    left = Coalesce(F("repair_remaining_floor_count"), F("missing_floor_count"))
    found = ThreadFloorAuditThread.objects.open_in_newest().aggregate(floors=Sum(left))
    return int(found["floors"] or 0)


def _runs(now: datetime) -> list[tuple[CrawlRun, int]]:
    """The runs of the last days with how many floors each found, oldest first."""
    start = now - timedelta(days=DAYS)
    rows = CrawlRun.objects.filter(run_started_at__gte=start).order_by("run_started_at", "pk")
    return [(run, run.floors or 0) for run in rows.annotate(floors=Sum("threads__new_post_count"))]


def _trend(runs: Sequence[tuple[CrawlRun, int]]) -> list[Value]:
    """New floors per day of the reader; a day without a run was not measured."""
    days: dict[date, int] = {}
    for run, floors in runs:
        day = moments.local(run.run_started_at).date()
        days[day] = days.get(day, 0) + floors
    if not days:
        return []
    # Until its first run today is not yet, which is something else than not measured.
    first, last = min(days), max(days)
    return [days.get(first + timedelta(days=number)) for number in range((last - first).days + 1)]


def _badge(gaps: int) -> Badge:
    """The worst of open alerts, the last run and gaps."""
    level = Alert.objects.open().filter(source=SOURCE).values_list("level", flat=True).first()
    if level:
        return badges.find("alert", level)
    job = JobRun.objects.filter(name=CRAWL).order_by("-pk").values_list("state", flat=True).first()
    if job == State.RUNNING:
        return badges.find("health", "running")
    if job == State.FAILED:
        return badges.find("health", "failed")
    return badges.gaps(gaps) if gaps else badges.find("health", "healthy")


def _facts(last: CrawlRun, gaps: int) -> list[Fact]:
    lacking = ngettext("%(n)s floor missing", "%(n)s floors missing", gaps) % {"n": moments.number_text(gaps)}
    return [
        Fact(_("Last run"), _last_run(last)),
        Fact(_("Next run"), when(next_run(CRAWL), "short")),
        Fact(_("Gaps"), lacking if gaps else _("none")),
    ]


def _last_run(last: CrawlRun) -> SafeString:
    moment = when(last.run_finished_at or last.run_started_at, "short")
    return format_html("{}{}{}", moment, pgettext("list", ", "), requests_text(last.http_request_count))
