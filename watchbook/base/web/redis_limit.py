"""The rate limit in Redis: keys that expire, so no two clocks are compared.

While Redis does not respond, the database limits the rate.
"""

from __future__ import annotations

import logging
import os
from functools import lru_cache

import redis

from watchbook.base.web import options
from watchbook.base.web.rate_limit import MAX_LEASE, MAX_PAUSE, MAX_SPACING, DatabaseLimiter, RateRequest, Store, Wait

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
        except redis.RedisError as error:
            return self._instead(error).claim(request, token)
        return Wait(abs(answer) / 1000, is_firm=answer < 0) if answer else None

    def release(self, site: str, token: int) -> None:
        try:
            if not self._release(keys=[_key("lease", site)], args=[token]):
                DatabaseLimiter().release(site, token)
        except redis.RedisError as error:
            self._instead(error).release(site, token)

    def pause(self, site: str, account: str, seconds: float) -> None:
        try:
            self._pause(keys=[_key("pause", site, account)], args=[int(min(seconds, MAX_PAUSE) * 1000)])
        except redis.RedisError as error:
            self._instead(error).pause(site, account, seconds)

    def paused_for(self, site: str, account: str) -> float:
        try:
            return max(int(self._redis.pttl(_key("pause", site, account))), 0) / 1000
        except redis.RedisError as error:
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
