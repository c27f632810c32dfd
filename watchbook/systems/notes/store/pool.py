"""The cookie pool: leases that reserve quota, what their end does to the cookie, and the circuit breaker.

    active  --3 errors in a row, a captcha, 429-->  cooling  --30 minutes-->  active
    active  --10 errors in all, or a dead login-->  invalid
    cooling --an error that began while cooling-->  banned

An error of a lease that began before cooling changes nothing. Invalid wins over cooling. Refusals that every cookie got
are an outage of the platform and count against none.

A lease is taken by one conditional UPDATE, so that no daily limit is exceeded. It ends once, so that a batch counts at
most one error against its cookie. All state is in rows and survives a restart.
"""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest
from django.utils.translation import gettext_noop

from watchbook.base.clock import SHANGHAI
from watchbook.base.crypto import DecryptionError
from watchbook.base.logs import request_id
from watchbook.systems.notes import encryption, options
from watchbook.systems.notes.models import Breaker, Cookie, CookieLease, CookieStatus, under_limit
from watchbook.systems.notes.parse.documents import BLOCKED
from watchbook.systems.notes.rules import (
    COOL,
    COOLING_DURATION_MINUTES,
    COUNTED,
    DEAD,
    DEFAULT_PLATFORM,
    HEAVY,
    MAX_CONSECUTIVE_ERRORS,
    MAX_FAILURES_IN_A_ROW,
    MAX_TOTAL_ERRORS,
    OUTAGE,
    OUTAGE_PAUSE_MINUTES,
    RECENT_RESPONSE_MINUTES,
    Code,
    NotesError,
)


@dataclass(frozen=True)
class CookieState:
    """Columns of a cookie that the end of a lease may change."""

    status: str = CookieStatus.ACTIVE
    consecutive_errors: int = 0
    total_errors: int = 0
    cooling_since: datetime | None = None
    cooling_until: datetime | None = None
    cooling_round: int = 0


@dataclass(frozen=True)
class LeaseEnd:
    """How one lease ended: its worst cookie error (empty if none), and the cooling round in which it began."""

    cookie_error: str
    has_succeeded: bool
    cooling_round: int


def apply_lease_end(before: CookieState, ended: LeaseEnd, now: datetime) -> CookieState:
    current = end_cooling(before, now)
    if current.status in {CookieStatus.INVALID, CookieStatus.BANNED} or ended.cooling_round < current.cooling_round:
        return current
    if not ended.cookie_error:
        return replace(current, consecutive_errors=0) if ended.has_succeeded and _is_active(current) else current
    counted = replace(current, total_errors=current.total_errors + 1, consecutive_errors=current.consecutive_errors + 1)
    if ended.cookie_error == DEAD:
        return replace(counted, status=CookieStatus.INVALID, cooling_until=None)
    if not _is_active(current):
        return replace(counted, status=CookieStatus.BANNED, cooling_until=None)
    if counted.total_errors >= MAX_TOTAL_ERRORS:
        return replace(counted, status=CookieStatus.INVALID, cooling_until=None)
    if counted.consecutive_errors >= MAX_CONSECUTIVE_ERRORS or ended.cookie_error in {COOL, HEAVY}:
        return start_cooling(counted, now)
    return counted


def start_cooling(state: CookieState, now: datetime) -> CookieState:
    return replace(
        state,
        status=CookieStatus.COOLING,
        cooling_since=now,
        cooling_until=now + timedelta(minutes=COOLING_DURATION_MINUTES),
        cooling_round=state.cooling_round + 1,
    )


def end_cooling(state: CookieState, now: datetime) -> CookieState:
    """Return the state with cooling ended if its time is over."""
    if state.status != CookieStatus.COOLING or state.cooling_until is None or state.cooling_until > now:
        return state
    return replace(state, status=CookieStatus.ACTIVE, consecutive_errors=0, cooling_until=None)


def _is_active(state: CookieState) -> bool:
    return state.status == CookieStatus.ACTIVE


log = logging.getLogger(__name__)

WINDOW = 20
ROUNDS = 50
CANNOT_OPEN = "CANNOT_OPEN"
STATE_COLUMNS = tuple(CookieState.__dataclass_fields__)

# Each opening in a row doubles the pause, up to eight times the first.
MOST_DOUBLINGS = 3
BREAKER_OPEN = gettext_noop("The circuit breaker is open. No requests are sent until the pause ends.")

NONE_LEFT = gettext_noop(
    "No usable cookies: all are cooling down, over their daily limit, invalid, banned or disabled."
)
NONE_THERE = gettext_noop("The cookie pool is empty. Add a cookie first.")
BUSY = gettext_noop("The cookie pool is busy. Try again.")


@dataclass
class Outage:
    """Requests in a row without a usable response from the platform; kept in the row of the circuit breaker.

    After a pause (`is_probe`) one more failure opens the breaker again, else three. A single note that fails three
    times is no outage while the platform responded to others in the last minutes.
    """

    failures: int = 0
    failed_note: str = ""
    several: bool = False
    responded_at: datetime | None = None
    is_probe: bool = False
    # The circuit breaker was opened during this lease: its end must not close it.
    has_opened: bool = False

    def response(self, now: datetime) -> None:
        self.failures, self.failed_note, self.several, self.is_probe = 0, "", False, False
        self.responded_at = now

    def failure(self, note: str, now: datetime) -> bool:
        """Count a failure. Returns whether the platform is unavailable."""
        self.several = self.several or bool(self.failed_note and self.failed_note != note)
        self.failed_note = note
        self.failures += 1
        if self.is_probe:
            return True
        if self.failures < MAX_FAILURES_IN_A_ROW:
            return False
        recent = self.responded_at and now - self.responded_at <= timedelta(minutes=RECENT_RESPONSE_MINUTES)
        if self.several or not recent:
            return True
        self.failures, self.failed_note = 0, ""
        return False


@dataclass(frozen=True)
class Lease:
    """A cookie in use. `granted` requests may be sent with it."""

    lease_id: int
    cookie_id: int
    cookie_name: str
    platform: str
    granted: int
    cookie: str = field(repr=False)
    user_agent: str = ""
    secret_version: int = 1
    outage: Outage = field(default_factory=lambda: Outage())
    # The last response before this lease, and whether the platform was unavailable then.
    responded_at: datetime | None = None
    is_after_outage: bool = False


@dataclass
class Use:
    """What was done with a lease."""

    asked: int = 0
    succeeded: int = 0
    failed: int = 0
    cookie_error: str = ""
    cookie_error_code: str = ""
    cookie_error_reason: str = ""
    # The last error of any kind.
    code: str = ""
    reason: str = ""
    # The platform failed for several requests in a row.
    is_outage: bool = False


def today(now: datetime) -> date:
    """The day that daily limits belong to."""
    return now.astimezone(SHANGHAI).date()


def lease(platform: str, wanted: int, now: datetime) -> Lease:
    """The next cookie with up to `wanted` of its quota reserved. Raises Trouble when there is none."""
    closed = encryption.unavailable_reason()
    if closed:
        raise NotesError(Code.COOKIE_EXHAUSTED, closed, reason="pool_closed")
    outage = check_breaker(platform, now)
    wake(now, platform)
    unreadable: set[int] = set()
    for _ in range(ROUNDS):
        in_turn = Cookie.objects.usable(now).filter(under_limit(), platform=platform).exclude(pk__in=unreadable)
        # After an outage the cookie that waited longest is tried: it shows whether the others were at fault.
        rows = list(
            (in_turn.order_by(F("last_used_at").asc(nulls_first=True), "pk") if outage.is_probe else in_turn.in_turn())[
                :WINDOW
            ]
        )
        if not rows:
            raise _exhausted(platform)
        for row in rows:
            if _reserve(row, min(wanted, row.daily_limit - row.daily_used), now):
                taken = _open(row, min(wanted, row.daily_limit - row.daily_used), now, outage)
                if taken is not None:
                    return taken
                unreadable.add(row.pk)
            break  # its count has moved or it cannot be opened: the order may be another one now
    raise NotesError(Code.COOKIE_EXHAUSTED, BUSY, reason="busy", retryable=True)


def probe(cookie: Cookie, now: datetime) -> Lease:
    """One question with this very cookie, also while it cools: an error then bans it. For the operator's own check."""
    wake(now, cookie.platform)
    Cookie.objects.filter(pk=cookie.pk).update(daily_used=F("daily_used") + 1, last_used_at=now)
    cookie.refresh_from_db()
    plain = encryption.decrypt(cookie.cookie_encrypted, name=cookie.cookie_name, platform=cookie.platform)
    return _lease(
        cookie, plain, 1, now, is_probe=True, outage=outage_of(Breaker.objects.filter(platform=cookie.platform).first())
    )


def end(held: Lease, use: Use, now: datetime) -> None:
    """Give a lease back: quota that was not used, and the verdict. A second call changes nothing."""
    with transaction.atomic():
        ending = CookieLease.objects.filter(pk=held.lease_id, ended_at=None)
        columns_of_lease = {"succeeded": use.succeeded, "failed": use.failed, "charge": use.cookie_error}
        if not ending.update(ended_at=now, **columns_of_lease, error_code=use.code[:40], error_reason=use.reason[:40]):
            return
        record = CookieLease.objects.get(pk=held.lease_id)
        # Locked for the moment of the verdict; on SQLite the transaction itself is the lock.
        row = Cookie.objects.select_for_update().get(pk=held.cookie_id)
        unused = max(record.reserved - use.asked, 0)
        columns = {name: getattr(row, name) for name in STATE_COLUMNS}
        ended = LeaseEnd(use.cookie_error, use.succeeded > 0, record.cooling_round)
        after = asdict(apply_lease_end(CookieState(**columns), ended, now))
        if use.cookie_error:
            after |= {
                "last_error_code": use.cookie_error_code[:40],
                "last_error_reason": use.cookie_error_reason[:40],
            }
        Cookie.objects.filter(pk=row.pk).update(**after, updated_at=now)
        if unused:
            same_day = Cookie.objects.filter(pk=row.pk, daily_date=record.reserved_on)
            same_day.update(daily_used=Greatest(F("daily_used"), unused) - unused)
    if after["status"] != columns["status"]:
        log.warning(
            "cookie %s: %s -> %s (%s)", held.cookie_name, columns["status"], after["status"], use.cookie_error_reason
        )
    if use.is_outage or (use.succeeded and held.is_after_outage):
        _return_counts(held, is_over=use.succeeded > 0)
    if use.succeeded and not use.failed:
        held.outage.response(now)
    store_outage(held.platform, held.outage)


@transaction.atomic
def _return_counts(held: Lease, *, is_over: bool) -> None:
    """A refusal that every cookie gets is the platform's: what it counted since the last response is returned.

    While another usable cookie was not refused, the refusal may concern the cookie, and the count stays, until the same
    cookie has a response again.
    """
    counted = CookieLease.objects.filter(cookie__platform=held.platform, charge=COUNTED)
    if held.responded_at is not None:
        counted = counted.filter(ended_at__gt=held.responded_at)
    if is_over:
        counted = counted.filter(cookie=held.cookie_id)
    errors = Counter(counted.values_list("cookie_id", flat=True))
    usable = Cookie.objects.enabled().filter(platform=held.platform, status=CookieStatus.ACTIVE)
    if not is_over and usable.exclude(pk__in=errors).exists():
        return
    for row in Cookie.objects.select_for_update().filter(pk__in=errors):
        row.total_errors = max(row.total_errors - errors[row.pk], 0)
        row.consecutive_errors = max(row.consecutive_errors - errors[row.pk], 0)
        is_by_count = row.status == CookieStatus.INVALID and row.last_error_reason == BLOCKED
        if is_by_count and row.total_errors < MAX_TOTAL_ERRORS:
            row.status = CookieStatus.ACTIVE
        row.save(update_fields=["total_errors", "consecutive_errors", "status"])
    counted.update(charge="")


def wake(now: datetime, platform: str = "") -> int:
    """Cooling that is over ends, and a new day begins with a new count. Any process may do both, at any time."""
    rows = Cookie.objects.filter(platform=platform) if platform else Cookie.objects.all()
    day = today(now)
    rows.filter(Q(daily_date=None) | ~Q(daily_date=day)).update(daily_used=0, daily_date=day)
    current = rows.filter(status=CookieStatus.COOLING, cooling_until__lte=now)
    return current.update(status=CookieStatus.ACTIVE, consecutive_errors=0, cooling_until=None, updated_at=now)


def _reserve(row: Cookie, count: int, now: datetime) -> bool:
    """The count that was read is part of the condition: two callers never reserve the same quota."""
    same = Cookie.objects.enabled().filter(
        pk=row.pk, status=CookieStatus.ACTIVE, daily_used=row.daily_used, daily_date=today(now)
    )
    return bool(same.update(daily_used=F("daily_used") + count, last_used_at=now))


def _open(row: Cookie, count: int, now: datetime, outage: Outage) -> Lease | None:
    try:
        plain = encryption.decrypt(row.cookie_encrypted, name=row.cookie_name, platform=row.platform)
    except DecryptionError as error:
        # Left as it is: the key may come back. Nothing is charged, and what was reserved is given back.
        log.error("cookie %s cannot be opened: %s", row.cookie_name, error)
        Cookie.objects.filter(pk=row.pk).update(
            daily_used=Greatest(F("daily_used"), count) - count, last_error_code=CANNOT_OPEN, updated_at=now
        )
        return None
    return _lease(row, plain, count, now, is_probe=False, outage=outage)


def _lease(row: Cookie, plain: str, count: int, now: datetime, *, is_probe: bool, outage: Outage) -> Lease:
    made = CookieLease.objects.create(
        cookie=row,
        reserved=count,
        reserved_on=today(now),
        cooling_round=row.cooling_round,
        is_probe=is_probe,
        leased_at=now,
        request_id=request_id(),
    )
    return Lease(
        lease_id=made.pk,
        cookie_id=row.pk,
        cookie_name=row.cookie_name,
        platform=row.platform,
        granted=count,
        cookie=plain,
        user_agent=row.user_agent,
        secret_version=row.secret_version,
        outage=outage,
        responded_at=outage.responded_at,
        is_after_outage=outage.is_probe,
    )


def _exhausted(platform: str) -> NotesError:
    states = list(Cookie.objects.filter(platform=platform).values_list("status", flat=True))
    if not states:
        return NotesError(Code.COOKIE_EXHAUSTED, NONE_THERE, reason="pool_empty")
    counted = {state: states.count(state) for state in sorted(set(states))}
    return NotesError(Code.COOKIE_EXHAUSTED, NONE_LEFT, reason="none_left", details={"cookies": counted})


def check_breaker(platform: str, now: datetime) -> Outage:
    """Return the failures in a row so far, or raise NotesError while the circuit breaker is open."""
    breaker = Breaker.objects.filter(platform=platform).first()
    if breaker is not None and breaker.open_until is not None and breaker.open_until > now:
        details = {"open_until": breaker.open_until.isoformat()}
        reason = breaker.reason or "breaker"
        raise NotesError(Code.PLATFORM_ERROR, BREAKER_OPEN, reason=reason, details=details, asked=False)
    return outage_of(breaker)


def outage_of(breaker: Breaker | None) -> Outage:
    if breaker is None:
        return Outage()
    return Outage(
        breaker.failures, breaker.failed_note, breaker.several, breaker.responded_at, is_probe=breaker.trips > 0
    )


def store_outage(platform: str, outage: Outage) -> None:
    """Save the failures in a row; after a response the circuit breaker is closed and its next pause is short again."""
    if outage == Outage():
        return
    columns: dict[str, Any] = {
        "failures": outage.failures,
        "failed_note": outage.failed_note[:64],
        "several": outage.several,
        "responded_at": outage.responded_at,
    }
    if not outage.failures and outage.responded_at and not outage.has_opened:
        columns |= {"trips": 0, "open_until": None}
    if not Breaker.objects.filter(platform=platform).update(**columns):
        Breaker.objects.get_or_create(platform=platform, defaults=columns)


def open_breaker(platform: str, reason: str, now: datetime) -> None:
    """Open the circuit breaker. An open one stays as it is: one block seen by ten calls is one block."""
    breaker, _made = Breaker.objects.get_or_create(platform=platform)
    first = OUTAGE_PAUSE_MINUTES if reason == OUTAGE else options.BREAKER_MINUTES.value
    minutes = first * 2 ** min(breaker.trips, MOST_DOUBLINGS)
    is_closed = Q(open_until=None) | Q(open_until__lte=now)
    Breaker.objects.filter(is_closed, pk=breaker.pk, trips=breaker.trips).update(
        reason=reason[:40], opened_at=now, open_until=now + timedelta(minutes=minutes), trips=breaker.trips + 1
    )


def is_breaker_open(now: datetime, platform: str = DEFAULT_PLATFORM) -> bool:
    return Breaker.objects.filter(platform=platform, open_until__gt=now).exists()


def close_breaker(platform: str) -> bool:
    """Close the circuit breaker manually. Returns whether it was open."""
    was_open = Q(open_until__isnull=False) | Q(trips__gt=0)
    closed = {"open_until": None, "trips": 0, "failures": 0, "failed_note": "", "several": False}
    return bool(Breaker.objects.filter(was_open, platform=platform).update(**closed))
