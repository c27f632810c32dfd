"""Health of the notes source, from rows only: leases, circuit breaker, cookies and candidates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Max, Min, Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from watchbook.base import clock
from watchbook.core import health as core
from watchbook.core.accounts.models import User
from watchbook.core.health import Health, HealthItem, last_use
from watchbook.core.registry import Use
from watchbook.systems.notes import encryption, fetch, options
from watchbook.systems.notes.fetch.refusals import reason_sentence
from watchbook.systems.notes.models import (
    Breaker,
    Candidate,
    CandidateStatus,
    Cookie,
    CookieLease,
    CookieStatus,
    Creator,
    Execution,
    Keyword,
    under_limit,
)
from watchbook.systems.notes.rules import COMMENTS_WORKFLOW, CREATORS_WORKFLOW, OUTAGE, NotesError
from watchbook.systems.notes.store.pool import NONE_LEFT, NONE_THERE, today

URL, COOKIES_URL, KEYWORDS_URL = "/notes/", "/notes/cookies/", "/notes/keywords/"
CREATORS_URL = "/notes/creators/"
LATE_MINUTES = 60

FAILED = gettext_noop("The last request to the platform failed.")
LATE = gettext_noop("Candidates are pending and no request was sent for an hour.")
CHECK_JOBS = gettext_noop("Check that a worker or n8n is running.")
WAIT = gettext_noop("Watchbook tries again after the pause. Candidates stay pending.")
WAIT_OR_CLOSE = gettext_noop("Watchbook tries again after the pause. To try earlier, close the circuit breaker.")
RETRY = gettext_noop("Watchbook tries again in the next run.")
ADD_COOKIE = gettext_noop("Add a cookie, or replace or reset one in the cookie pool.")
GAP = gettext_noop("Possible gap: the last check did not reach a known note, so notes may be missing.")
READ_WHOLE = gettext_noop("Select Read all notes on the page of the creator.")
SET_OPTION = gettext_noop("Change the setting, then restart Watchbook.")


def health(user: User | None = None, *, now: datetime | None = None) -> Health:
    """Return the health of the source; notes are the same for all users.

    While the platform is well, the source is as healthy as its worst keyword and creator.
    """
    platform = _platform_health(now or clock.now())
    if platform.state not in (core.HEALTHY, core.NEVER):
        return platform
    return core.worst([platform, *_named_problems(platform)])


def _named_problems(platform: Health) -> Iterator[Health]:
    """Yield the health of the keyword and of the creator that failed last, with their names."""
    for keyword in Keyword.objects.filter(is_active=True).exclude(last_error="").order_by("-last_search_at")[:1]:
        yield _named(keyword.keyword, _keyword_health(keyword, platform))
    failing = Creator.objects.filter(is_active=True).filter(~Q(last_error="") | Q(possible_gap=True))
    # An error is worse than a gap.
    for creator in failing.order_by(F("last_error").desc(), "-last_check_at")[:1]:
        yield _named(creator.title, _creator_health(creator, platform))


def _named(name: str, found: Health) -> Health:
    return replace(found, reason=f"{name}: {found.reason}")


def _platform_health(now: datetime) -> Health:
    good = CookieLease.objects.filter(succeeded__gt=0).aggregate(at=Max("ended_at"))["at"]
    bad = CookieLease.objects.filter(failed__gt=0, ended_at__isnull=False).order_by("-ended_at").first()
    cause = _(reason_sentence(bad.error_reason) or FAILED) if bad else ""
    failed = {"last_failure_at": bad.ended_at, "last_failure": cause} if bad else {}
    known: dict[str, Any] = {"last_success_at": good, **failed}
    if not fetch.adapter_name():
        return Health(core.PAUSED if good else core.NEVER, **known, url=URL)
    found = _setting_problem(known) or _breaker_problem(known) or _cookie_problem(known, now)
    if found is not None:
        return found
    if bad is not None and bad.ended_at is not None and (good is None or bad.ended_at > good):
        detail = " ".join(word for word in (bad.error_code, bad.error_reason) if word)
        return Health(core.FAILING, **known, reason=cause, remedy=_(RETRY), detail=detail, url=URL)
    return _late(known, now) or Health(core.HEALTHY if good else core.NEVER, **known, url=URL)


def last_request(after: datetime | None) -> Use | None:
    """The last use of a cookie through the adapter. For the settings page."""
    if not fetch.adapter_name():
        return None
    rows = CookieLease.objects.filter(Q(succeeded__gt=0) | Q(failed__gt=0), ended_at__isnull=False)
    return last_use(
        rows, "ended_at", Q(succeeded__gt=0), after=after,
        answer=lambda lease: _(reason_sentence(lease.error_reason) or FAILED),
    )  # fmt: skip


def items(user: User | None = None) -> list[HealthItem]:
    """Return the platform, which all candidates need, and each keyword. A problem of the platform concerns both."""
    now = clock.now()
    platform = _platform_health(now)
    keywords = Keyword.objects.order_by("folded", "pk")
    return [
        HealthItem(_("Note platform"), _("Adapter"), platform),
        *(HealthItem(each.keyword, _("Keyword"), _keyword_health(each, platform)) for each in keywords),
        *(
            HealthItem(each.title, _("Creator"), _creator_health(each, platform))
            for each in Creator.objects.order_by("pk")
        ),
    ]


def _keyword_health(keyword: Keyword, platform: Health) -> Health:
    """A keyword stores the time of its last search only: after a failed one its last success is not known."""
    searched_at = None if keyword.last_error else keyword.last_search_at
    if not keyword.is_active or platform.state == core.PAUSED:
        return Health(core.PAUSED if searched_at else core.NEVER, last_success_at=searched_at, url=KEYWORDS_URL)
    if platform.needs_attention:
        next_try_at = platform.next_try_at or keyword.next_search_at
        return replace(platform, last_success_at=searched_at, next_try_at=next_try_at)
    known: dict[str, Any] = {"next_try_at": keyword.next_search_at, "url": KEYWORDS_URL}
    if keyword.last_error:
        code, _colon, sentence = keyword.last_error.partition(": ")
        cause = _(sentence or code)
        failed: dict[str, Any] = {"last_failure_at": keyword.last_search_at, "last_failure": cause, "reason": cause}
        return Health(core.FAILING, **known, **failed, remedy=_(RETRY))
    return Health(core.HEALTHY if searched_at else core.NEVER, last_success_at=searched_at, **known)


def _creator_health(creator: Creator, platform: Health) -> Health:
    url = f"{CREATORS_URL}{creator.pk}/"
    done_at = creator.last_success_at
    if not creator.is_active or platform.state == core.PAUSED:
        return Health(core.PAUSED if done_at else core.NEVER, last_success_at=done_at, url=url)
    if platform.needs_attention:
        next_try_at = platform.next_try_at or creator.next_check_at
        return replace(platform, last_success_at=done_at, next_try_at=next_try_at)
    known: dict[str, Any] = {"last_success_at": done_at, "next_try_at": creator.next_check_at, "url": url}
    if creator.last_error:
        code, _colon, sentence = creator.last_error.partition(": ")
        cause = _(sentence or code)
        failed: dict[str, Any] = {"last_failure_at": creator.last_check_at, "last_failure": cause, "reason": cause}
        return Health(core.FAILING, **known, **failed, remedy=_(RETRY))
    if creator.possible_gap:
        return Health(core.INCOMPLETE, **known, reason=_(GAP), remedy=_(READ_WHOLE))
    return Health(core.HEALTHY if done_at else core.NEVER, **known)


def _setting_problem(known: dict[str, Any]) -> Health | None:
    try:
        fetch.adapter()
        closed = encryption.unavailable_reason()
    except NotesError as error:
        closed = error.message
    return Health(core.ERROR, **known, reason=_(closed), remedy=_(SET_OPTION), url=URL) if closed else None


def breaker_cause(breaker: Breaker) -> str:
    """Return the English sentence why the circuit breaker is open: in an outage, the last failure of a request."""
    reason = breaker.reason
    if reason == OUTAGE:
        failed = (
            CookieLease.objects.exclude(error_reason="").filter(ended_at__isnull=False).order_by("-ended_at").first()
        )
        reason = failed.error_reason if failed else reason
    return reason_sentence(reason) or FAILED


def _breaker_problem(known: dict[str, Any]) -> Health | None:
    """The circuit breaker opened and no request has succeeded since."""
    breaker = Breaker.objects.filter(trips__gt=0).order_by("pk").first()
    if breaker is None:
        return None
    is_outage = breaker.reason == OUTAGE
    cause = _(breaker_cause(breaker))
    return Health(
        core.FAILING if is_outage else core.BLOCKED,
        last_success_at=known["last_success_at"],
        last_failure_at=known.get("last_failure_at") or breaker.opened_at,
        last_failure=cause,
        reason=cause,
        remedy=_(WAIT if is_outage else WAIT_OR_CLOSE),
        next_try_at=breaker.open_until,
        detail=breaker.reason,
        url=COOKIES_URL,
    )


def _cookie_problem(known: dict[str, Any], now: datetime) -> Health | None:
    usable = Cookie.objects.usable(now)
    if (
        usable.filter(under_limit()).exists()
        or usable.exclude(daily_date=today(now)).filter(daily_limit__gt=0).exists()
    ):
        return None
    if not Cookie.objects.exists() and known["last_success_at"] is None and not Candidate.objects.exists():
        return None  # nothing was started yet
    cooling = Cookie.objects.enabled().filter(status=CookieStatus.COOLING)
    return Health(
        core.ERROR,
        **known,
        reason=_(NONE_LEFT if Cookie.objects.exists() else NONE_THERE),
        remedy=_(ADD_COOKIE),
        next_try_at=cooling.aggregate(at=Min("cooling_until"))["at"],
        url=COOKIES_URL,
    )


def _late(known: dict[str, Any], now: datetime) -> Health | None:
    """Candidates are pending for an hour and no run has started since."""
    before = now - timedelta(minutes=LATE_MINUTES)
    waiting = Candidate.objects.filter(status=CandidateStatus.PENDING, queued_at__lt=before)
    others = [CREATORS_WORKFLOW, COMMENTS_WORKFLOW]
    runs = Execution.objects.exclude(workflow_name__in=others).filter(started_at__gte=before)
    if not waiting.exists() or runs.exists():
        return None
    remedy = _(CHECK_JOBS)
    next_try = None if not options.RUNNER.value else now
    return Health(core.LATE, **known, reason=_(LATE), remedy=remedy, next_try_at=next_try, url=URL)
