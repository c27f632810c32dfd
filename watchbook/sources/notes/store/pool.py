"""The cookie pool: leases that reserve quota, and what their end does to the cookie.

A lease is taken by one conditional UPDATE, so that no daily limit is ever overshot; it ends once, so that a cookie is
charged at most once for a batch. Everything is a row: a restart forgets nothing.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, field
from datetime import date, datetime

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest
from django.utils.translation import gettext_noop

from watchbook.base.clock import SHANGHAI
from watchbook.base.crypto import CannotOpen
from watchbook.base.logs import request_id
from watchbook.sources.notes import vault
from watchbook.sources.notes.errors import Trouble
from watchbook.sources.notes.models import Cookie, CookieLease, CookieStatus, under_limit
from watchbook.sources.notes.rules import Code
from watchbook.sources.notes.store import breaker
from watchbook.sources.notes.store.charging import Incident, Standing, judge

log = logging.getLogger(__name__)

WINDOW = 20
ROUNDS = 50
CANNOT_OPEN = "CANNOT_OPEN"
STANDING = tuple(Standing.__dataclass_fields__)

NONE_LEFT = gettext_noop("No cookie can be used: all are cooling, used up, invalid, banned or switched off.")
NONE_THERE = gettext_noop("The cookie pool is empty. Add a cookie first.")
BUSY = gettext_noop("The cookie pool is too busy. Try again.")


@dataclass(frozen=True)
class Lease:
    """A cookie for a while. `granted` questions may be asked with it."""

    lease_id: int
    cookie_id: int
    cookie_name: str
    platform: str
    granted: int
    cookie: str = field(repr=False)
    user_agent: str = ""
    secret_version: int = 1


@dataclass
class Use:
    """What was done with a lease."""

    asked: int = 0
    succeeded: int = 0
    failed: int = 0
    charge: str = ""
    code: str = ""
    reason: str = ""


def today(now: datetime) -> date:
    """The day that daily limits belong to."""
    return now.astimezone(SHANGHAI).date()


def lease(platform: str, wanted: int, now: datetime) -> Lease:
    """The next cookie in turn with up to `wanted` of its quota reserved. Raises Trouble when there is none."""
    closed = vault.why_closed()
    if closed:
        raise Trouble(Code.COOKIE_EXHAUSTED, closed, reason="pool_closed")
    breaker.check(platform, now)
    wake(now, platform)
    unreadable: set[int] = set()
    for _ in range(ROUNDS):
        in_turn = Cookie.objects.usable(now).filter(under_limit(), platform=platform).exclude(pk__in=unreadable)
        rows = list(in_turn.in_turn()[:WINDOW])
        if not rows:
            raise _exhausted(platform)
        for row in rows:
            if _reserve(row, min(wanted, row.daily_limit - row.daily_used), now):
                taken = _open(row, min(wanted, row.daily_limit - row.daily_used), now)
                if taken is not None:
                    return taken
                unreadable.add(row.pk)
            break  # its count has moved or it cannot be opened: the order may be another one now
    raise Trouble(Code.COOKIE_EXHAUSTED, BUSY, reason="busy", retryable=True)


def probe(cookie: Cookie, now: datetime) -> Lease:
    """One question with this very cookie, also while it cools: an error then bans it. For the operator's own check."""
    wake(now, cookie.platform)
    Cookie.objects.filter(pk=cookie.pk).update(daily_used=F("daily_used") + 1, last_used_at=now)
    cookie.refresh_from_db()
    plain = vault.open_(cookie.cookie_encrypted, name=cookie.cookie_name, platform=cookie.platform)
    return _lease(cookie, plain, 1, now, is_probe=True)


def end(held: Lease, use: Use, now: datetime) -> None:
    """Give a lease back: quota that was not used, and the verdict. A second call changes nothing."""
    with transaction.atomic():
        ending = CookieLease.objects.filter(pk=held.lease_id, ended_at=None)
        if not ending.update(ended_at=now, succeeded=use.succeeded, failed=use.failed, charge=use.charge):
            return
        record = CookieLease.objects.get(pk=held.lease_id)
        # Locked for the moment of the verdict; on SQLite the transaction itself is the lock.
        row = Cookie.objects.select_for_update().get(pk=held.cookie_id)
        unused = max(record.reserved - use.asked, 0)
        columns = {name: getattr(row, name) for name in STANDING}
        incident = Incident(use.charge, use.succeeded > 0, record.cooling_round)
        after = asdict(judge(Standing(**columns), incident, now))
        if use.charge:
            after |= {"last_error_code": use.code[:40], "last_error_reason": use.reason[:40]}
        Cookie.objects.filter(pk=row.pk).update(**after, updated_at=now)
        if unused:
            same_day = Cookie.objects.filter(pk=row.pk, daily_date=record.reserved_on)
            same_day.update(daily_used=Greatest(F("daily_used"), unused) - unused)
    if after["status"] != columns["status"]:
        log.warning("cookie %s: %s -> %s (%s)", held.cookie_name, columns["status"], after["status"], use.reason)
    if use.succeeded:
        breaker.relax(held.platform)


def wake(now: datetime, platform: str = "") -> int:
    """Cooling that is over ends, and a new day begins with a new count. Both may be done by anybody, any time."""
    rows = Cookie.objects.filter(platform=platform) if platform else Cookie.objects.all()
    day = today(now)
    rows.filter(Q(daily_date=None) | ~Q(daily_date=day)).update(daily_used=0, daily_date=day)
    rested = rows.filter(status=CookieStatus.COOLING, cooling_until__lte=now)
    return rested.update(status=CookieStatus.ACTIVE, consecutive_errors=0, cooling_until=None, updated_at=now)


def _reserve(row: Cookie, count: int, now: datetime) -> bool:
    """The count that was read is part of the condition: two callers never reserve the same quota."""
    same = Cookie.objects.enabled().filter(
        pk=row.pk, status=CookieStatus.ACTIVE, daily_used=row.daily_used, daily_date=today(now)
    )
    return bool(same.update(daily_used=F("daily_used") + count, last_used_at=now))


def _open(row: Cookie, count: int, now: datetime) -> Lease | None:
    try:
        plain = vault.open_(row.cookie_encrypted, name=row.cookie_name, platform=row.platform)
    except CannotOpen as trouble:
        # Left as it is: the key may come back. Nothing is charged, and what was reserved is given back.
        log.error("cookie %s cannot be opened: %s", row.cookie_name, trouble)
        Cookie.objects.filter(pk=row.pk).update(
            daily_used=Greatest(F("daily_used"), count) - count, last_error_code=CANNOT_OPEN, updated_at=now
        )
        return None
    return _lease(row, plain, count, now, is_probe=False)


def _lease(row: Cookie, plain: str, count: int, now: datetime, *, is_probe: bool) -> Lease:
    made = CookieLease.objects.create(
        cookie=row,
        reserved=count,
        reserved_on=today(now),
        cooling_round=row.cooling_round,
        is_probe=is_probe,
        leased_at=now,
        request_id=request_id.current(),
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
    )


def _exhausted(platform: str) -> Trouble:
    states = list(Cookie.objects.filter(platform=platform).values_list("status", flat=True))
    if not states:
        return Trouble(Code.COOKIE_EXHAUSTED, NONE_THERE, reason="pool_empty")
    counted = {state: states.count(state) for state in sorted(set(states))}
    return Trouble(Code.COOKIE_EXHAUSTED, NONE_LEFT, reason="none_left", details={"cookies": counted})
