"""Politeness shared by all processes: one request at a time per host, a second apart, and pauses that hosts ask for.

    with turn(Wish(site="example.org")) as waited: ...
    pause("example.org", 120)

The state is in Redis where REDIS_URL is set, else in the database. A holder that died frees the host when its lease
ends. Pauses belong to a host and an account: what one account is told to wait does not hold up another.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from watchbook.base.web import options
from watchbook.base.web.address import check_url, is_trusted
from watchbook.base.web.errors import Busy

DEFAULT_SPACING = 1.0
MAX_SPACING = 600.0
MAX_LEASE = 1900.0
MAX_PAUSE = 86400.0
POLL_SECONDS = 0.1
HOLDER_SECONDS = 5.0  # how long a holder usually needs; its lease is the worst case


@dataclass(frozen=True)
class Wish:
    """Who wants to ask whom, and how patiently."""

    site: str
    account: str = ""
    spacing_seconds: float = DEFAULT_SPACING
    wait_seconds: float = 30.0
    lease_seconds: float = 60.0
    is_trusted: bool = False

    @property
    def account_key(self) -> str:
        return account_key(self.account)

    @property
    def is_free(self) -> bool:
        return self.is_trusted and options.PACE.value == "off"


@dataclass(frozen=True)
class Wait:
    """Not yet. A firm wait cannot end earlier; a holder may let go at any time."""

    seconds: float
    is_firm: bool = True


class Store(Protocol):
    def claim(self, wish: Wish, token: int) -> Wait | None: ...
    def release(self, site: str, token: int) -> None: ...
    def pause(self, site: str, account: str, seconds: float) -> None: ...
    def paused_for(self, site: str, account: str) -> float: ...


def account_key(account: str) -> str:
    """Fixed length, no case, nothing to read: fit for every collation and for a dump."""
    return hashlib.sha256(account.encode()).hexdigest()[:32] if account else ""


def store() -> Store:
    # Imported late: the one needs Django's apps to be loaded, the other the Redis library.
    if options.REDIS_URL.value:
        from watchbook.base.web.pace.redis import shared_redis

        return shared_redis()
    from watchbook.base.web.pace.database import DatabasePace

    return DatabasePace()


def is_off(url: str) -> bool:
    """May this address be asked without any delay?"""
    place = check_url(url)
    return Wish(place.site, is_trusted=is_trusted(place.host, place.port)).is_free


@contextmanager
def turn(wish: Wish) -> Iterator[float]:
    """Hold the host's one turn; gives the seconds waited. Raises Busy rather than wait longer than wished."""
    kept, token = store(), random.getrandbits(62) + 1
    started = time.monotonic()
    while (wait := _wait_for(kept, wish, token)) is not None:
        left = wish.wait_seconds - (time.monotonic() - started)
        if left <= 0 or (wait.is_firm and wait.seconds > left):
            raise Busy(wish.site, retry_after_seconds=max(wait.seconds if wait.is_firm else HOLDER_SECONDS, 1.0))
        nap = wait.seconds if wait.is_firm else POLL_SECONDS * random.uniform(0.5, 1.5)
        time.sleep(min(nap, left))
    try:
        yield time.monotonic() - started
    finally:
        if not wish.is_free:
            kept.release(wish.site, token)


def pause(site: str, seconds: float, account: str = "") -> None:
    """The host asked this account to stay away for a while."""
    store().pause(site, account_key(account), min(max(seconds, 1.0), MAX_PAUSE))


def _wait_for(kept: Store, wish: Wish, token: int) -> Wait | None:
    if not wish.is_free:
        return kept.claim(wish, token)
    paused = kept.paused_for(wish.site, wish.account_key)
    return Wait(paused) if paused > 0 else None
