from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from watchbook.base import clock
from watchbook.base.testing.people import alice, operator
from watchbook.core.jobs.models import JobRun, Worker

__all__ = ["alice", "operator"]


@pytest.fixture
def staff_client(operator: Any) -> Client:
    client = Client()
    client.force_login(operator)
    return client


@pytest.fixture
def member_client(alice: Any) -> Client:
    client = Client()
    client.force_login(alice)
    return client


@pytest.fixture
def living(db: None) -> Callable[..., None]:
    """Say that a worker and a scheduler live, or lived a while ago."""

    def say(worker_ago: float = 1, beat_ago: float = 1) -> None:
        Worker.objects.all().delete()
        now = clock.now()
        for role, ago in (("worker", worker_ago), ("beat", beat_ago)):
            seen = now - timedelta(seconds=ago)
            Worker.objects.create(name=f"{role}@host:1:1", role=role, seen_at=seen, started_at=seen)

    say()
    return say


@pytest.fixture
def make_run(db: None) -> Callable[..., JobRun]:
    def make(**columns: Any) -> JobRun:
        now = clock.now()
        usual = {"name": "test.work", "queue": "crawler_queue", "due_at": now, "created_at": now}
        return JobRun.objects.create(**{**usual, "key": f"k{JobRun.objects.count()}", **columns})

    return make
