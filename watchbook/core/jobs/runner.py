"""Runs jobs: what a job function gets and may raise, one claimed run to its end, and the threads of the web process.

`execute` is the only place where an error becomes a state.

JobError
├── LeaseLost     another worker holds the run now: stop immediately, write nothing
├── Later         not now (a busy host, a pause): queue the run again; no attempt is used
└── GiveUp        another attempt would fail, too: the run failed, with a sentence for people
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Event
from typing import Any

from django.db import DatabaseError, close_old_connections, connections, transaction
from django.db.models import F, Max
from django.db.models.functions import Now

from watchbook.base import clock, work
from watchbook.base.logs import redact, using_request_id
from watchbook.base.store.folder import sweep_scratch
from watchbook.base.text import clean_text
from watchbook.base.web.errors import Busy, WebError
from watchbook.base.web.rate_limit import delete_idle
from watchbook.base.work import counted, crash_point
from watchbook.core import registry
from watchbook.core.jobs import options, queue, scheduler
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


log = logging.getLogger(__name__)

ERROR_LENGTH = 4000
BUSY_SECONDS = 5.0


def execute(run: JobRun) -> JobRun:
    """Run a claimed run to its end. Returns the row as it is afterwards."""
    job = registry.jobs()[run.name]
    ctx = JobContext(run, lease_seconds=queue.lease_seconds(job))
    with using_request_id(run.request_id or f"run-{run.pk}-{run.fence}"), counted() as count, ctx.listening():
        try:
            answer = job.function()(ctx, **run.args)
            outcome = answer if isinstance(answer, Outcome) else Outcome()
            ctx.progress.update(outcome.progress)
            verdict = _ended(State.DONE, outcome=outcome.word)
        except LeaseLost:
            log.warning("lost lease of %s", run)
            return JobRun.objects.get(pk=run.pk)
        except Later as later:
            verdict = _later(later)
        except Busy as busy:
            verdict = _later(Later(busy.retry_after_seconds or BUSY_SECONDS, busy.message))
        except GiveUp as error:
            verdict = _ended(State.FAILED, error=str(error), error_code=error.code)
        except WebError as error:
            verdict = _web_trouble(run, error)
        except Exception as error:
            log.exception("%s failed", run)
            verdict = _try_again(run, f"{type(error).__name__}: {error}", "unexpected")
    crash_point("job.before_finish")
    verdict.update(progress=ctx.progress, http_request_count=F("http_request_count") + count.requests)
    if not ctx.mine().update(**verdict):
        log.warning("lost lease of %s at its end", run)
    crash_point("job.finished")
    _wake_next(run)
    return JobRun.objects.get(pk=run.pk)


def run_now(name: str, args: dict[str, Any] | None = None, *, key: str = "", exclusive: str = "") -> JobRun:
    """Run a job here and now, as commands and tests do: the same row, lease and verdict as in a worker."""
    queue.requeue_expired()
    run = queue.enqueue(name, args, key=key, exclusive=exclusive, sent_at=clock.now())
    claimed = queue.claim(run, queue.process_name("inline")) if run else None
    if run is None or claimed is None:
        if run is not None:
            queue.cancel(run.pk)
        raise GiveUp(f"{name} is already running. Try again when it has finished.", "already_running")
    return execute(claimed)


def _ended(state: str, **columns: Any) -> dict[str, Any]:
    if "error" in columns:
        columns["error"] = _worded(columns["error"])
    return dict(state=state, finished_at=clock.now(), lease_until=None, exclusive_slot=None, **columns)


def _worded(message: str) -> str:
    """An error as it may be stored: no secret that this process knows, nothing a database refuses."""
    return redact.text(clean_text(message))[:ERROR_LENGTH]


def _later(later: Later) -> dict[str, Any]:
    """Back to the queue; waiting for a busy host is not a failed attempt."""
    due_at = clock.now() + timedelta(seconds=later.seconds)
    return dict(_queued(due_at), attempt=F("attempt") - 1, error=str(later), error_code="later")


def _queued(due_at: datetime) -> dict[str, Any]:
    return dict(state=State.QUEUED, due_at=due_at, sent_at=None, lease_until=None, exclusive_slot=None, owner="")


def _web_trouble(run: JobRun, error: WebError) -> dict[str, Any]:
    if not error.is_temporary:
        return _ended(State.FAILED, error=error.message, error_code=error.code)
    return _try_again(run, error.message, error.code, wait=error.retry_after_seconds)


def _try_again(run: JobRun, message: str, code: str, wait: float | None = None) -> dict[str, Any]:
    if run.attempt >= run.max_attempts:
        return _ended(State.FAILED, error=message, error_code=code)
    if wait is None:
        wait = min(30 * 4 ** (run.attempt - 1), 3600) * random.uniform(0.8, 1.2)
    return dict(_queued(clock.now() + timedelta(seconds=wait)), error=_worded(message), error_code=code)


def _wake_next(run: JobRun) -> None:
    """The next run with the same exclusive name can start now."""
    if not run.exclusive:
        return
    waiting = JobRun.objects.ready(clock.now()).filter(exclusive=run.exclusive).order_by("due_at", "id")
    queue.send(list(waiting.values_list("pk", flat=True)[:1]))


# Without a signal a thread checks the queue this often: runs that became due, runs other processes put in.
LOOK_EVERY_SECONDS = 0.5


class Embedded:
    """Started by `watchbook up` and `watchbook web`; stopped with them."""

    def __init__(self, threads: int | None = None) -> None:
        self.stopping = threading.Event()
        count = threads or options.THREADS.value
        self.threads = [threading.Thread(target=self._work, name=f"jobs-{n}", daemon=True) for n in range(count)]
        self.threads.append(
            threading.Thread(
                target=scheduler.run_forever, args=(self.stopping,), kwargs={"role": "beat"}, name="tick", daemon=True
            )
        )

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def stop(self, grace_seconds: float = 20) -> None:
        """Finish or hand back what runs, then return."""
        self.stopping.set()
        draining.set()
        queue.bell.set()
        for thread in self.threads:
            thread.join(timeout=grace_seconds)

    def _work(self) -> None:
        name = queue.process_name("worker")
        try:
            while not self.stopping.is_set():
                if not self._one(name):
                    queue.bell.wait(LOOK_EVERY_SECONDS)
                    queue.bell.clear()
            queue.report_stopped(name)
        finally:
            connections.close_all()

    def _one(self, name: str) -> bool:
        """Run one job if there is one."""
        try:
            close_old_connections()
            queue.report_alive(name, "worker")
            # Saying so may have waited for the database: what others hand back at the end is not for us.
            run = None if self.stopping.is_set() else queue.claim_next(registry.QUEUES, name)
            if run is None:
                return False
            execute(run)
        except DatabaseError as error:
            log.warning("worker waits for the database: %s", type(error).__name__)
            self.stopping.wait(1)
            return False
        return True


BATCH = 1000


def clean_old_runs(ctx: JobContext) -> Outcome:
    """Delete old runs except the last of every job, leftover temporary folders, and hosts without requests."""
    sweep_scratch()
    with ctx.writing():
        delete_idle()
    before = ctx.now - timedelta(days=options.KEEP_DAYS.value)
    newest = list(JobRun.objects.values("name").annotate(last=Max("pk")).values_list("last", flat=True))
    ended = [State.DONE, State.FAILED, State.CANCELLED]
    removed = 0
    while True:
        old = JobRun.objects.filter(state__in=ended, finished_at__lt=before).exclude(pk__in=newest)
        batch = list(old.order_by("pk").values_list("pk", flat=True)[:BATCH])
        if not batch:
            return Outcome("done" if removed else "nothing_to_do", {"removed": removed})
        with ctx.writing():
            removed += JobRun.objects.filter(pk__in=batch).delete()[0]
        ctx.report(removed=removed)
