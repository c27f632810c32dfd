from __future__ import annotations

import threading

import pytest

from watchbook.base.testing import servers
from watchbook.core.ops.tests.processes import Running, get, prepare_tables, rows, until

pytestmark = pytest.mark.crash
SCRIPT = ("-m", "watchbook.core.ops.tests.long_jobs")


@pytest.fixture
def start(tmp_path):
    prepare_tables(tmp_path)
    started: list[Running] = []

    def go(*names: str, **extra: str) -> Running:
        started.append(Running(tmp_path, *SCRIPT, *names, **extra))
        return started[-1]

    yield go
    for process in started:
        process.close()


def running(home, count):
    def look() -> bool:
        if not rows(home, "SELECT 1 FROM sqlite_master WHERE name = 'job_runs'"):
            return False
        return len(rows(home, "SELECT 1 FROM job_runs WHERE state = 'running'")) == count

    return look


def test_stopped_server_finishes_its_requests_and_leaves_no_lease(start, tmp_path):
    process = start("patient", "deaf", WATCHBOOK_GRACE_SECONDS="3")
    address = process.wait_for(r"ready at (\S+)").group(1)
    until(running(tmp_path, 2))
    answers: list[tuple[int, bytes]] = []
    asking = threading.Thread(target=lambda: answers.append(get(address)))
    asking.start()
    # The request has to be in before the signal: a process that ends takes no new ones.
    until((tmp_path / "asked").exists)

    assert process.ask() == 0
    asking.join(10)
    assert answers == [(200, b"whole answer")]
    left = rows(tmp_path, "SELECT name, state, lease_until, exclusive_slot, owner, attempt FROM job_runs ORDER BY name")
    assert left == [("deaf", "queued", None, None, "", 0), ("patient", "queued", None, None, "", 0)]
    assert rows(tmp_path, "SELECT fence FROM job_runs WHERE name = 'deaf'") == [(2,)]


def test_next_process_takes_up_what_was_handed_back(start, tmp_path):
    first = start("patient", WATCHBOOK_GRACE_SECONDS="5")
    first.wait_for("ready at")
    until(running(tmp_path, 1))
    assert first.ask() == 0

    second = start("patient")
    second.wait_for("ready at")
    until(running(tmp_path, 1))
    ((fence, attempt),) = rows(tmp_path, "SELECT fence, attempt FROM job_runs")
    # A thread that was about to look when the process was told to end may have taken it and handed it back, too.
    assert fence >= 2
    assert attempt == 1


def test_stopped_celery_worker_leaves_no_lease(start, tmp_path):
    # A database of the broker for this test alone: workers of other tests would take its messages.
    broker = servers.redis_url()
    broker = f"{broker.rpartition('/')[0]}/13" if broker.startswith("redis://") else broker
    process = start("patient", "deaf", CELERY_BROKER_URL=broker)
    until(running(tmp_path, 2))
    assert process.ask() == 0
    left = rows(tmp_path, "SELECT name, state, lease_until, exclusive_slot, owner, attempt FROM job_runs ORDER BY name")
    assert left == [("deaf", "queued", None, None, "", 0), ("patient", "queued", None, None, "", 0)]
