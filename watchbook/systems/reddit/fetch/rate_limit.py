"""The rate limit that all processes and threads share through one database row, changed by compare-and-swap."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar
from uuid import uuid4

from django.db import connection

from watchbook.base import clock
from watchbook.base.store.rows import Columns
from watchbook.base.web import rate_limit
from watchbook.systems.reddit import options
from watchbook.systems.reddit.fetch.errors import ClientRefused
from watchbook.systems.reddit.models import Access, Outcome

MS = 1000


@dataclass(frozen=True)
class Limits:
    """Limits of this server. If `is_paced` is off, only pauses apply, but requests are still counted."""

    rate: int
    window_ms: int
    in_flight: int
    lease_ms: int
    is_paced: bool = True


class Bucket:
    """The shared state. `in_flight_leases` maps tokens to lease ends; `done` lists end times of responses.

    A request arrives at Reddit between our permission and the end of its response. A slot is therefore held from the
    permission until one window after the end of the response: no window of Reddit's clock can contain more requests
    than the limit. The slot of a process that died is free one window after its lease.
    """

    def __init__(self, state: dict[str, Any]) -> None:
        self.in_flight_leases: dict[str, int] = dict(state.get("in_flight_leases", {}))
        self.done: list[int] = list(state.get("done", ()))
        self.paused_until: int = state.get("paused_until", 0)
        # Limit from Reddit's headers, and until when it applies.
        self.lowered_to: int = state.get("lowered_to", 0)
        self.lowered_until: int = state.get("lowered_until", 0)
        # The open outage, see fetch/outage.py; empty if there is none.
        self.outage: dict[str, Any] = dict(state.get("outage", {}))
        # Failed attempts in a row, and until when one thread of one process tries again, see fetch/outage.py.
        self.failures: int = state.get("failures", 0)
        self.retrying_until: int = state.get("retrying_until", 0)

    def as_state(self) -> dict[str, Any]:
        return dict(vars(self))

    def take(self, token: str, now: int, limits: Limits) -> int:
        """Take a slot. Return 0, or the ms to wait before the next attempt."""
        self._expire(now, limits)
        if self.paused_until > now:
            return self.paused_until - now
        wait = self._wait(now, limits) if limits.is_paced else 0
        if wait <= 0:
            self.in_flight_leases[token] = now + limits.lease_ms
        return max(wait, 0)

    def check_outage(self, now: int) -> None:
        """Raise ClientRefused while the pause of an outage lasts. Changed credentials end the outage."""
        if self.outage and self.outage["credentials"] != credentials():
            self.outage, self.failures = {}, 0
        wait = (self.outage["retry_at"] - now) / MS if self.outage else 0
        if wait > 0:
            raise ClientRefused(self.outage["outcome"], self.outage["detail"], wait_seconds=wait)

    def release(self, token: str, now: int) -> None:
        if self.in_flight_leases.pop(token, None) is not None:
            self.done.append(now)

    def pause(self, now: int, ms: int) -> None:
        self.paused_until = max(self.paused_until, now + ms)

    def apply_headers(self, remaining: float, reset_ms: int, now: int, limits: Limits) -> None:
        """Apply the rate headers of a response. They can only lower the limit."""
        if remaining < 1:
            self.pause(now, max(reset_ms, MS))
            return
        allowed = int(remaining * limits.window_ms / max(reset_ms, MS))
        if allowed < limits.rate:
            self.lowered_to, self.lowered_until = max(allowed, 1), now + max(reset_ms, MS)
        else:
            self.lowered_until = 0

    def used(self, now: int, window_ms: int) -> int:
        """Return the number of requests in the last window, including those in flight."""
        return len(self.in_flight_leases) + sum(end > now - window_ms for end in self.done)

    def _wait(self, now: int, limits: Limits) -> int:
        if len(self.in_flight_leases) >= limits.in_flight:
            return 50
        rate = min(limits.rate, self.lowered_to) if self.lowered_until > now else limits.rate
        if len(self.in_flight_leases) + len(self.done) < rate:
            return 0
        # The slot that is free first. The end of requests in flight is not known yet.
        ends = sorted(self.done)
        needed = len(self.in_flight_leases) + len(self.done) - rate
        return ends[needed] + limits.window_ms - now + 1 if needed < len(ends) else 50

    def _expire(self, now: int, limits: Limits) -> None:
        # After the clock was set back, ends in the future would block slots.
        self.done = [end for end in self.done if now - limits.window_ms < end <= now + limits.window_ms]
        for token, lease_end in list(self.in_flight_leases.items()):
            if lease_end <= now:
                del self.in_flight_leases[token]
                self.done.append(lease_end)
        self.done = self.done[-100_000:]


T = TypeVar("T")

# A request waits for a slot at most this long.
MAX_WAIT_SECONDS = 150.0
MAX_SLEEP_SECONDS = 1.0
ROW = Columns(Access, [field.name for field in Access._meta.concrete_fields])
STATE = Access._meta.get_field("state")
SWAP = """
    UPDATE reddit_access SET state = %s, revision = revision + 1, granted_count = granted_count + %s
    WHERE id = %s AND revision = %s
"""


def access_name() -> str:
    """Return the key of the shared row. Reddit counts requests per client."""
    who = f"{options.OAUTH_URL.value}\n{options.CLIENT_ID.value}"
    return f"reddit:{sha256(who.encode()).hexdigest()[:32]}"


def credentials() -> str:
    """Return a short hash of the secret: an outage ends when the operator changes it."""
    return sha256(options.CLIENT_SECRET.value.encode()).hexdigest()[:16]


def now_ms() -> int:
    return int(time.time() * MS)


def limits() -> Limits:
    window = options.RATE_WINDOW.value
    return Limits(
        rate=options.RATE_LIMIT.value,
        window_ms=int(window * MS),
        in_flight=options.API_CONCURRENCY.value,
        lease_ms=int((options.REQUEST_TIMEOUT.value + 15 + window) * MS),
        is_paced=not rate_limit.is_disabled(options.OAUTH_URL.value),
    )


@contextmanager
def slot(max_wait_seconds: float = MAX_WAIT_SECONDS) -> Iterator[bool]:
    """Hold a slot of the rate limit during a request; yield whether attempts before it failed.

    Raise ClientRefused if no slot is free in time, or while the pause of an outage lasts.
    """
    token = uuid4().hex[:12]
    ends = time.monotonic() + max_wait_seconds
    is_failing = False

    def take(bucket: Bucket) -> int:
        nonlocal is_failing
        bucket.check_outage(int(clock.now().timestamp() * MS))
        is_failing = bool(bucket.outage or bucket.failures)
        return bucket.take(token, now_ms(), limits())

    while (wait := change(take, granting=True)) > 0:
        left = ends - time.monotonic()
        if wait / MS > left:
            raise ClientRefused(Outcome.BUSY, "the shared limit is used up", wait_seconds=max(wait / MS, 1.0))
        time.sleep(min(wait / MS * random.uniform(1.0, 1.1), max(left, 0.01), MAX_SLEEP_SECONDS))
    try:
        yield is_failing
    finally:
        change(lambda bucket: bucket.release(token, now_ms()))


def pause(seconds: float) -> None:
    """Pause all requests of this client."""
    change(lambda bucket: bucket.pause(now_ms(), int(seconds * MS)))


def apply_headers(remaining: float, reset_seconds: float) -> None:
    """Apply the rate headers of a response. Most change nothing and cause no write."""
    allowed = limits()
    if remaining * allowed.window_ms >= allowed.rate * max(reset_seconds, 1.0) * MS:
        return
    change(lambda bucket: bucket.apply_headers(remaining, int(reset_seconds * MS), now_ms(), allowed))


def recent_request_count(window_seconds: float = 60.0) -> int:
    """Return the requests of all processes in the last window."""
    row = Access.objects.filter(name=access_name()).first()
    return Bucket(row.state).used(now_ms(), int(window_seconds * MS)) if row else 0


def change(step: Callable[[Bucket], T], *, granting: bool = False) -> T:
    """Apply a step to the shared state. If another process changed the row, read it and apply the step again."""
    _refuse_transaction()
    for attempt in range(10_000):
        row = shared_row()
        bucket = Bucket(row.state)
        result = step(bucket)
        state = bucket.as_state()
        granted = int(granting and result == 0)
        if state == row.state and not granted:
            return result
        if _swap(row, state, granted):
            return result
        if attempt > 3:
            time.sleep(random.uniform(0.001, 0.01))
    raise ClientRefused(Outcome.BUSY, "the shared limit could not be changed")


def _swap(row: Access, state: dict[str, Any], granted: int) -> bool:
    """Write the state if the revision is unchanged. Plain SQL: it runs twice per request."""
    with connection.cursor() as cursor:
        cursor.execute(SWAP, [STATE.get_db_prep_save(state, connection), granted, row.pk, row.revision])
        return bool(cursor.rowcount == 1)


def shared_row() -> Access:
    """Return the shared row of this client; create it on first use."""
    name = access_name()
    found = ROW.select("name = %s", [name])
    row = Access(**dict(zip(ROW.names, found[0], strict=True))) if found else None
    if row is None:
        Access.objects.bulk_create([Access(name=name)], ignore_conflicts=True)
        row = Access.objects.get(name=name)
    return row


def _refuse_transaction() -> None:
    """Refuse to run inside a transaction: other processes would not see the slot, and its lock would be held."""
    blocks = connection.atomic_blocks
    if blocks and not getattr(blocks[-1], "_from_testcase", False):
        raise RuntimeError("Request inside a database transaction: fetch first, then write.")
