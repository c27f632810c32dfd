"""Processes on several machines must hold the same keys. One that holds another key does not start.

Each serving process writes down which keys it holds, as digests, and renews that while it runs.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import socket
import time
from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError, connection

from watchbook.base import clock
from watchbook.base.terminal import Failure
from watchbook.core import registry
from watchbook.core.ops.models import ProcessKeys

EVERY_SECONDS = 10.0
ALIVE_FOR = timedelta(seconds=30)
FORGET_AFTER = timedelta(minutes=10)

_reported_at = -EVERY_SECONDS


def key_print(key: str) -> str:
    """Identify a key without revealing it: keys are random and long."""
    return hashlib.sha256(b"watchbook key print\0" + key.encode()).hexdigest()[:16]


def held() -> dict[str, list[str]]:
    """Setting -> prints of its keys, the one that is used for writing first."""
    found: dict[str, Sequence[str]] = {
        "SECRET_KEY": [settings.SECRET_KEY],
        "WATCHBOOK_SECRETS_KEYS": list(settings.SECRETS_KEYS.values()),
    }
    for _source, module in registry.parts("encryption"):
        found |= module.held_keys()
    return {name: [key_print(key) for key in keys] for name, keys in found.items()}


def refuse_others() -> None:
    """Raise if a process that is running holds another key than this one. A key that both hold is enough."""
    mine = held()
    try:
        others = list(ProcessKeys.objects.filter(seen_at__gte=clock.now() - ALIVE_FOR).exclude(pk=_name()))
    except DatabaseError:
        return  # no such table yet: nothing runs
    finally:
        connection.close()
    for other in others:
        for name, prints in mine.items():
            theirs = other.prints.get(name, [])
            if prints[:1] != theirs[:1] and not (set(prints[:1]) & set(theirs) or set(theirs[:1]) & set(prints)):
                raise Failure(
                    f"{name} differs from that of a running process ({other.name}). Give all processes the same keys."
                    " To change a key, stop all processes first.",
                    "other_keys",
                )


def report() -> None:
    """Say which keys this process holds. Cheap: once in ten seconds."""
    global _reported_at
    if time.monotonic() - _reported_at < EVERY_SECONDS:
        return
    now = clock.now()
    try:
        ProcessKeys.objects.update_or_create(name=_name(), defaults={"prints": held(), "seen_at": now})
        ProcessKeys.objects.filter(seen_at__lt=now - FORGET_AFTER).delete()
    except DatabaseError:
        return
    if _reported_at < 0:
        atexit.register(_leave)
    _reported_at = time.monotonic()


def _leave() -> None:
    """So that a key can be changed without waiting."""
    if time.monotonic() - _reported_at < 2 * EVERY_SECONDS:
        try:
            ProcessKeys.objects.filter(pk=_name()).delete()
        except DatabaseError:
            pass  # the row expires
        finally:
            connection.close()


def _name() -> str:
    return f"{socket.gethostname()[:80]}:{os.getpid()}"
