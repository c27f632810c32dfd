"""Tells workers about runs (an event in this process, or a Celery message), and records which processes are alive.

Messages are hints: after a lost one the scheduler finds the run again; a second one finds nothing to claim.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Sequence
from datetime import timedelta

from django.db import DatabaseError
from django.db.models import Q

from watchbook.base import clock
from watchbook.base.work import crash_point
from watchbook.core.jobs import options
from watchbook.core.jobs.models import JobRun, State, Worker

log = logging.getLogger(__name__)

# Rung when there may be work for the threads of this process.
bell = threading.Event()


def process_name(role: str) -> str:
    return f"{role}@{socket.gethostname()}:{os.getpid()}:{threading.get_ident() % 100_000}"


def send(run_ids: Sequence[int]) -> None:
    """Tell workers about runs. Never raises: a broker that is down is a delay, not a loss."""
    if not run_ids:
        return
    if not options.BROKER_URL.value:
        bell.set()
        return
    from watchbook.core.jobs.celery import send_run  # Celery is heavy, and not needed without a broker

    for run_id, queue in JobRun.objects.filter(pk__in=run_ids, state=State.QUEUED).values_list("pk", "queue"):
        JobRun.objects.filter(pk=run_id, state=State.QUEUED).update(sent_at=clock.now())
        crash_point("message.marked")
        try:
            send_run(run_id, queue)
        except Exception as error:  # kombu raises whatever its transport raises; the sweep sends again
            log.warning("broker did not take run %s: %s", run_id, type(error).__name__)
            JobRun.objects.filter(pk=run_id).update(sent_at=None)
            return
        crash_point("message.sent")


def send_unsent(limit: int = 500) -> int:
    """Send what is due and was never sent, and what the broker seems to have lost."""
    now = clock.now()
    lost = now - timedelta(seconds=options.RESEND_SECONDS.value)
    waiting = (
        JobRun.objects.ready(now)
        .filter(Q(sent_at=None) | Q(sent_at__lt=lost))
        .order_by("due_at", "id")
        .values_list("pk", flat=True)[:limit]
    )
    found = list(waiting)
    send(found)
    return len(found)


SAY_EVERY_SECONDS = 5.0
FORGET_AFTER = timedelta(minutes=10)
ALIVE_FOR = timedelta(seconds=30)

_said: dict[str, float] = {}


def report_alive(name: str, role: str, *, queues: str = "", threads: int = 1) -> None:
    if time.monotonic() - _said.get(name, -SAY_EVERY_SECONDS) < SAY_EVERY_SECONDS:
        return
    now = clock.now()
    if not Worker.objects.filter(name=name).update(seen_at=now):
        Worker.objects.create(name=name, role=role, queues=queues, threads=threads, seen_at=now, started_at=now)
        Worker.objects.filter(seen_at__lt=now - FORGET_AFTER).delete()
    _said[name] = time.monotonic()


def report_stopped(name: str) -> None:
    try:
        Worker.objects.filter(name=name).delete()
    except DatabaseError:
        pass  # the row is forgotten by itself


def count_alive(role: str) -> int:
    return Worker.objects.filter(role=role, seen_at__gte=clock.now() - ALIVE_FOR).count()
