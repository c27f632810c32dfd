"""Celery: queues and routes, one form of message, the names that other programs call, and the worker."""

from __future__ import annotations

import inspect
import logging
import os
import threading
from collections.abc import Sequence
from typing import Any

from celery import Celery, Task
from celery.signals import worker_shutting_down
from django.db import close_old_connections, connections
from kombu import Queue  # type: ignore[attr-defined]

from watchbook.core import registry
from watchbook.core.jobs import options, queue, runner
from watchbook.core.jobs.actions import hand_back_rest
from watchbook.core.jobs.runner import draining

log = logging.getLogger(__name__)

RUN_TASK = "watchbook.run"
# Version of the message: [run id, version]. A worker that does not know a version leaves the row for one that does.
MESSAGE_VERSION = 1

app = Celery("watchbook")
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_serializer="json",
    accept_content=["json"],
    worker_prefetch_multiplier=1,
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    worker_hijack_root_logger=False,
    # Our log handler writes to standard error; Celery would turn that into log lines and drop them as a loop.
    worker_redirect_stdouts=False,
    broker_connection_retry_on_startup=True,
    # A killed worker's messages come back after seconds, not after the usual hundred.
    broker_transport_options={
        "visibility_timeout": 3600,
        "unacked_restore_throttle": 1,
        "unacked_restore_interval": 10,
    },
    # Without a key of its own each queue would get the default one, and a message sent by key would go to all five.
    task_queues=[Queue(name, routing_key=name) for name in registry.QUEUES],
    task_default_queue=registry.QUEUES[0],
    timezone="Asia/Shanghai",
)


def configure() -> Celery:
    """Point the app at the broker of the settings and give it the task names of every job."""
    url = options.BROKER_URL.value
    app.conf.broker_url = url
    if options.RESULT_BACKEND.value:
        app.conf.update(result_backend=options.RESULT_BACKEND.value, task_ignore_result=False)
    if url.startswith("amqp"):
        app.conf.broker_transport_options = {}
    for job in registry.jobs().values():
        for name in (job.name, *job.celery_names):
            if name not in app.tasks:
                _task_for(name, job)
            app.conf.task_routes = {**(app.conf.task_routes or {}), name: {"queue": job.queue}}
    return app


def send_run(run_id: int, queue_name: str) -> None:
    configure().send_task(RUN_TASK, args=[run_id, MESSAGE_VERSION], queue=queue_name, retry=False)


@app.task(name=RUN_TASK, bind=True, ignore_result=True)  # type: ignore[untyped-decorator]
def run_task(_task: Task, run_id: int, version: int = MESSAGE_VERSION) -> None:
    """A hint that this run may be claimed."""
    close_old_connections()
    try:
        if version != MESSAGE_VERSION:
            log.warning("message of version %s ignored", version)
            return
        run = queue.claim_by_id(int(run_id), queue.process_name("worker"))
        if run is not None:
            runner.execute(run)
    finally:
        close_old_connections()


def _task_for(name: str, job: registry.Job) -> None:
    """A Celery task under a job's own name: it puts a run into the queue of record."""

    def put(*values: Any, **args: Any) -> int | None:
        close_old_connections()
        names = list(inspect.signature(job.function()).parameters)[1:]  # behind the context
        run = queue.enqueue(job.name, {**dict(zip(names, values, strict=False)), **args})
        return run.pk if run else None

    app.task(put, name=name)


def work(queues: Sequence[str], threads: int) -> int:
    """Work until asked to stop."""
    configure()
    name = queue.process_name("worker")
    stop = threading.Event()
    living = threading.Thread(target=_live, args=(stop, name, ",".join(queues), threads), daemon=True)
    living.start()
    worker = app.Worker(
        queues=list(queues), pool="threads", concurrency=threads, without_gossip=True, without_mingle=True,
        without_heartbeat=True, loglevel="WARNING", hostname=f"{name}@watchbook",
    )  # fmt: skip
    try:
        worker.start()
    finally:
        draining.set()
        stop.set()
        living.join(timeout=5)
    return worker.exitcode or 0


def _live(stop: threading.Event, name: str, queues: str, threads: int) -> None:
    try:
        while not stop.is_set():
            try:
                close_old_connections()
                queue.report_alive(name, "worker", queues=queues, threads=threads)
            except Exception as error:  # a pause of the database must not end the thread that says we live
                log.warning("cannot say that this worker lives: %s", type(error).__name__)
            stop.wait(queue.SAY_EVERY_SECONDS)
        queue.report_stopped(name)
    finally:
        connections.close_all()


def work_until_stopped(queues: Sequence[str], threads: int, *, grace_seconds: float) -> int:
    """Serve until SIGTERM or SIGINT. Celery alone would wait for running jobs without end."""
    over = threading.Event()

    def ending(**_: Any) -> None:
        draining.set()
        threading.Thread(target=_cut_short, args=(over, grace_seconds), name="grace", daemon=True).start()

    worker_shutting_down.connect(ending, weak=False)
    try:
        return work(queues, threads)
    finally:
        over.set()


def _cut_short(over: threading.Event, grace_seconds: float) -> None:
    if not over.wait(grace_seconds):
        log.warning("a job did not end in %s s; its run goes back to the queue", grace_seconds)
        hand_back_rest()
        # Threads cannot be ended from outside; their runs are fenced off, so nothing they still do is written.
        os._exit(0)
