"""What one request and its answer may cost in time and bytes.

The connection pool knows nothing of it, so it travels beside the pool in a context variable: the guarded stream asks
`current()` at every read and write.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from watchbook.base.web.errors import BadAnswer, TimedOut

STALL_SECONDS = 30.0  # no byte for so long is the end, however generous the deadline
MAX_HEAD_BYTES = 256 * 1024  # interim answers (100, 103) included
# Every read of a body passes the protocol reader once: with 64 kB at a time a large file costs twice the CPU.
BODY_READ_BYTES = 512 * 1024


class Deadline:
    """A moment on the monotonic clock that covers everything from the name lookup to the last byte."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left, always above zero; raises TimedOut otherwise."""
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimedOut("total deadline")
        return left

    def extend(self, seconds: float) -> None:
        self._ends += seconds


class Exchange:
    """One request on the wire."""

    def __init__(self, deadline: Deadline, on_leave: Callable[[], None]) -> None:
        self.deadline = deadline
        self.received = 0
        self.is_reused = False
        self._is_in_head = True
        self._has_left = False
        self._on_leave = on_leave

    def leave(self) -> None:
        """The request goes out: the gate is passed and a socket is asked."""
        if not self._has_left:
            self._has_left = True
            self._on_leave()

    def patience(self) -> float:
        return min(self.deadline.left(), STALL_SECONDS)

    def appetite(self, usual: int) -> int:
        """How much to read at once; heads in small bites, because what comes with one is counted as head."""
        return usual if self._is_in_head else BODY_READ_BYTES

    def took(self, size: int) -> None:
        self.received += size
        if self._is_in_head and self.received > MAX_HEAD_BYTES:
            raise BadAnswer("endless head")

    def head_is_read(self) -> None:
        self._is_in_head = False


_current: ContextVar[Exchange] = ContextVar("web_exchange")


def current() -> Exchange:
    return _current.get()


@contextmanager
def taking_part(exchange: Exchange) -> Iterator[None]:
    token = _current.set(exchange)
    try:
        yield
    finally:
        _current.reset(token)
