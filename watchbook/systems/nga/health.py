"""Health of the forum, from the results of its runs: card, pages, run page, API, alerts and probes all ask here.

A board is healthy while its topic list was read to the end within the last two scheduled runs and nothing stopped the
last one. One failed run makes it `failing`, three in a row `error`; a site that refuses is `blocked`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from django.db.models import Exists, Min, Q, QuerySet, Subquery
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from watchbook.base import clock
from watchbook.base.text import Sentence
from watchbook.core.accounts.models import User
from watchbook.core.alerts.conditions import open_alert, resolve_alert
from watchbook.core.health import (
    BLOCKED,
    ERROR,
    FAILING,
    HEALTHY,
    LATE,
    NEVER,
    STATES,
    Health,
    HealthItem,
    last_use,
    worst,
)
from watchbook.core.jobs.models import JobRun, JobSchedule, State
from watchbook.core.registry import Use
from watchbook.systems.nga import options
from watchbook.systems.nga.models import CrawlRunResult, Forum, RunKind
from watchbook.systems.nga.parse.errors import SENTENCES

CRAWL = "nga.crawl"
ALERT = "nga:crawl"
# Two runs and an hour: the first missed run may still be waiting for its turn.
LATE_AFTER = timedelta(hours=25)
ERROR_AFTER = 3
# Results looked through for the failures since the last success.
RECENT = 50
REFUSALS = frozenset({"gate_shut", "guest", "login", "no_right", "too_old"})
FORBIDDEN = 403
TRY_URL = "/nga/crawl/"
TITLE = gettext_noop("The forum cannot be crawled")
LATE_MESSAGE = gettext_noop("The topic list was not read in time. Check that the scheduler and a worker are running.")
RESOLVED = gettext_noop("The topic list was read again.")
HTTP_ERROR = gettext_noop("The site returned HTTP %(status)s.")
NOT_READ = gettext_noop("The forum could not be read.")
UNREACHABLE = {
    "unreachable": gettext_noop("The site could not be reached."),
    "timed_out": gettext_noop("The site did not respond in time."),
    "bad_answer": gettext_noop("The site returned an invalid response."),
    "gate_shut": gettext_noop("The site does not allow guests."),
    "paused": gettext_noop("The site asked Watchbook to slow down."),
}


@dataclass(frozen=True)
class BoardHealth:
    """The last whole reading of the list, and the failures of one board."""

    last_success_at: datetime | None = None
    failures: Sequence[CrawlRunResult] = ()
    """Failed results since the last good run, newest first."""
    last_failure: CrawlRunResult | None = None
    """The newest failed result of the recent ones, also before the last good run."""


@dataclass(frozen=True)
class CrawlJob:
    """The crawl job now: when it runs next, and whether it is running."""

    next_at: datetime | None = None
    is_running: bool = False


def health(user: User | None = None) -> Health:
    """Return the health of the worst board. All users see the same boards."""
    return worst(board_healths(list(Forum.objects.crawled()), crawl_job()).values())


def items(user: User | None = None) -> list[HealthItem]:
    """Return the health of each board. All users see the same boards."""
    forums = list(Forum.objects.crawled())
    found = board_healths(forums, crawl_job())
    return [
        HealthItem(str(forum), _("Board %(fid)s") % {"fid": forum.source_forum_id}, found[forum.pk], try_url=TRY_URL)
        for forum in forums
    ]


def board_healths(forums: Sequence[Forum], job: CrawlJob) -> dict[int, Health]:
    """Return the health of each board by row id, in one query for any number of boards with a recent success."""
    now = clock.now()
    return {forum.pk: _judge(forum, found, job.next_at, now) for forum, found in _results(forums)}


def _results(forums: Sequence[Forum]) -> list[tuple[Forum, BoardHealth]]:
    rows = CrawlRunResult.objects.filter(run_kind=RunKind.LIST).select_related("crawl_run").order_by("-pk")
    recent = list(rows[:RECENT]) if forums else []
    found = []
    for forum in forums:
        own = [row for row in recent if row.crawl_run.forum_id == forum.pk]
        # A whole list proves that the list was read. A run that stopped at the topics failed all the same.
        failures = list(takewhile(_is_failed, own))
        success = next((row for row in own if row.is_list_complete), None)
        if success is None and len(recent) == RECENT:
            success = rows.filter(crawl_run__forum=forum, is_list_complete=True).first()
        failed = next((row for row in own if _is_failed(row)), None)
        found.append((forum, BoardHealth(success.finished_at if success else None, failures, failed)))
    return found


def _is_failed(row: CrawlRunResult) -> bool:
    return bool(row.error_code) or not row.is_list_complete


def _judge(forum: Forum, found: BoardHealth, next_at: datetime | None, now: datetime) -> Health:
    if found.failures:
        return _failing(forum, found, next_at)
    if found.last_success_at is None:
        return Health(NEVER, next_try_at=next_at, url=reverse("nga:topics"))
    if now - found.last_success_at > LATE_AFTER:
        reason = _("The topic list of %(board)s was not read for %(hours)s hours.")
        hours = int((now - found.last_success_at).total_seconds() // 3600)
        return Health(
            LATE,
            last_success_at=found.last_success_at,
            **_failure(found),
            reason=reason % {"board": forum, "hours": hours},
            remedy=_("Check that the scheduler and a worker are running, or select Crawl now."),
            next_try_at=next_at,
            url=reverse("nga:runs"),
        )
    known = {"last_success_at": found.last_success_at, "next_try_at": next_at, **_failure(found)}
    return Health(HEALTHY, **known, url=reverse("nga:topics"))


def _failure(found: BoardHealth) -> dict[str, Any]:
    """Return the last failure and its time."""
    row = found.last_failure
    return {"last_failure_at": row.finished_at, "last_failure": failure_text(row)} if row else {}


def _failing(forum: Forum, found: BoardHealth, next_at: datetime | None) -> Health:
    newest, count = found.failures[0], len(found.failures)
    is_refused = newest.error_code in REFUSALS or newest.http_error_code == FORBIDDEN
    state = BLOCKED if is_refused else ERROR if count >= ERROR_AFTER else FAILING
    said = ngettext("The last run for %(board)s failed:", "The last %(n)s runs for %(board)s failed:", count)
    return Health(
        state,
        last_success_at=found.last_success_at,
        **_failure(found),
        reason=f"{said % {'n': count, 'board': forum}} {failure_text(newest)}",
        remedy=_remedy(newest, is_refused=is_refused),
        next_try_at=next_at,
        detail=newest.error_summary,
        url=reverse("nga:run", args=[newest.pk]),
    )


def failure_text(result: CrawlRunResult) -> str:
    """Return the reason of a failed run in the language of the reader."""
    return str(failure_sentence(result))


def failure_sentence(result: CrawlRunResult) -> Sentence:
    """Return the reason of a failed run. Pages, alerts and API all show this one."""
    if result.http_error_code:
        return Sentence(HTTP_ERROR, {"status": result.http_error_code})
    return Sentence(SENTENCES.get(result.error_code) or UNREACHABLE.get(result.error_code) or NOT_READ)


def _remedy(result: CrawlRunResult, *, is_refused: bool) -> str:
    if is_refused:
        return _("Enter the cookie of an account under Settings, or wait. Stored posts are kept.")
    if result.error_code in SENTENCES and result.error_code != "busy":
        return _("If it continues, the layout of the site has changed: update Watchbook. Stored posts are kept.")
    return _("Watchbook retries automatically. If it continues, check the network of this server.")


def last_list(after: datetime | None) -> Use | None:
    """The last topic list that was read with the cookie. For the settings page; without a cookie it was not used."""
    if not options.COOKIE.value:
        return None
    good = Q(error_code="", is_list_complete=True)
    rows = CrawlRunResult.objects.filter(run_kind=RunKind.LIST)
    return last_use(rows, "finished_at", good, after=after, answer=failure_text)


def crawl_job() -> CrawlJob:
    """Return when the boards are crawled next (a queued run or the next slot of the schedule), in one query."""
    runs = JobRun.objects.filter(name=CRAWL)
    queued = runs.filter(state=State.QUEUED).order_by("due_at").values("due_at")[:1]
    rows = JobSchedule.objects.filter(name=CRAWL).annotate(
        queued_at=Subquery(queued), is_running=Exists(runs.filter(state=State.RUNNING))
    )
    slots = rows.values_list("next_at", "is_enabled", "queued_at", "is_running")
    next_at, is_enabled, queued_at, is_running = slots.first() or (None, False, _queued_at(runs), False)
    times = [at for at in (next_at if is_enabled else None, queued_at) if at is not None]
    return CrawlJob(min(times, default=None), bool(is_running))


def _queued_at(runs: QuerySet[JobRun]) -> datetime | None:
    """Before the scheduler has run for the first time there is no schedule to ask."""
    at: datetime | None = runs.filter(state=State.QUEUED).aggregate(at=Min("due_at"))["at"]
    return at


def update_alert() -> None:
    """Open one alert while a board cannot be read or is late; resolve it when all are read again."""
    now, next_at = clock.now(), crawl_job().next_at
    boards = _results(list(Forum.objects.crawled()))
    with translation.override("en"):  # an alert stores English and is worded for each reader
        judged = [(_judge(forum, found, next_at, now), found) for forum, found in boards]
    if not judged:
        return
    found, board = max(judged, key=lambda each: STATES.index(each[0].state))
    if found.needs_attention:
        message = failure_sentence(board.failures[0]) if board.failures else Sentence(LATE_MESSAGE)
        open_alert(
            ALERT, level="P1", source="nga", title=Sentence(TITLE), message=message, remedy=Sentence(found.remedy),
            link=found.url,
        )  # fmt: skip
    elif found.state == HEALTHY:
        resolve_alert(ALERT, Sentence(RESOLVED))
