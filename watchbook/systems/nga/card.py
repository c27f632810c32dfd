"""The card of the forum on the home page: new floors, runs, gaps, in six queries."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

from django.db import connection
from django.db.models import F, QuerySet, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, npgettext, pgettext

from watchbook.base import clock
from watchbook.core.health import Health, worst
from watchbook.kit import badges, formatting
from watchbook.kit.badges import CARD_DAYS, Badge, Card, Fact
from watchbook.kit.templatetags.kit import when
from watchbook.systems.nga.health import board_healths, crawl_job
from watchbook.systems.nga.models import CrawlRun, Forum, Thread
from watchbook.systems.nga.views.page_header import requests_text


def card(request: HttpRequest) -> Card:
    title, url = _("Forum"), reverse("nga:topics")
    now = clock.now()
    runs = _runs(now)
    last = runs[-1][0] if runs else CrawlRun.objects.order_by("-run_started_at", "-pk").first()
    if last is None:
        has_boards = Forum.objects.crawled().exists()
        return Card(
            title=title,
            url=url,
            hint=_("Boards are crawled every 12 hours. New topics appear here.")
            if has_boards
            else _("No boards are crawled yet. Add a board to start."),
            action_title=_("Open forum"),
            action_url=url,
        )
    number = sum(floors for run, floors in runs if run.run_started_at >= now - timedelta(days=1))
    gaps, job = _gaps(), crawl_job()
    found = worst(board_healths(list(Forum.objects.crawled()), job).values())
    return Card(
        title=title,
        url=url,
        number=number,
        unit=npgettext("forum", "new post since yesterday", "new posts since yesterday", number),
        days=_days(runs),
        health=found,
        badge=_badge(found, gaps, is_running=job.is_running),
        facts=_facts(found, last, gaps),
    )


def _gaps() -> int:
    """Return the number of missing posts, counted as the topic list counts them."""
    statement, values = _gaps_statement(connection.vendor)
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.fetchone()[0] or 0)


@cache
def _gaps_statement(vendor: str) -> tuple[str, tuple[Any, ...]]:
    """Compile the query once: building it took a sixth of the time of the home page, and it is always the same."""
    counted: QuerySet[Any] = Thread.objects.with_gaps().order_by()
    rows, values = counted.values("missing_count").query.sql_with_params()
    return f"SELECT SUM(missing_count) FROM ({rows}) AS gaps", tuple(values)  # noqa: S608 - the ORM's own statement


def _runs(now: datetime) -> list[tuple[CrawlRun, int]]:
    """The runs of the last days with how many floors each found, oldest first."""
    start = now - timedelta(days=CARD_DAYS)
    rows = CrawlRun.objects.filter(run_started_at__gte=start).order_by("run_started_at", "pk")
    return [
        (run, run.floors or 0)
        for run in rows.annotate(floors=Sum("threads__new_post_count"), is_list_complete=F("result__is_list_complete"))
    ]


def _days(runs: list[tuple[CrawlRun, int]]) -> dict[date, int]:
    """New floors per day of the reader. A day without a floor and without a list read to its end was not measured."""
    days: dict[date, int] = {}
    for run, floors in runs:
        if not floors and not run.is_list_complete:  # type: ignore[attr-defined]
            continue
        day = formatting.local(run.run_started_at).date()
        days[day] = days.get(day, 0) + floors
    return days


def _badge(found: Health, gaps: int, *, is_running: bool) -> Badge:
    """Return the worst of health and gaps. An outage, which opens an alert, is part of health."""
    if found.needs_attention:
        return found.badge()
    if is_running:
        return badges.find("health", "running")
    return badges.gaps(gaps) if gaps else found.badge()


def _facts(found: Health, last: CrawlRun, gaps: int) -> list[Fact]:
    lacking = ngettext("%(n)s post missing", "%(n)s posts missing", gaps) % {"n": formatting.number_text(gaps)}
    return [
        Fact(_("Last run"), _last_run(last)),
        Fact(_("Next run"), when(found.next_try_at, "short")),
        Fact(_("Gaps"), lacking if gaps else "0"),
    ]


def _last_run(last: CrawlRun) -> SafeString:
    moment = when(last.run_finished_at or last.run_started_at, "short")
    return format_html("{}{}{}", moment, pgettext("list", ", "), requests_text(last.http_request_count))
