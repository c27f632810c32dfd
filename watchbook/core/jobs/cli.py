"""Job commands: jobs list, jobs run, worker, beat."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from watchbook.base import clock
from watchbook.base.terminal import Failure, answer, failing_as, table, with_json, with_now
from watchbook.core import registry
from watchbook.core.jobs import options

if TYPE_CHECKING:
    from watchbook.core.jobs.models import JobRun


@click.group()
def jobs() -> None:
    """List background jobs or run one now."""


@jobs.command("list")
@with_json
def list_jobs(as_json: bool) -> None:
    """List all jobs with queue, schedule, last and next run."""
    from watchbook.core.jobs import overview  # after Django is set up

    rows = overview.listed(clock.now())
    lines = table(
        [
            [row["name"], row["queue"], row["schedule"] or "", _short(row["last_run"]), _short(row["next_run"])]
            for row in rows
        ],
        ("JOB", "QUEUE", "SCHEDULE", "LAST", "NEXT"),
    )
    answer({"jobs": rows}, lines, as_json=as_json)


@jobs.command("run")
@click.argument("name")
@with_now
@with_json
def run_job(name: str, now: datetime | None, as_json: bool) -> None:
    """Run a job in this process and wait until it ends."""
    from watchbook.core.jobs import actions, queue, runner  # after Django is set up
    from watchbook.core.jobs.models import State
    from watchbook.core.jobs.runner import GiveUp

    with failing_as(as_json), clock.set_to(now) if now else nullcontext():
        try:
            job = actions.check_by_hand(name)
            run = runner.run_now(job.name, exclusive=queue.exclusive_name(job.name))
        except actions.ManualRunNotAllowed:
            known = registry.job_called(name) is not None
            reason = (
                "needs arguments and cannot be started manually" if known else "is not a job; see `watchbook jobs list`"
            )
            raise Failure(f"{name} {reason}.", "not_by_hand" if known else "unknown_job") from None
        except GiveUp as error:
            raise Failure(str(error), error.code) from None
    outcome = run.outcome if run.state == State.DONE else {"queued": "waiting"}.get(run.state, run.state)
    data: dict[str, Any] = {"name": name, "outcome": outcome or run.state, "progress": run.progress}
    if run.error:
        data["error"] = {"code": run.error_code, "message": run.error}
    figures = [f"  {key}: {value}" for key, value in run.progress.items()]
    answer(data, [f"{name}: {data['outcome']}", *figures, *([f"  {run.error}"] if run.error else [])], as_json=as_json)
    sys.exit(0 if run.state == State.DONE else 1)


def run_or_fail(start: Callable[[], JobRun]) -> JobRun:
    """For commands: start a run in this process, and fail with its reason unless it is done."""
    from watchbook.core.jobs.models import State
    from watchbook.core.jobs.runner import GiveUp  # after Django is set up

    try:
        run = start()
    except GiveUp as error:
        raise Failure(str(error), error.code) from None
    if run.state != State.DONE:
        raise Failure(run.error or "The run did not finish. See the jobs page.", run.error_code or run.state)
    return run


@click.command()
@click.option("--queues", default=None, help="Queues to serve, comma-separated. Default: CELERY_QUEUE_NAMES.")
@click.option(
    "--threads",
    type=click.IntRange(1, 64),
    default=None,
    help="Number of runs at the same time. Default: CELERY_WORKER_COUNT.",
)
def worker(queues: str | None, threads: int | None) -> None:
    """Run queued jobs, with a Redis or RabbitMQ broker."""
    wanted = [name.strip() for name in (queues or options.QUEUE_NAMES.value).split(",") if name.strip()]
    unknown = [name for name in wanted if name not in registry.QUEUES]
    if unknown or not wanted:
        raise click.UsageError(f"Queues are {', '.join(registry.QUEUES)}.")
    if not options.BROKER_URL.value:
        raise Failure("CELERY_BROKER_URL is not set. Without a broker jobs run in `watchbook up`.", "no_broker")

    from watchbook.base.logs import log_uncaught
    from watchbook.base.store import folder
    from watchbook.core.jobs.celery import work_until_stopped  # Celery is heavy
    from watchbook.core.jobs.options import GRACE_SECONDS

    log_uncaught()
    threads = threads or options.WORKER_COUNT.value or options.THREADS.value
    with folder.living_here():
        sys.exit(work_until_stopped(wanted, threads, grace_seconds=GRACE_SECONDS.value))


@click.command()
def beat() -> None:
    """Create runs for due jobs and restart the runs of stopped workers. Several can run in parallel."""
    from watchbook.base.logs import log_uncaught
    from watchbook.base.store import folder
    from watchbook.core.jobs import scheduler  # after Django is set up

    log_uncaught()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    click.echo("The scheduler is running. Stop it with Ctrl-C.", err=True)
    with folder.living_here():
        scheduler.run_forever(stop, role="beat")


def _short(moment: str | None) -> str:
    """Return the time in the time zone of the server."""
    from django.utils.timezone import localtime

    return f"{localtime(datetime.fromisoformat(moment)):%Y-%m-%d %H:%M}" if moment else ""
