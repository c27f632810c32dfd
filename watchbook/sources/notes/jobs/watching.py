"""Three alerts: no active cookie (P0), a low success rate that lasts (P1), a backlog that lasts (P2).

Each opens once, is told once, and closes by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Sum
from django.utils.translation import gettext_noop as _

from watchbook.core.alerts.conditions import close_alert, open_alert
from watchbook.core.alerts.sentences import Sentence
from watchbook.core.jobs.context import JobContext, Outcome
from watchbook.sources.notes import fetch, vault
from watchbook.sources.notes.models import Candidate, CandidateStatus, Cookie, CookieLease, Watched, under_limit
from watchbook.sources.notes.rules import (
    BACKLOG_CANDIDATES,
    BACKLOG_MINUTES,
    LOW_SUCCESS_MINUTES,
    LOW_SUCCESS_RATE,
)
from watchbook.sources.notes.store import pool

SOURCE = "notes"
EXHAUSTED, LOW_SUCCESS, BACKLOG = "notes:cookies_exhausted", "notes:success_rate", "notes:backlog"


@dataclass(frozen=True)
class Condition:
    """`holds` now; it becomes an alert when it has lasted."""

    key: str
    level: str
    holds: bool
    lasts_minutes: int
    title: Sentence
    message: Sentence
    link: str


def watch(ctx: JobContext) -> Outcome:
    with ctx.writing():
        pool.wake(ctx.now)
        figures = {condition.key: _judge(condition, ctx.now) for condition in conditions(ctx.now)}
    return Outcome("done", {"open": sorted(key for key, is_open in figures.items() if is_open)})


def conditions(now: datetime) -> list[Condition]:
    return [_exhausted(now), _low_success(now), _backlog()]


def _exhausted(now: datetime) -> Condition:
    """Only where the pool is meant to be used: somebody added a cookie, or switched an adapter on."""
    closed = vault.why_closed()
    active = 0 if closed else Cookie.objects.usable(now).filter(under_limit()).count()
    is_used = bool(fetch.adapter_name()) or Cookie.objects.exists()
    return Condition(
        EXHAUSTED, "P0", is_used and active < 1, 0,
        Sentence(_("No cookie can be used")),
        Sentence(closed or _("All are cooling, used up for today, invalid, banned or switched off.")),
        "/notes/cookies/",
    )  # fmt: skip


def _low_success(now: datetime) -> Condition:
    since = now - timedelta(minutes=LOW_SUCCESS_MINUTES)
    sums = CookieLease.objects.filter(ended_at__gt=since, ended_at__lte=now).aggregate(
        good=Sum("succeeded"), bad=Sum("failed")
    )
    good, bad = sums["good"] or 0, sums["bad"] or 0
    holds = bool(good + bad) and good < LOW_SUCCESS_RATE * (good + bad)
    return Condition(
        LOW_SUCCESS, "P1", holds, LOW_SUCCESS_MINUTES,
        Sentence(_("Success rate under 90 % for 10 minutes")),
        Sentence(_("%(bad)s of %(total)s reads failed."), {"bad": bad, "total": good + bad}),
        "/notes/executions/",
    )  # fmt: skip


def _backlog() -> Condition:
    pending = Candidate.objects.filter(status=CandidateStatus.PENDING).count()
    return Condition(
        BACKLOG, "P2", pending > BACKLOG_CANDIDATES, BACKLOG_MINUTES,
        Sentence(_("More than 500 candidates wait for 30 minutes")),
        Sentence(_("%(n)s candidates wait."), {"n": pending}),
        "/notes/",
    )  # fmt: skip


def _judge(condition: Condition, now: datetime) -> bool:
    if not condition.holds:
        Watched.objects.filter(key=condition.key).delete()
        close_alert(condition.key, Sentence(_("It is over.")))
        return False
    watched, _made = Watched.objects.get_or_create(key=condition.key, defaults={"since": now})
    if now - watched.since < timedelta(minutes=condition.lasts_minutes):
        return False
    open_alert(
        condition.key, level=condition.level, source=SOURCE, title=condition.title, message=condition.message,
        link=condition.link,
    )  # fmt: skip
    return True
