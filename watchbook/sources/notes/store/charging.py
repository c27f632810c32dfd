"""What a use of a cookie does to its state. Pure: the diagram of the document, plus the decisions it leaves open.

    active  --3 errors in a row, a captcha, 429-->  cooling  --30 minutes-->  active
    active  --10 errors in all, or a dead login-->  invalid
    cooling --an error that began while cooling-->  banned

An error that began before cooling started changes nothing. Of two at once, invalid goes before cooling.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from watchbook.sources.notes.models import CookieStatus
from watchbook.sources.notes.rules import (
    COOL,
    COOLING_DURATION_MINUTES,
    DEAD,
    HEAVY,
    MAX_CONSECUTIVE_ERRORS,
    MAX_TOTAL_ERRORS,
)


@dataclass(frozen=True)
class Standing:
    """The columns of a cookie that a use may change."""

    status: str = CookieStatus.ACTIVE
    consecutive_errors: int = 0
    total_errors: int = 0
    cooling_since: datetime | None = None
    cooling_until: datetime | None = None
    cooling_round: int = 0


@dataclass(frozen=True)
class Incident:
    """How one lease ended: the gravest charge, empty when the cookie caused nothing, and in which round it began."""

    charge: str
    has_succeeded: bool
    cooling_round: int


def judge(before: Standing, incident: Incident, now: datetime) -> Standing:
    rested = rest(before, now)
    if rested.status in {CookieStatus.INVALID, CookieStatus.BANNED} or incident.cooling_round < rested.cooling_round:
        return rested
    if not incident.charge:
        return replace(rested, consecutive_errors=0) if incident.has_succeeded and _is_active(rested) else rested
    charged = replace(rested, total_errors=rested.total_errors + 1, consecutive_errors=rested.consecutive_errors + 1)
    if incident.charge == DEAD:
        return replace(charged, status=CookieStatus.INVALID, cooling_until=None)
    if not _is_active(rested):
        return replace(charged, status=CookieStatus.BANNED, cooling_until=None)
    if charged.total_errors >= MAX_TOTAL_ERRORS:
        return replace(charged, status=CookieStatus.INVALID, cooling_until=None)
    if charged.consecutive_errors >= MAX_CONSECUTIVE_ERRORS or incident.charge in {COOL, HEAVY}:
        return cooled(charged, now)
    return charged


def cooled(standing: Standing, now: datetime) -> Standing:
    return replace(
        standing,
        status=CookieStatus.COOLING,
        cooling_since=now,
        cooling_until=now + timedelta(minutes=COOLING_DURATION_MINUTES),
        cooling_round=standing.cooling_round + 1,
    )


def rest(standing: Standing, now: datetime) -> Standing:
    """Cooling ends by itself when its time is up."""
    if standing.status != CookieStatus.COOLING or standing.cooling_until is None or standing.cooling_until > now:
        return standing
    return replace(standing, status=CookieStatus.ACTIVE, consecutive_errors=0, cooling_until=None)


def _is_active(standing: Standing) -> bool:
    return standing.status == CookieStatus.ACTIVE
