"""Every crash point, visited the first, second and third time."""

from __future__ import annotations

import signal
import time

from tests.crash.installation import pause_ticks
from tests.crash.points import COMMANDS, points_of, reached_by
from tests.crash.process_factory import Process
from tests.crash.processes import until
from tests.crash.scenes.stage import Stage

REACH_SECONDS = 60.0
STIR_SECONDS = 1.0
TAKEN_BACK = "job.taken_back"


def play(stage: Stage) -> str:
    points = [
        point
        for point in points_of(is_embedded=stage.engine.is_embedded, commands=False)
        if reached_by(point) not in COMMANDS
    ]
    visits = (1,) if stage.is_quick else (1, 2, 3)
    for point in points:
        for nth in visits:
            visit(stage, point, nth)
    return f"{len(points)} points, visits {visits}"


def visit(stage: Stage, point: str, nth: int) -> None:
    """Let one process die at this place; the next one finds what it left behind."""
    role = reached_by(point)
    if role is None:
        return  # reported as missed
    scene = f"{point}:{nth}"
    process = _dying(stage, point, nth, stage.engine.beat if role == "beat" else stage.engine.worker)
    has_died = _stir_until_dead(stage, process)
    if role == "beat":
        pause_ticks(True)
    stage.processes.forget(process)
    if not has_died:
        process.kill()
        stage.result.findings.wrong.append(f"{scene} was not reached in {REACH_SECONDS:.0f} s")
        return
    if process.code != -signal.SIGKILL:
        stage.result.findings.wrong.append(f"{scene}: ended with {process.code}: {process.said()[-300:]}")
        return
    stage.result.visited += [point] if point not in stage.result.visited else []
    stage.result.crashes += 1
    if not stage.is_quick:
        # The quick one lets the next dying process do the recovery, and settles once at the end.
        stage.settle(scene)


def _dying(stage: Stage, point: str, nth: int, role: str) -> Process:
    if point == TAKEN_BACK:
        _leave_something_to_take_back(stage)
    elif reached_by(point) == "beat":
        pause_ticks(False)
    # A worker may have a colleague. Who ticks is alone, so that it and not its twin meets the slots and the dead.
    stage.processes.kill_role(role, 1 if role == "worker" else None)
    return stage.processes.start(role, f"{point}:{nth}")


def _leave_something_to_take_back(stage: Stage) -> None:
    """Workers die with several runs in their hands."""
    stage.processes.fill()
    rules = stage.installation.world.hang()
    stage.installation.stir()
    sites = [place.site for place in stage.installation.world.places]
    until(lambda: sum(site.log.in_flight for site in sites) >= 3, 20)
    stage.processes.kill_role(stage.engine.worker)
    for rule in rules:
        rule.lift()


def _stir_until_dead(stage: Stage, process: Process) -> bool:
    ends = time.monotonic() + REACH_SECONDS
    while time.monotonic() < ends:
        stage.installation.stir()
        if process.wait(STIR_SECONDS):
            return True
    return False
