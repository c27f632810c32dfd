"""A sign of life from the work itself.

A lease is renewed by progress, not by a thread that lives on while the work hangs. Whoever makes progress (a fetch
that came back, a batch that was written) calls `beat()`; whoever holds a lease listens with `listening(callback)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[], None] | None] = ContextVar("pulse_listener", default=None)


def beat() -> None:
    listener = _listener.get()
    if listener is not None:
        listener()


@contextmanager
def listening(callback: Callable[[], None]) -> Iterator[None]:
    token = _listener.set(callback)
    try:
        yield
    finally:
        _listener.reset(token)
