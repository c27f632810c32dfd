"""Random kills: any process, at any time, while the world goes on."""

from __future__ import annotations

import time

from tests.crash.scenes.stage import Stage

STIR_SECONDS = 0.8
# From one kill to the next. Long enough that a new process does something, short enough that it does not finish.
GAP_SECONDS = (0.1, 1.8)


def play(stage: Stage) -> str:
    options = 8 if stage.is_quick else stage.engine.kills
    stage.processes.fill()
    kills = 0
    next_stir = next_kill = time.monotonic()
    while kills < options:
        now = time.monotonic()
        if now >= next_kill:
            stage.processes.kill(stage.random.choice(stage.processes.members))
            stage.processes.fill()
            kills += 1
            next_kill = now + stage.random.uniform(*GAP_SECONDS)
        if now >= next_stir:
            stage.installation.stir()
            next_stir = now + STIR_SECONDS
        time.sleep(max(0.0, min(next_kill, next_stir) - time.monotonic()))
    stage.result.kills += kills
    return f"{kills} processes killed at random"
