"""The outage that all processes share: why Reddit cannot be read, since when, and when the next attempt follows.

A refusal of the whole client (sign-in, block, rate limit) begins an outage with the first response. Failures of the
service (no connection, 5xx, unreadable responses) begin one after three failed attempts in a row, counted over all
processes. The last attempt of one process concerns no community: a single broken community is not an outage. While the
pause lasts, no request is sent; each failed attempt after it doubles the pause.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from watchbook.base import clock
from watchbook.systems.reddit import options
from watchbook.systems.reddit.fetch import rate_limit
from watchbook.systems.reddit.fetch.errors import ClientRefused, RedditError
from watchbook.systems.reddit.fetch.rate_limit import Bucket
from watchbook.systems.reddit.models import Access, Outcome

ATTEMPTS_UNTIL_OUTAGE = 3
MIN_PAUSE = timedelta(minutes=1)
FIRST_PAUSE = timedelta(minutes=5)
MAX_PAUSE = timedelta(hours=1)
WAIT_SECONDS = 0.1


@dataclass(frozen=True)
class Outage:
    """`outcome` is a value of models.Outcome; `retry_at` is the end of the pause."""

    outcome: str
    detail: str
    since: datetime
    last_failure_at: datetime
    retry_at: datetime
    attempts: int

    def is_paused(self, now: datetime) -> bool:
        return now < self.retry_at

    def error(self) -> ClientRefused:
        wait = max((self.retry_at - clock.now()).total_seconds(), 1.0)
        return ClientRefused(self.outcome, self.detail, wait_seconds=wait)


def current() -> Outage | None:
    """Return the open outage of this client, if there is one. One query."""
    state = Access.objects.filter(name=rate_limit.access_name()).values_list("state", flat=True).first()
    found = (state or {}).get("outage") or {}
    return _read(found) if found and found.get("credentials") == rate_limit.credentials() else None


def begin(error: RedditError) -> ClientRefused:
    """Record a failure of the whole client and return the error to raise. A known outage gets a longer pause."""
    now, wait = clock.now(), timedelta(seconds=error.wait_seconds or 0)

    def step(bucket: Bucket) -> Outage:
        known = bucket.outage
        attempts = int(known.get("attempts", 0)) + 1
        pause = max(min(FIRST_PAUSE * 2 ** min(attempts - 1, 8), MAX_PAUSE), wait)
        if error.outcome == Outcome.THROTTLED and wait:
            pause = max(wait, MIN_PAUSE)  # Reddit has said how long
        bucket.outage = {
            "outcome": str(error.outcome),
            "detail": error.detail[:200],
            "since": known.get("since", _ms(now)),
            "last_failure_at": _ms(now),
            "retry_at": _ms(now + pause),
            "attempts": attempts,
            "credentials": rate_limit.credentials(),
        }
        return _read(bucket.outage)

    return rate_limit.change(step).error()


def end() -> None:
    """Close the outage: a request has succeeded. The next failed attempt is the first again."""

    def step(bucket: Bucket) -> None:
        bucket.outage, bucket.failures = {}, 0

    rate_limit.change(step)


def end_pause() -> None:
    """Allow one attempt now, because a user asks for it."""
    if current() is not None:
        rate_limit.change(lambda bucket: bucket.outage.update(retry_at=_ms(clock.now())) if bucket.outage else None)


def add_failure() -> bool:
    """Count a failed attempt of any process. Return True if it is enough to begin an outage."""

    def step(bucket: Bucket) -> bool:
        bucket.failures += 1
        return bucket.failures >= ATTEMPTS_UNTIL_OUTAGE

    return rate_limit.change(step)


@contextmanager
def retrying() -> Iterator[None]:
    """One thread of one process at a time tries again, so that attempts do not multiply. The others wait for it."""
    lease_ms = int((2 * options.REQUEST_TIMEOUT.value + 5) * 1000)
    mine = 0

    def take(bucket: Bucket) -> bool:
        nonlocal mine
        now = rate_limit.now_ms()
        if now < bucket.retrying_until <= now + lease_ms:
            return False
        mine = bucket.retrying_until = now + lease_ms
        return True

    def release(bucket: Bucket) -> None:
        # After its end another process may hold the lease.
        if bucket.retrying_until == mine:
            bucket.retrying_until = 0

    while not rate_limit.change(take):
        time.sleep(WAIT_SECONDS)
    try:
        yield
    finally:
        rate_limit.change(release)


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _read(found: dict[str, Any]) -> Outage:
    times = [datetime.fromtimestamp(found[name] / 1000, UTC) for name in ("since", "last_failure_at", "retry_at")]
    return Outage(found["outcome"], found["detail"], times[0], times[1], times[2], found["attempts"])
