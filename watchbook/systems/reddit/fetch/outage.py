"""The outage that all processes share: why Reddit cannot be read, since when, and when the next attempt follows.

A refusal of the whole client (sign-in, block, rate limit) begins an outage with the first response. Failures of the
service (no connection, 5xx, unreadable responses) begin one after three failed attempts in a row, the last of them a
request that concerns no community: a single broken community is not an outage. While the pause lasts, no request is
sent; each failed attempt after it doubles the pause.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any

from watchbook.base import clock
from watchbook.systems.reddit.fetch import rate_limit
from watchbook.systems.reddit.fetch.errors import ClientRefused, RedditError
from watchbook.systems.reddit.fetch.rate_limit import Bucket
from watchbook.systems.reddit.models import Access, Outcome

ATTEMPTS_UNTIL_OUTAGE = 3
MIN_PAUSE = timedelta(minutes=1)
FIRST_PAUSE = timedelta(minutes=5)
MAX_PAUSE = timedelta(hours=1)


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
    """Close the outage: a request has succeeded."""
    rate_limit.change(lambda bucket: bucket.outage.clear())


def end_pause() -> None:
    """Allow one attempt now, because a user asks for it."""
    if current() is not None:
        rate_limit.change(lambda bucket: bucket.outage.update(retry_at=_ms(clock.now())) if bucket.outage else None)


class Failures:
    """Failed attempts in a row of this process. One thread at a time retries, so that attempts do not multiply."""

    def __init__(self) -> None:
        self.retrying = Lock()
        self._lock = Lock()
        self._count = 0

    def add(self) -> bool:
        """Count a failure. Return True if it is enough to begin an outage."""
        with self._lock:
            self._count += 1
            return self._count >= ATTEMPTS_UNTIL_OUTAGE

    def reset(self) -> None:
        self._count = 0


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _read(found: dict[str, Any]) -> Outage:
    times = [datetime.fromtimestamp(found[name] / 1000, UTC) for name in ("since", "last_failure_at", "retry_at")]
    return Outage(found["outcome"], found["detail"], times[0], times[1], times[2], found["attempts"])
