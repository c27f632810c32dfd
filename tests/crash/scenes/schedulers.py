"""Two schedulers at once: one run for each slot, and each run once."""

from __future__ import annotations

import time
from collections import Counter

from tests.crash import harness_jobs
from tests.crash.installation import pause_ticks
from tests.crash.processes import until
from tests.crash.scenes.stage import Stage
from watchbook.core.jobs.models import JobRun, State

SECONDS = 8.0
SECOND = len("2026-01-01T00:00:00")


def play(stage: Stage) -> str:
    runs = JobRun.objects.filter(name__in=harness_jobs.NAMES)
    until(lambda: not runs.filter(state__in=[State.QUEUED, State.RUNNING]).exists(), 30)
    before = set(runs.values_list("pk", flat=True))
    harness_jobs.book().write_text("")
    stage.processes.kill_role(stage.engine.beat)
    for _ in range(2):
        # Their usual second apart they would hardly ever meet.
        stage.processes.start(stage.engine.beat, tick_seconds=0.02)
    stage.processes.fill()
    pause_ticks(False)
    time.sleep(SECONDS)
    pause_ticks(True)
    until(lambda: not runs.filter(state__in=[State.QUEUED, State.RUNNING]).exists(), 60)
    made = list(runs.exclude(pk__in=before))
    _judge(stage, made)
    stage.result.slots += len(made)
    stage.processes.kill_role(stage.engine.beat)
    return f"{len(made)} slots of {len(harness_jobs.NAMES)} jobs"


def _judge(stage: Stage, made: list[JobRun]) -> None:
    findings = stage.result.findings
    slots = Counter(_slot(run.key) for run in made)
    findings.doubled += [f"slot {key} has {count} runs" for key, count in slots.items() if count > 1]
    executed = Counter(map(_slot, harness_jobs.book().read_text().split()))
    findings.doubled += [f"slot {key} was run {count} times" for key, count in executed.items() if count > 1]
    findings.lost += [f"slot {key} was not run" for key in slots if key not in executed]
    findings.stuck += [f"{run.key} is {run.state}: {run.error}" for run in made if run.state != State.DONE]
    if len(made) < SECONDS * len(harness_jobs.NAMES) / 4:
        findings.wrong.append(f"only {len(made)} slots came in {SECONDS:.0f} s")


def _slot(key: str) -> str:
    """The job and the second of its slot, whatever else a key may hold."""
    name, _, moment = key.partition("@")
    return f"{name}@{moment[:SECOND]}"
