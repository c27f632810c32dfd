"""Pace in Redis: keys that end by themselves, so no clock is compared with another.

Redis is a hint, not the truth: while it does not answer, the database keeps the pace.
"""

from __future__ import annotations

import logging
import os
from functools import lru_cache

import redis

from watchbook.base.web import options
from watchbook.base.web.pace import MAX_LEASE, MAX_PAUSE, MAX_SPACING, Store, Wait, Wish

log = logging.getLogger(__name__)

# KEYS: lease, next, pause. ARGV: token, lease in ms, spacing in ms. Answers 0 or the wait in ms, negative if firm.
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


class RedisPace:
    def __init__(self, url: str) -> None:
        self._redis = redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5)
        self._claim = self._redis.register_script(_CLAIM)
        self._release = self._redis.register_script(_RELEASE)
        self._pause = self._redis.register_script(_PAUSE)

    def claim(self, wish: Wish, token: int) -> Wait | None:
        keys = [_key("lease", wish.site), _key("next", wish.site), _key("pause", wish.site, wish.account_key)]
        lease = max(int(min(wish.lease_seconds, MAX_LEASE) * 1000), 1)
        spacing = int(min(wish.spacing_seconds, MAX_SPACING) * 1000)
        try:
            answer = int(self._claim(keys=keys, args=[token, lease, spacing]))
        except redis.RedisError as error:
            return self._instead(error).claim(wish, token)
        return Wait(abs(answer) / 1000, is_firm=answer < 0) if answer else None

    def release(self, site: str, token: int) -> None:
        try:
            if not self._release(keys=[_key("lease", site)], args=[token]):
                _database().release(site, token)
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
        log.warning("Redis does not answer (%s); the database keeps the pace", type(error).__name__)
        return _database()


def _key(kind: str, site: str, account: str = "") -> str:
    return f"watchbook:pace:{kind}:{site}:{account}"


def _database() -> Store:
    from watchbook.base.web.pace.database import DatabasePace  # needs Django's apps, Redis alone does not

    return DatabasePace()


@lru_cache(maxsize=4)
def _for(url: str, pid: int) -> RedisPace:
    return RedisPace(url)


def shared_redis() -> RedisPace:
    """One client per process and address; a forked child makes its own."""
    return _for(options.REDIS_URL.value, os.getpid())
