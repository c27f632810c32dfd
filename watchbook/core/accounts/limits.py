"""Counting tries in the shared cache, so that a restart or a second process does not forget them."""

from __future__ import annotations

import hashlib

from django.core.cache import cache

from watchbook.base import clock


def count(name: str, key: str, *, seconds: int, by: int = 1) -> int:
    """Count one more and say how many there were in this window, this one included."""
    place = _place(name, key, seconds)
    if cache.add(place, by, seconds):
        return by
    try:
        total = cache.incr(place, by)
    except ValueError:  # it ended between the two calls
        cache.set(place, by, seconds)
        return by
    # The database cache gives a counted value its default lifetime, which may be shorter than the window.
    cache.touch(place, seconds)
    return total


def allow(name: str, key: str, *, most: int, seconds: int) -> bool:
    return count(name, key, seconds=seconds) <= most


def seen(name: str, key: str, *, seconds: int) -> int:
    """How many were counted in this window."""
    return int(cache.get(_place(name, key, seconds), 0))


def forget(name: str, key: str, *, seconds: int) -> None:
    cache.delete(_place(name, key, seconds))


def seconds_left(seconds: int) -> int:
    """Until the present window ends."""
    return seconds - int(clock.now().timestamp()) % seconds


def _place(name: str, key: str, seconds: int) -> str:
    window = int(clock.now().timestamp()) // seconds
    # What is counted may be an address that people typed: it goes into the cache as a digest, never as it is.
    return f"limit:{name}:{window}:{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
