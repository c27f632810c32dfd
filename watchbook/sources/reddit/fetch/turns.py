"""Turns at Reddit, shared by all processes and threads through one row that is changed by compare-and-swap."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, TypeVar
from uuid import uuid4

from django.db import connection

from watchbook.base.store.rows import Columns
from watchbook.base.web import pace
from watchbook.sources.reddit import options
from watchbook.sources.reddit.fetch.bucket import MS, Bucket, Limits
from watchbook.sources.reddit.fetch.errors import Stop
from watchbook.sources.reddit.models import Access, Outcome

T = TypeVar("T")

# How long a request waits for its turn before the worker is given back.
PATIENCE_SECONDS = 150.0
LONGEST_NAP = 1.0
ROW = Columns(Access, [field.name for field in Access._meta.concrete_fields])
STATE = Access._meta.get_field("state")
SWAP = """
    UPDATE reddit_access SET state = %s, revision = revision + 1, granted_count = granted_count + %s
    WHERE id = %s AND revision = %s
"""


def access_name() -> str:
    """Reddit counts per client; two installations of one client on two databases share nothing but Reddit's headers."""
    who = f"{options.OAUTH_URL.value}\n{options.CLIENT_ID.value}"
    return f"reddit:{sha256(who.encode()).hexdigest()[:32]}"


def now_ms() -> int:
    return int(time.time() * MS)


def limits() -> Limits:
    window = options.RATE_WINDOW.value
    return Limits(
        rate=options.RATE_LIMIT.value,
        window_ms=int(window * MS),
        in_flight=options.API_CONCURRENCY.value,
        lease_ms=int((options.REQUEST_TIMEOUT.value + 15 + window) * MS),
        is_paced=not pace.is_off(options.OAUTH_URL.value),
    )


@contextmanager
def turn(patience_seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Hold a place from before the request leaves until its answer has come. Raises Stop rather than wait too long."""
    token = uuid4().hex[:12]
    ends = time.monotonic() + patience_seconds
    while (wait := change(lambda bucket: bucket.take(token, now_ms(), limits()), granting=True)) > 0:
        left = ends - time.monotonic()
        if wait / MS > left:
            raise Stop(Outcome.BUSY, "the shared limit is used up", wait_seconds=max(wait / MS, 1.0))
        time.sleep(min(wait / MS * random.uniform(1.0, 1.1), max(left, 0.01), LONGEST_NAP))
    try:
        yield
    finally:
        change(lambda bucket: bucket.give_back(token, now_ms()))


def pause(seconds: float) -> None:
    """Reddit asked everybody of us to stay away."""
    change(lambda bucket: bucket.pause(now_ms(), int(seconds * MS)))


def heed(remaining: float, reset_seconds: float) -> None:
    """Heed the rate headers of an answer; most change nothing and cost nothing."""
    allowed = limits()
    if remaining * allowed.window_ms >= allowed.rate * max(reset_seconds, 1.0) * MS:
        return
    change(lambda bucket: bucket.heed(remaining, int(reset_seconds * MS), now_ms(), allowed))


def used_lately(window_seconds: float = 60.0) -> int:
    """Requests by all processes in the last window."""
    row = Access.objects.filter(name=access_name()).first()
    return Bucket(row.state).used(now_ms(), int(window_seconds * MS)) if row else 0


def change(step: Callable[[Bucket], T], *, granting: bool = False) -> T:
    """Apply a step to the shared state. Somebody else's step in between means: read again, step again."""
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
    raise Stop(Outcome.BUSY, "the shared limit could not be changed")


def _swap(row: Access, state: dict[str, Any], granted: int) -> bool:
    """Twice for every request that leaves, so in plain SQL: four fifths of it were spent on building the statement."""
    with connection.cursor() as cursor:
        cursor.execute(SWAP, [STATE.get_db_prep_save(state, connection), granted, row.pk, row.revision])
        return bool(cursor.rowcount == 1)


def shared_row() -> Access:
    """The row that all processes of this client share; made when it is first needed."""
    name = access_name()
    found = ROW.select("name = %s", [name])
    row = Access(**dict(zip(ROW.names, found[0], strict=True))) if found else None
    if row is None:
        Access.objects.bulk_create([Access(name=name)], ignore_conflicts=True)
        row = Access.objects.get(name=name)
    return row


def _refuse_transaction() -> None:
    """Inside a transaction nobody would see our claim, and its lock would be held while Reddit takes its time."""
    blocks = connection.atomic_blocks
    if blocks and not getattr(blocks[-1], "_from_testcase", False):
        raise RuntimeError("Reddit is asked inside a database transaction; ask first, then write")
