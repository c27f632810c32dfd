"""What running work reports: its heartbeat, the requests and bytes it used, and the points where crash tests kill it.

    beat()                      extends the lease of the running job; called after each fetch and each written batch
    with counted() as count:    count.requests and count.bytes of the block; counts nest
    with counted(most=12):      the HTTP client refuses the 13th request of the block before it is sent
    crash_point(name)           kills this process if CRASH_AT=name:n names its n-th pass

A lease is extended by progress only: a thread that extends it would continue while the work hangs.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[], None] | None] = ContextVar("heartbeat_listener", default=None)


def beat() -> None:
    """Report progress to the holder of the lease."""
    listener = _listener.get()
    if listener is not None:
        listener()


@contextmanager
def listening(callback: Callable[[], None]) -> Iterator[None]:
    """Call `callback` at each heartbeat in the block."""
    token = _listener.set(callback)
    try:
        yield
    finally:
        _listener.reset(token)


class Count:
    """Requests and bytes of a block. Threads started with contextvars.copy_context() share it."""

    def __init__(self, outer: Count | None = None, most: int | None = None) -> None:
        self.requests = 0
        self.bytes = 0
        self._most = most
        self._outer = outer
        self._lock = threading.Lock()

    def add(self, *, requests: int = 0, bytes: int = 0) -> None:
        with self._lock:
            self.requests += requests
            self.bytes += bytes
        if self._outer is not None:
            self._outer.add(requests=requests, bytes=bytes)

    @property
    def is_spent(self) -> bool:
        """Return whether this count or one around it allows no further request."""
        own = self._most is not None and self.requests >= self._most
        return own or (self._outer is not None and self._outer.is_spent)


_count: ContextVar[Count | None] = ContextVar("request_count", default=None)


@contextmanager
def counted(*, most: int | None = None) -> Iterator[Count]:
    count = Count(_count.get(), most)
    token = _count.set(count)
    try:
        yield count
    finally:
        _count.reset(token)


def add_to_count(*, requests: int = 0, bytes: int = 0) -> None:
    count = _count.get()
    if count is not None:
        count.add(requests=requests, bytes=bytes)


def is_budget_spent() -> bool:
    count = _count.get()
    return count is not None and count.is_spent


_plan = os.environ.get("CRASH_AT", "")
_visits: Counter[str] = Counter()


def crash_point(name: str) -> None:
    """Kill this process (CRASH_AT=name:n) or stop it (CRASH_AT=name:n:stop) at its n-th pass of this point."""
    if not _plan:
        return
    wanted, _, when = _plan.partition(":")
    if name != wanted:
        return
    nth, _, how = when.partition(":")
    _visits[name] += 1
    if _visits[name] == int(nth or 1):
        # The signal ends or stops the whole process; sent to this thread, so that it takes no further step.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP if how == "stop" else signal.SIGKILL)
