"""A Celery worker that ends in time: running jobs hand their run back, and what hangs is taken from it."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from typing import Any

from celery.signals import worker_shutting_down

from watchbook.core.jobs import celery
from watchbook.core.jobs.actions import hand_back_rest
from watchbook.core.jobs.context import draining

log = logging.getLogger(__name__)


def work(queues: Sequence[str], threads: int, *, grace_seconds: float) -> int:
    """Serve until SIGTERM or SIGINT. Celery alone would wait for running jobs without end."""
    over = threading.Event()

    def ending(**_: Any) -> None:
        draining.set()
        threading.Thread(target=_cut_short, args=(over, grace_seconds), name="grace", daemon=True).start()

    worker_shutting_down.connect(ending, weak=False)
    try:
        return celery.work(queues, threads)
    finally:
        over.set()


def _cut_short(over: threading.Event, grace_seconds: float) -> None:
    if not over.wait(grace_seconds):
        log.warning("a job did not end in %s s; its run goes back to the queue", grace_seconds)
        hand_back_rest()
        # Threads cannot be ended from outside; their runs are fenced off, so nothing they still do is written.
        os._exit(0)
