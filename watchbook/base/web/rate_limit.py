"""The rate limit that all processes share: one request at a time per host, a second apart, and pauses of the host.

    with acquire(RateRequest(site="example.org")) as waited: ...
    pause("example.org", 120)

The state is in Redis where REDIS_URL is set, else in the database. A process that died releases the host when its
lease ends. Pauses belong to a host and an account: a pause of one account does not delay another.

The rate limit in Redis: keys that expire, so no two clocks are compared.

While Redis does not respond, the database limits the rate.
"""

from __future__ import annotations

import hashlib
import logging
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from django.db import connection
from django.db.models import Q, QuerySet

from watchbook.base.web import options
from watchbook.base.web.address import check_url, is_trusted
from watchbook.base.web.errors import Busy

if TYPE_CHECKING:
    import redis

    from watchbook.base.web.models import HostPace


DEFAULT_SPACING = 1.0
MAX_SPACING = 600.0
MAX_LEASE = 1900.0
MAX_PAUSE = 86400.0
POLL_SECONDS = 0.1
HOLDER_SECONDS = 5.0  # how long a request usually takes; the lease is the worst case


@dataclass(frozen=True)
class RateRequest:
    """A request for a host: by which account, how far apart, and how long it may wait."""

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
    def is_unlimited(self) -> bool:
        return self.is_trusted and options.PACE.value == "off"


@dataclass(frozen=True)
class Wait:
    """The host is not free yet. A firm wait cannot end earlier; a holder may release the host at any time."""

    seconds: float
    is_firm: bool = True


class Store(Protocol):
    def claim(self, request: RateRequest, token: int) -> Wait | None: ...
    def release(self, site: str, token: int) -> None: ...
    def pause(self, site: str, account: str, seconds: float) -> None: ...
    def paused_for(self, site: str, account: str) -> float: ...


def account_key(account: str) -> str:
    """Return a key for an account: fixed length, one case, unreadable in a database dump."""
    return hashlib.sha256(account.encode()).hexdigest()[:32] if account else ""


def limiter_store() -> Store:
    if options.REDIS_URL.value:
        return shared_redis()
    return DatabaseLimiter()


def is_disabled(url: str) -> bool:
    """Return whether requests to this address need no delay."""
    target = check_url(url)
    return RateRequest(target.site, is_trusted=is_trusted(target.host, target.port)).is_unlimited


@contextmanager
def acquire(request: RateRequest) -> Iterator[float]:
    """Hold the host; yield the seconds waited. Raise Busy if the wait would exceed `wait_seconds`."""
    limiter, token = limiter_store(), random.getrandbits(62) + 1
    started = time.monotonic()
    while (wait := _wait_for(limiter, request, token)) is not None:
        left = request.wait_seconds - (time.monotonic() - started)
        if left <= 0 or (wait.is_firm and wait.seconds > left):
            raise Busy(request.site, retry_after_seconds=max(wait.seconds if wait.is_firm else HOLDER_SECONDS, 1.0))
        sleep_seconds = wait.seconds if wait.is_firm else POLL_SECONDS * random.uniform(0.5, 1.5)
        time.sleep(min(sleep_seconds, left))
    try:
        yield time.monotonic() - started
    finally:
        if not request.is_unlimited:
            limiter.release(request.site, token)


def pause(site: str, seconds: float, account: str = "") -> None:
    """Store that the host asked this account for a pause."""
    limiter_store().pause(site, account_key(account), min(max(seconds, 1.0), MAX_PAUSE))


def _wait_for(limiter: Store, request: RateRequest, token: int) -> Wait | None:
    if not request.is_unlimited:
        return limiter.claim(request, token)
    paused = limiter.paused_for(request.site, request.account_key)
    return Wait(paused) if paused > 0 else None


DAY_MS = 86_400_000


def _now_ms() -> int:
    return int(time.time() * 1000)


def _ms(seconds: float, most: float) -> int:
    return int(min(max(seconds, 0.0), most) * 1000)


def _is_over(field: str, now: int, most: float) -> Q:
    """Match times in the past, and times so far ahead that the clock must have been set back."""
    return Q(**{f"{field}__lte": now}) | Q(**{f"{field}__gt": now + _ms(most, most)})


def _hosts() -> QuerySet[HostPace]:
    from watchbook.base.web.models import HostPace  # needs Django's apps, which a program with Redis may not load

    return HostPace.objects.all()


class DatabaseLimiter:
    """One row per host, claimed by one conditional UPDATE."""

    def claim(self, request: RateRequest, token: int) -> Wait | None:
        _refuse_transaction()
        own = request.account_key
        if own and (paused := self.paused_for(request.site, own)) > 0:
            return Wait(paused)
        now = _now_ms()
        free = _is_over("lease_until_ms", now, MAX_LEASE) & _is_over("next_at_ms", now, MAX_SPACING)
        if not own:
            free &= _is_over("paused_until_ms", now, MAX_PAUSE)
        taken = (
            _hosts()
            .filter(free, host=request.site, account="")
            .update(
                lease_token=token,
                lease_until_ms=now + _ms(request.lease_seconds, MAX_LEASE),
                next_at_ms=now + _ms(request.spacing_seconds, MAX_SPACING),
            )
        )
        if taken:
            return None
        row = _hosts().filter(host=request.site, account="").first()
        if row is None:
            _make_row(request.site, "")
            return self.claim(request, token)
        return _wait(row, now, heeds_pause=not own)

    def release(self, site: str, token: int) -> None:
        _hosts().filter(host=site, account="", lease_token=token).update(lease_until_ms=0)

    def pause(self, site: str, account: str, seconds: float) -> None:
        until = _now_ms() + _ms(seconds, MAX_PAUSE)
        _make_row(site, account)
        _hosts().filter(host=site, account=account, paused_until_ms__lt=until).update(paused_until_ms=until)

    def paused_for(self, site: str, account: str) -> float:
        now = _now_ms()
        until = _hosts().filter(host=site, account=account).values_list("paused_until_ms", flat=True).first()
        left = (until or 0) - now
        return left / 1000 if 0 < left <= _ms(MAX_PAUSE, MAX_PAUSE) else 0.0


def _wait(row: HostPace, now: int, *, heeds_pause: bool) -> Wait:
    firm = max(row.next_at_ms, row.paused_until_ms if heeds_pause else 0) - now
    held = row.lease_until_ms - now
    return Wait(max(firm, held, 0) / 1000, is_firm=firm >= held)


def delete_idle(days: int = 7) -> int:
    """Delete the rows of hosts without a request for this many days."""
    before = _now_ms() - days * DAY_MS
    idle = _hosts().filter(next_at_ms__lt=before, lease_until_ms__lt=before, paused_until_ms__lt=before)
    return idle.delete()[0]


def _refuse_transaction() -> None:
    """Refuse to run in a transaction: others would not see the claim, and its locks would outlast the request."""
    blocks = connection.atomic_blocks
    if blocks and not getattr(blocks[-1], "_from_testcase", False):
        raise RuntimeError("a request inside a database transaction: fetch first, then write")


def _make_row(site: str, account: str) -> None:
    # Ignoring the conflict keeps a transaction around us alive where a caught IntegrityError would not.
    rows = _hosts()
    rows.bulk_create([rows.model(host=site, account=account)], ignore_conflicts=True)


log = logging.getLogger(__name__)

# KEYS: lease, next, pause. ARGV: token, lease in ms, spacing in ms. Returns 0 or the wait in ms, negative if firm.
_CLAIM = """
local paused = redis.call('PTTL', KEYS[3])
if paused > 0 then return -paused end
local held = redis.call('PTTL', KEYS[1])
if held > 0 then return held end
local spaced = redis.call('PTTL', KEYS[2])
if spaced > 0 then return -spaced end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
if tonumber(ARGV[3]) > 0 then redis.call('SET', KEYS[2], '1', 'PX', ARGV[3]) end
return 0
"""
_RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
_PAUSE = """
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], '1', 'PX', ARGV[1]) end
return 0
"""


class RedisLimiter:
    def __init__(self, url: str) -> None:
        import redis  # an extra: only where REDIS_URL is set

        self._errors = redis.RedisError
        self._redis = redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5)
        self._claim = self._redis.register_script(_CLAIM)
        self._release = self._redis.register_script(_RELEASE)
        self._pause = self._redis.register_script(_PAUSE)

    def claim(self, request: RateRequest, token: int) -> Wait | None:
        keys = [
            _key("lease", request.site),
            _key("next", request.site),
            _key("pause", request.site, request.account_key),
        ]
        lease = max(int(min(request.lease_seconds, MAX_LEASE) * 1000), 1)
        spacing = int(min(request.spacing_seconds, MAX_SPACING) * 1000)
        try:
            answer = int(self._claim(keys=keys, args=[token, lease, spacing]))
        except self._errors as error:
            return self._instead(error).claim(request, token)
        return Wait(abs(answer) / 1000, is_firm=answer < 0) if answer else None

    def release(self, site: str, token: int) -> None:
        try:
            if not self._release(keys=[_key("lease", site)], args=[token]):
                DatabaseLimiter().release(site, token)
        except self._errors as error:
            self._instead(error).release(site, token)

    def pause(self, site: str, account: str, seconds: float) -> None:
        try:
            self._pause(keys=[_key("pause", site, account)], args=[int(min(seconds, MAX_PAUSE) * 1000)])
        except self._errors as error:
            self._instead(error).pause(site, account, seconds)

    def paused_for(self, site: str, account: str) -> float:
        try:
            return max(int(self._redis.pttl(_key("pause", site, account))), 0) / 1000
        except self._errors as error:
            return self._instead(error).paused_for(site, account)

    def _instead(self, error: redis.RedisError) -> Store:
        log.warning("Redis does not respond (%s); the database limits the rate", type(error).__name__)
        return DatabaseLimiter()


def _key(kind: str, site: str, account: str = "") -> str:
    return f"watchbook:pace:{kind}:{site}:{account}"


@lru_cache(maxsize=4)
def _for(url: str, pid: int) -> RedisLimiter:
    return RedisLimiter(url)


def shared_redis() -> RedisLimiter:
    """Return one client per process and address; a forked child creates its own."""
    return _for(options.REDIS_URL.value, os.getpid())
