from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import OperationalError, connection

from watchbook.base import clock
from watchbook.base.store.folder import DiskUsage
from watchbook.core.accounts import tokens
from watchbook.core.jobs.models import State
from watchbook.core.ops import health


def cause(client) -> list[str]:
    answer = client.get("/readyz")
    found = [check["name"] for check in answer.json()["checks"] if not check["ok"]]
    assert answer.status_code == (503 if found else 200)
    assert answer.json()["ok"] is not bool(found)
    return found


def test_alive_is_answered_without_the_database(client, operator, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert client.get("/healthz").json() == {"ok": True}
        assert client.head("/healthz").status_code == 200
    assert client.post("/healthz").status_code in {403, 405}


def test_ready_when_every_part_runs(staff_client, living):
    assert cause(staff_client) == []


def test_stopped_worker_and_missing_scheduler_open_alerts(staff_client, living):
    living(worker_ago=40)
    assert cause(staff_client) == ["workers"]
    living(beat_ago=40)
    assert cause(staff_client) == ["beat"]


def test_worker_busy_with_a_long_job_is_alive(staff_client, living, make_run):
    living(worker_ago=400)
    run = make_run(state=State.RUNNING, owner="worker@host:1:1", lease_until=clock.now() + timedelta(seconds=50))
    assert cause(staff_client) == []
    run.lease_until = clock.now() - timedelta(seconds=1)
    run.save()
    assert cause(staff_client) == ["workers"]


def test_stuck_queue_opens_an_alert_within_a_minute(staff_client, living, make_run):
    make_run(due_at=clock.now() - timedelta(seconds=30))
    assert cause(staff_client) == []
    make_run(due_at=clock.now() - timedelta(seconds=61))
    assert cause(staff_client) == ["queue"]


def test_queue_that_is_only_slow_is_not_stuck(staff_client, living, make_run):
    old = clock.now() - timedelta(minutes=10)
    make_run(due_at=old)
    running = make_run(
        state=State.RUNNING, owner="worker@h:1:1", started_at=old, lease_until=clock.now() + timedelta(seconds=60)
    )
    assert cause(staff_client) == []
    running.state = State.DONE
    running.save()
    assert cause(staff_client) == ["queue"]
    make_run(state=State.DONE, started_at=clock.now())
    assert cause(staff_client) == []


def test_run_that_waits_for_its_own_kind_is_not_stuck(staff_client, living, make_run):
    make_run(due_at=clock.now() - timedelta(minutes=10), exclusive="host:a", queue="analysis_queue")
    make_run(state=State.RUNNING, exclusive="host:a", exclusive_slot="host:a", queue="monitoring_queue")
    assert cause(staff_client) == []


def test_full_disk_opens_an_alert(staff_client, living, monkeypatch):
    monkeypatch.setattr(health, "disk_usage", lambda: DiskUsage(total=1000, free=49))
    assert cause(staff_client) == ["disk"]


def test_unreachable_database_is_reported_without_its_own_words(client, living, monkeypatch):
    def away(*_args, **_kwargs):
        raise OperationalError("could not connect to server db.internal as user bob")

    monkeypatch.setenv("WATCHBOOK_METRICS_TOKEN", "a-long-metrics-token")
    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", away)
        answer = client.get("/readyz", headers={"authorization": "Bearer a-long-metrics-token"})
    assert answer.status_code == 503
    assert "db.internal" not in answer.content.decode()
    assert answer.json()["checks"][0] == {
        "name": "database", "ok": False, "message": "The database does not answer (OperationalError).",
    }  # fmt: skip


def test_strangers_and_members_learn_no_cause(client, member_client, living):
    living(worker_ago=400)
    for visitor in (client, member_client):
        answer = visitor.get("/readyz")
        assert (answer.status_code, answer.json()) == (503, {"ok": False})


def test_figures_need_an_operator(client, member_client, staff_client, operator, alice, living, monkeypatch):
    assert client.get("/metrics").status_code == 401
    assert member_client.get("/metrics").status_code == 401
    assert staff_client.get("/metrics").status_code == 200

    def with_token(plain: str) -> int:
        return client.get("/metrics", headers={"authorization": f"Bearer {plain}"}).status_code

    assert with_token(tokens.make(operator, ["read", "staff"])[1]) == 200
    assert with_token(tokens.make(operator, ["read"])[1]) == 401
    assert with_token(tokens.make(alice, ["read"])[1]) == 401
    monkeypatch.setenv("WATCHBOOK_METRICS_TOKEN", "a-long-metrics-token")
    assert with_token("a-long-metrics-token") == 200
    assert with_token("a-long-metrics-tokem") == 401
    assert with_token("") == 401


def test_figures_are_counted_from_the_database(staff_client, living, make_run):
    make_run(due_at=clock.now() - timedelta(seconds=30))
    make_run(state=State.DONE, http_request_count=7)
    make_run(state=State.DONE, http_request_count=5)
    text = staff_client.get("/metrics").content.decode()
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert figures['watchbook_job_runs{state="done"}'] == "2.0"
    assert figures['watchbook_job_runs{state="failed"}'] == "0.0"
    assert figures['watchbook_requests_made{job="test.work"}'] == "12.0"
    assert 29 < float(figures["watchbook_job_oldest_queued_seconds"]) < 60
    assert figures["watchbook_outbox_pending"] == "0.0"
    assert figures['watchbook_alerts_open{level="P0"}'] == "0.0"
    assert figures['watchbook_ready{check="workers"}'] == "1.0"
    assert float(figures["watchbook_web_process_resident_memory_bytes"]) > 0


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/metrics", "/operations/", "/nothing-here", "/static/kit/base.css"]
)
def test_every_answer_carries_security_headers(client, living, path):
    answer = client.get(path)
    for name in (
        "X-Content-Type-Options",
        "Content-Security-Policy",
        "Permissions-Policy",
        "X-Request-ID",
        "X-Frame-Options",
    ):
        assert name in answer.headers, name
    if not path.startswith("/static"):
        assert "no-store" in answer["Cache-Control"]
