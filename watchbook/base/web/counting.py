"""Counts the requests that leave the process: cost is counted in requests.

    with counted() as count:
        ...
    count.requests, count.bytes

Counts nest: an inner request is counted by every count around it. A thread sees the count of its own context only;
start it with contextvars.copy_context() to share one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Count:
    def __init__(self, outer: Count | None = None) -> None:
        self.requests = 0
        self.bytes = 0
        self._outer = outer
        self._lock = threading.Lock()

    def add(self, *, requests: int = 0, bytes: int = 0) -> None:
        with self._lock:
            self.requests += requests
            self.bytes += bytes
        if self._outer is not None:
            self._outer.add(requests=requests, bytes=bytes)


_current: ContextVar[Count | None] = ContextVar("request_count", default=None)


@contextmanager
def counted() -> Iterator[Count]:
    count = Count(_current.get())
    token = _current.set(count)
    try:
        yield count
    finally:
        _current.reset(token)


def add(*, requests: int = 0, bytes: int = 0) -> None:
    count = _current.get()
    if count is not None:
        count.add(requests=requests, bytes=bytes)
