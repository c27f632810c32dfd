"""Commands about background work: jobs list, jobs run, worker, beat."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import nullcontext
from datetime import datetime
from typing import Any

import click

from watchbook.base import clock
from watchbook.base.terminal import Failure, answer, failing_as, table, with_json, with_now
from watchbook.core import registry
from watchbook.core.jobs import options


@click.group()
def jobs() -> None:
    """Background work: what there is, when it ran, run it now."""


@jobs.command("list")
@with_json
def list_jobs(as_json: bool) -> None:
    """Every job with its queue, schedule, last and next run."""
    from watchbook.core.jobs import board  # after Django is set up

    rows = board.listed(clock.now())
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
    """Run a job here and now, and wait for its end."""
    from watchbook.core.jobs import actions, runner  # after Django is set up
    from watchbook.core.jobs.errors import GiveUp
    from watchbook.core.jobs.models import State

    with failing_as(as_json), clock.set_to(now) if now else nullcontext():
        try:
            job = actions.check_by_hand(name)
            run = runner.run_now(job.name, exclusive=actions.exclusive_name(job.name))
        except actions.NotByHand:
            known = registry.job_called(name) is not None
            reason = (
                "needs arguments and is not started by hand"
                if known
                else "is not a job; `watchbook jobs list` has them"
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


@click.command()
@click.option("--queues", default=None, help="Queues to serve, comma-separated. Default: CELERY_QUEUE_NAMES.")
@click.option("--threads", type=click.IntRange(1, 64), default=None, help="Runs at once. Default: CELERY_WORKER_COUNT.")
def worker(queues: str | None, threads: int | None) -> None:
    """Run jobs that a Redis or RabbitMQ broker announces."""
    wanted = [name.strip() for name in (queues or options.QUEUE_NAMES.value).split(",") if name.strip()]
    unknown = [name for name in wanted if name not in registry.QUEUES]
    if unknown or not wanted:
        raise click.UsageError(f"Queues are {', '.join(registry.QUEUES)}.")
    if not options.BROKER_URL.value:
        raise Failure("CELERY_BROKER_URL is not set. Without a broker jobs run in `watchbook up`.", "no_broker")

    from watchbook.base.logs.setup import log_uncaught
    from watchbook.core.jobs.working import work  # Celery is heavy
    from watchbook.core.ops import locks
    from watchbook.core.ops.options import GRACE_SECONDS

    log_uncaught()
    threads = threads or options.WORKER_COUNT.value or options.THREADS.value
    with locks.living_here():
        sys.exit(work(wanted, threads, grace_seconds=GRACE_SECONDS.value))


@click.command()
def beat() -> None:
    """Tick: make runs for due slots, take back what dead workers held. Any number may run."""
    from watchbook.base.logs.setup import log_uncaught
    from watchbook.core.jobs import scheduler  # after Django is set up
    from watchbook.core.ops import locks

    log_uncaught()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    click.echo("The scheduler ticks. Stop it with Ctrl-C.", err=True)
    with locks.living_here():
        scheduler.run_forever(stop, role="beat")


def _short(moment: str | None) -> str:
    """In the zone of the installation, as its clocks on the wall show it."""
    from django.utils.timezone import localtime

    return f"{localtime(datetime.fromisoformat(moment)):%Y-%m-%d %H:%M}" if moment else ""
