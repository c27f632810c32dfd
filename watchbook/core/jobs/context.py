"""What a job function is given: its lease, its progress, the only safe way to write; and what it may raise.

JobError
├── LeaseLost     another worker holds the run now: stop immediately, write nothing
├── Later         not now (a busy host, a pause): queue the run again; no attempt is used
└── GiveUp        another attempt would fail, too: the run failed, with a sentence for people
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from watchbook.base import clock, work
from watchbook.base.work import crash_point
from watchbook.core.jobs.models import JobRun, State


class JobError(Exception):
    pass


class LeaseLost(JobError):
    pass


class Later(JobError):
    def __init__(self, seconds: float, reason: str = "") -> None:
        super().__init__(reason or f"try again in {seconds:.0f} s")
        self.seconds = seconds


class GiveUp(JobError):
    def __init__(self, message: str, code: str = "gave_up") -> None:
        super().__init__(message)
        self.code = code


# Set when the process was asked to end: running jobs hand their run back at their next sign of progress.
draining = Event()


@dataclass(frozen=True)
class Outcome:
    """How a run ended: a word of the badge vocabulary and figures for the reader."""

    word: str = "done"
    progress: dict[str, Any] = field(default_factory=dict)


NOTHING_TO_DO = Outcome("nothing_to_do")


class JobContext:
    """One claimed run, seen from inside."""

    def __init__(self, run: JobRun, *, lease_seconds: float) -> None:
        self.run = run
        self.fence = run.fence
        self.lease_seconds = lease_seconds
        self.progress: dict[str, Any] = dict(run.progress) if run.attempt > 1 else {}
        self._renewed = time.monotonic()
        self._reported = 0.0

    @property
    def now(self) -> datetime:
        return clock.now()

    def mine(self) -> Any:
        """This run while it is ours. The owner too: a claim that the database lost in a crash is claimed again."""
        return JobRun.objects.filter(pk=self.run.pk, fence=self.fence, owner=self.run.owner, state=State.RUNNING)

    def renew(self, **columns: Any) -> None:
        """Extend the lease, or learn that it is lost."""
        if draining.is_set():
            raise Later(0, "the process is ending")
        if not self.mine().update(lease_until=Now() + timedelta(seconds=self.lease_seconds), **columns):
            raise LeaseLost(f"run {self.run.pk} has another holder")
        self._renewed = time.monotonic()

    def beat(self) -> None:
        """A sign of progress. Costs a query only when a third of the lease has gone by."""
        if time.monotonic() - self._renewed > self.lease_seconds / 3 or draining.is_set():
            self.renew()

    def report(self, **figures: Any) -> None:
        """Show counts during the run: at most one write a second."""
        self.progress.update(figures)
        if time.monotonic() - self._reported >= 1:
            self.renew(progress=self.progress)
            self._reported = time.monotonic()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction that commits only while this run still holds its lease.

        The fence is checked by an UPDATE inside the transaction: a worker that slept past its lease changes no row,
        raises LeaseLost and everything it wrote is rolled back.
        """
        with transaction.atomic():
            self.renew()
            yield
            crash_point("job.before_commit")
        crash_point("job.after_commit")

    def listening(self) -> Any:
        return work.listening(self.beat)
