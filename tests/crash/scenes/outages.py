"""Servers that go away: a broker that forgets everything, a database that is restarted as after a power cut."""

from __future__ import annotations

import time

from django.db import DatabaseError, connection

from tests.crash import servers
from tests.crash.processes import until
from tests.crash.scenes.stage import Stage
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.registry import QUEUES
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.models import MonitorTask

RESTARTS = 4
LOAD_SECONDS = 3.0


def empty_broker(stage: Stage) -> str:
    """Messages wait for workers that are not there; then they are gone. The rows are still there."""
    broker = stage.backing.broker
    assert broker is not None
    stage.processes.kill_role("worker")
    stage.installation.world.change()
    for monitor in stage.installation.monitors.values():
        actions.check_now(MonitorTask.objects.select_related("user").get(pk=monitor.pk))
    if not until(lambda: broker.waiting(QUEUES), 20):
        stage.result.findings.wrong.append("no message came to the broker before it was emptied")
    lost = broker.waiting(QUEUES)
    queued = JobRun.objects.filter(state=State.QUEUED).count()
    broker.empty(QUEUES)
    return f"{lost} messages for {queued} queued runs thrown away"


def restart_broker(stage: Stage) -> str:
    """Under load: killed, away for two seconds, back and empty."""
    broker = stage.backing.broker
    assert isinstance(broker, servers.Redis)
    stage.processes.fill()
    for _ in range(2):
        _load(stage, LOAD_SECONDS)
        broker.restart(away_seconds=2.0)
    _load(stage, LOAD_SECONDS)
    _expect_survivors(stage, "broker")
    return "broker killed and started empty twice under load"


def restart_database(stage: Stage) -> str:
    postgres = stage.backing.postgres
    assert postgres is not None
    stage.processes.fill()
    for _ in range(RESTARTS):
        _load(stage, LOAD_SECONDS)
        postgres.restart()
        until(_answers, 30, every=0.2)
    _expect_survivors(stage, "database")
    return f"database restarted without goodbye {RESTARTS} times under load"


def _load(stage: Stage, seconds: float) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        stage.installation.stir()
        time.sleep(0.5)


def _answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        connection.close()
        return False
    return True


def _expect_survivors(stage: Stage, what: str) -> None:
    """A pause of a server is no reason to end."""
    for member in stage.processes.ended():
        said = member.process.said()[-400:]
        stage.result.findings.wrong.append(f"{member.role} ended while the {what} was away: {said}")
        stage.processes.forget(member.process)
