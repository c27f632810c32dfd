"""A few made-up jobs, declared for these tests only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from watchbook.core import registry
from watchbook.core.registry import Job
from watchbook.core.watching import every

WORK: dict[str, Callable[..., Any]] = {}


def do_work(ctx: Any, **args: Any) -> Any:
    return WORK["do"](ctx, **args)


def is_wanted(_now: Any) -> bool:
    return bool(WORK["wanted"]())


TEST_JOBS = (
    Job("test.work", f"{__name__}:do_work", lease_seconds=60, max_attempts=3, celery_names=("tasks.test.work",)),
    Job("test.hourly", f"{__name__}:do_work", schedule=every(hours=1), queue="maintenance_queue"),
    Job("test.wanted", f"{__name__}:do_work", schedule=every(hours=1), wanted=f"{__name__}:is_wanted"),
)


@pytest.fixture(autouse=True)
def made_up_jobs(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[..., Any]]:
    jobs = {job.name: job for job in TEST_JOBS}
    monkeypatch.setattr(registry, "jobs", lambda: jobs)
    named = {"do_work": do_work, "is_wanted": is_wanted}
    load = registry.load
    monkeypatch.setattr(registry, "load", lambda dotted: named.get(dotted.split(":")[1]) or load(dotted))
    monkeypatch.setattr("watchbook.core.jobs.scheduler.load", lambda dotted: is_wanted)
    WORK.clear()
    WORK.update(do=lambda ctx, **args: None, wanted=lambda: False)
    return WORK
