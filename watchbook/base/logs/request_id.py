"""The id that ties together a request, the run it started, its log lines and its outgoing calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from uuid import uuid4

WELL_FORMED = re.compile(r"[A-Za-z0-9._-]{1,128}\Z")

_current: ContextVar[str] = ContextVar("request_id", default="")


def current() -> str:
    return _current.get()


def accept(given: str | None) -> str:
    """An id from outside when it is well formed, else a new one. Anything else is never logged raw."""
    return given if given and WELL_FORMED.match(given) else uuid4().hex


@contextmanager
def using(value: str) -> Iterator[str]:
    token = _current.set(value)
    try:
        yield value
    finally:
        _current.reset(token)
