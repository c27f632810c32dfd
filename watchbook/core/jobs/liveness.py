"""Which processes live: a row per process, refreshed every few seconds, judged by readiness and shown on Operations."""

from __future__ import annotations

import time
from datetime import timedelta

from django.db import DatabaseError

from watchbook.base import clock
from watchbook.core.jobs.models import Worker

SAY_EVERY_SECONDS = 5.0
FORGET_AFTER = timedelta(minutes=10)
ALIVE_FOR = timedelta(seconds=30)

_said: dict[str, float] = {}


def say(name: str, role: str, *, queues: str = "", threads: int = 1) -> None:
    if time.monotonic() - _said.get(name, -SAY_EVERY_SECONDS) < SAY_EVERY_SECONDS:
        return
    now = clock.now()
    if not Worker.objects.filter(name=name).update(seen_at=now):
        Worker.objects.create(name=name, role=role, queues=queues, threads=threads, seen_at=now, started_at=now)
        Worker.objects.filter(seen_at__lt=now - FORGET_AFTER).delete()
    _said[name] = time.monotonic()


def leave(name: str) -> None:
    try:
        Worker.objects.filter(name=name).delete()
    except DatabaseError:
        pass  # the row is forgotten by itself


def alive(role: str) -> int:
    return Worker.objects.filter(role=role, seen_at__gte=clock.now() - ALIVE_FOR).count()
