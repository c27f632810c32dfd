"""Jobs of every few minutes: search keywords, recover locks, delete old leases, check the alert conditions.

Conditions: no usable cookie (P0), platform not available (P1), low success rate (P1), backlog (P2).
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from django.db.models import Sum
from django.utils.translation import gettext_noop as _

from watchbook.base.text import Sentence, cut
from watchbook.core.alerts.conditions import open_alert, resolve_alert
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.jobs.runner import NOTHING_TO_DO, JobContext, Outcome
from watchbook.systems.notes import encryption, fetch, options
from watchbook.systems.notes.fetch import SearchQuery
from watchbook.systems.notes.fetch.refusals import is_service_failure
from watchbook.systems.notes.health import breaker_cause
from watchbook.systems.notes.jobs import crawl
from watchbook.systems.notes.models import (
    Breaker,
    Candidate,
    CandidateStatus,
    Cookie,
    CookieLease,
    Execution,
    ExecutionStatus,
    Keyword,
    NoteWatch,
    Watched,
    under_limit,
)
from watchbook.systems.notes.parse.records import CardRecord
from watchbook.systems.notes.rules import (
    BACKLOG_CANDIDATES,
    BACKLOG_MINUTES,
    COLLECT_WORKFLOW,
    COMMENTS_WORKFLOW,
    CREATORS_WORKFLOW,
    LOW_SUCCESS_MINUTES,
    LOW_SUCCESS_RATE,
    NotesError,
    is_not_an_attempt,
)
from watchbook.systems.notes.store import candidates, pool, readings
from watchbook.systems.notes.store.candidates import FoundNote
from watchbook.systems.notes.store.pool import BREAKER_OPEN

log = logging.getLogger(__name__)

PAGE_SIZE = 20
KEYWORDS_A_RUN = 50
# A search that failed for another reason than its keyword is repeated soon.
RETRY_MINUTES = 15
# Later readings wait while so many candidates are pending: new notes come first.
MOST_READINGS = 100


def any_note_due(now: datetime) -> bool:
    return bool(fetch.adapter_name()) and NoteWatch.objects.due(now).exists()


def queue_readings(ctx: JobContext) -> Outcome:
    """Collected notes whose next reading is due become pending candidates again, behind those that wait."""
    room = MOST_READINGS - Candidate.objects.pending().count()
    if room <= 0 or not any_note_due(ctx.now):
        return NOTHING_TO_DO
    with ctx.writing():
        queued = readings.queue_due(ctx.now, room)
    return Outcome("done", {"queued": queued})


def recover_locks(ctx: JobContext) -> Outcome:
    for workflow in JOB_OF_WORKFLOW:
        free_crashed(workflow, ctx.now)
    with ctx.writing():
        done = candidates.recover(ctx.now)
    return Outcome("done" if any(asdict(done).values()) else "nothing_to_do", asdict(done))


RUNNER_OFF, NO_ADAPTER, PAUSED, HELD = "runner_off", "no_adapter", "breaker_open", "held_by_another"


def idle(now: datetime, *, reason: str = "", needs_runner: bool = True) -> Outcome:
    """The outcome of a run that did nothing, with the reason if that is not simply that nothing was due."""
    if needs_runner and not options.RUNNER.value:
        reason = RUNNER_OFF
    elif not fetch.adapter_name():
        reason = NO_ADAPTER
    elif pool.is_breaker_open(now):
        reason = PAUSED
    return Outcome("nothing_to_do", {"reason": reason} if reason else {})


JOB_OF_WORKFLOW = {
    COLLECT_WORKFLOW: "notes.collect",
    CREATORS_WORKFLOW: "notes.creators",
    COMMENTS_WORKFLOW: "notes.comments",
}


def crashed_execution(workflow_name: str) -> Execution | None:
    """Return the execution that holds this lock if its job run is known to have crashed.

    The run is found by its request ID and its time. Locks of n8n and of commands have no run and expire by time only.
    """
    held = Execution.objects.filter(slot=workflow_name, status=ExecutionStatus.RUNNING).exclude(request_id="").first()
    if held is None:
        return None
    crashed = JobRun.objects.filter(
        name=JOB_OF_WORKFLOW[workflow_name],
        state=State.FAILED,
        error_code="crashed",
        started_at__lte=held.started_at,
        finished_at__gte=held.started_at,
    )
    names = (run.request_id or f"run-{run.pk}-{run.fence}" for run in crashed)
    return held if held.request_id in names else None


def free_crashed(workflow_name: str, now: datetime) -> bool:
    """Free the lock and the candidates of a run whose worker stopped. Without this they wait for 30 minutes."""
    held = crashed_execution(workflow_name)
    if held is None:
        return False
    log.warning("execution %s ended with its worker: its lock is free", held.execution_id)
    return bool(candidates.recover_crashed(held, now).executions_timed_out)


def any_keyword_due(now: datetime) -> bool:
    return bool(fetch.adapter_name()) and not pool.is_breaker_open(now) and Keyword.objects.due(now).exists()


def search_due(ctx: JobContext) -> Outcome:
    """Every keyword whose time has come; what it finds is stored once per note."""
    due = list(Keyword.objects.due(ctx.now)[:KEYWORDS_A_RUN])
    if not due or not fetch.adapter_name():
        return idle(ctx.now, needs_runner=False)
    added = failed = 0
    for keyword in due:
        try:
            cards = search_keyword(keyword)
        except NotesError as error:
            failed += 1
            is_outage = is_not_an_attempt(error.as_json()) or is_service_failure(error)
            with ctx.writing():
                schedule_next(keyword, ctx.now, error=str(error), minutes=RETRY_MINUTES if is_outage else None)
            if is_not_an_attempt(error.as_json()):
                break  # the platform, the login or the rate limit: the next keyword would fail the same way
            continue
        with ctx.writing():
            added += store_cards(keyword, cards, ctx.now)
        ctx.report(keywords=len(due), added=added, failed=failed)
    return Outcome("partly" if failed else "done", {"keywords": len(due), "added": added, "failed": failed})


def search_keyword(keyword: Keyword) -> list[CardRecord]:
    """The hits of the first pages. Raises Trouble."""
    cards: list[CardRecord] = []
    for number in range(1, options.SEARCH_PAGES.value + 1):
        query = SearchQuery(
            keyword.keyword, number, PAGE_SIZE,
            sort=keyword.sort, note_type=keyword.note_type, time_range=keyword.time_range,
        )  # fmt: skip
        page, _cookie = crawl.search(query, platform=keyword.platform)
        cards += page.cards
        if not page.has_more:
            break
    return cards


def store_cards(keyword: Keyword, cards: list[CardRecord], now: datetime) -> int:
    """In the caller's transaction: candidates, and the keyword's next time."""
    base = options.PAGE_URL.value.rstrip("/")
    found = [
        FoundNote(
            note_id=card.note_id,
            platform=keyword.platform,
            note_url=f"{base}/explore/{card.note_id}",
            source_keyword=keyword.keyword,
            xsec_token=card.xsec_token,
            xsec_source="pc_search",
            title=card.title,
        )
        for card in cards
    ]
    stored = candidates.store_found(found, now)
    schedule_next(keyword, now, found=stored.added)
    return stored.added


def schedule_next(
    keyword: Keyword, now: datetime, *, found: int = 0, error: str = "", minutes: int | None = None
) -> None:
    Keyword.objects.filter(pk=keyword.pk).update(
        last_search_at=now,
        next_search_at=now + timedelta(minutes=minutes or keyword.every_minutes or options.SEARCH_EVERY.value),
        last_error=cut(error, 300),
        found_count=keyword.found_count + found,
    )


def delete_old_leases(ctx: JobContext) -> Outcome:
    before = ctx.now - timedelta(days=options.KEEP_LEASES_DAYS.value)
    with ctx.writing():
        gone = CookieLease.objects.filter(leased_at__lt=before).delete()[0]
    return Outcome("done" if gone else "nothing_to_do", {"leases": gone})


SOURCE = "notes"
EXHAUSTED, LOW_SUCCESS, BACKLOG = "notes:cookies_exhausted", "notes:success_rate", "notes:backlog"
UNAVAILABLE = "notes:platform_unavailable"


@dataclass(frozen=True)
class Condition:
    """`holds` now; an alert opens after `lasts_minutes`."""

    key: str
    level: str
    holds: bool
    lasts_minutes: int
    title: Sentence
    message: Sentence
    link: str


REMEDIES = {
    EXHAUSTED: _("Add a cookie, or replace those that are invalid or banned. Candidates wait until then."),
    UNAVAILABLE: _("Watchbook retries automatically. If it continues, check the cookies and the adapter's settings."),
    LOW_SUCCESS: _("Open the platform with the affected accounts, solve the captcha there, then replace the cookies."),
    BACKLOG: _("Check that a worker is running, and raise the number of cookies or lower the number of keywords."),
}


def check_conditions(ctx: JobContext) -> Outcome:
    with ctx.writing():
        pool.wake(ctx.now)
        figures = {condition.key: _update_alert(condition, ctx.now) for condition in conditions(ctx.now)}
    return Outcome("done", {"open": sorted(key for key, is_open in figures.items() if is_open)})


def conditions(now: datetime) -> list[Condition]:
    return [_exhausted(now), _unavailable(), _low_success(now), _backlog()]


def _exhausted(now: datetime) -> Condition:
    """Applies only where the pool is used: it has a cookie, or an adapter is set."""
    closed = encryption.unavailable_reason()
    active = 0 if closed else Cookie.objects.usable(now).filter(under_limit()).count()
    is_used = bool(fetch.adapter_name()) or Cookie.objects.exists()
    return Condition(
        EXHAUSTED, "P0", is_used and active < 1, 0,
        Sentence(_("No usable cookies")),
        Sentence(closed or _("All cookies are cooling down, over their daily limit, invalid, banned or disabled.")),
        "/notes/cookies/",
    )  # fmt: skip


def _unavailable() -> Condition:
    """The circuit breaker opened and no request has succeeded since: an IP block, a rejected signature, an outage."""
    breaker = Breaker.objects.filter(trips__gt=0).order_by("pk").first() if fetch.adapter_name() else None
    return Condition(
        UNAVAILABLE, "P1", breaker is not None, 0,
        Sentence(_("The platform is not available")),
        Sentence(breaker_cause(breaker) if breaker else BREAKER_OPEN),
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
        Sentence(_("Success rate below 90% for 10 minutes")),
        Sentence(_("%(bad)s of %(total)s requests failed."), {"bad": bad, "total": good + bad}),
        "/notes/executions/",
    )  # fmt: skip


def _backlog() -> Condition:
    pending = Candidate.objects.filter(status=CandidateStatus.PENDING).count()
    return Condition(
        BACKLOG, "P2", pending > BACKLOG_CANDIDATES, BACKLOG_MINUTES,
        Sentence(_("More than 500 candidates pending for 30 minutes")),
        Sentence(_("%(n)s candidates are pending."), {"n": pending}),
        "/notes/",
    )  # fmt: skip


def _update_alert(condition: Condition, now: datetime) -> bool:
    if not condition.holds:
        Watched.objects.filter(key=condition.key).delete()
        resolve_alert(condition.key, Sentence(_("The condition no longer applies.")))
        return False
    watched, _made = Watched.objects.get_or_create(key=condition.key, defaults={"since": now})
    if now - watched.since < timedelta(minutes=condition.lasts_minutes):
        return False
    open_alert(
        condition.key, level=condition.level, source=SOURCE, title=condition.title, message=condition.message,
        remedy=Sentence(REMEDIES[condition.key]), link=condition.link,
    )  # fmt: skip
    return True
