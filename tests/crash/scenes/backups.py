"""A backup that is killed leaves no half one behind; a restore that is killed can be done again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.crash.points import all_points, reached_by
from tests.crash.scenes.stage import Stage

SECONDS = 120.0


def play(stage: Stage) -> str:
    shelf = Path(os.environ["WATCHBOOK_HOME"]).parent / "shelf"
    shelf.mkdir(exist_ok=True)
    taken = 0
    for point in [point for point in all_points() if reached_by(point) == "backup"]:
        path = shelf / f"{point}.tar"
        if _killed(stage, point, ["backup", str(path)], {}):
            # Under its name there is a whole backup or none; the same call must work again or refuse to overwrite.
            _check_shelf(stage, point, path)
            taken += 1
    whole = shelf / "whole.tar"
    made = _run(stage, ["backup", str(whole), "--json"], {})
    if made is None:
        return "no backup"
    for point in [point for point in all_points() if reached_by(point) == "restore"]:
        elsewhere = _elsewhere(stage, point)
        if _killed(stage, point, ["restore", str(whole)], elsewhere):
            put_back = _run(stage, ["restore", str(whole), "--force", "--json"], elsewhere)
            if put_back is not None and put_back["rows"] != made["rows"]:
                stage.result.findings.lost.append(
                    f"{point}: {made['rows']} rows were saved, {put_back['rows']} restored"
                )
    return f"backups killed at {taken} points; {made['rows']} rows restored after each kill"


def _elsewhere(stage: Stage, point: str) -> dict[str, str]:
    """Another installation: a data folder of its own, and a database of its own."""
    name = point.replace(".", "_")
    home = Path(os.environ["WATCHBOOK_HOME"]).parent / name
    postgres = stage.backing.postgres
    return {"WATCHBOOK_HOME": str(home), "DATABASE_URL": postgres.create(name) if postgres else ""}


def _killed(stage: Stage, point: str, words: list[str], extra: dict[str, str]) -> bool:
    done = _call(words, {**extra, "CRASH_AT": f"{point}:1"})
    if done.returncode != -signal.SIGKILL:
        stage.result.findings.wrong.append(f"{point} was not reached: {done.stderr[-300:]}")
        return False
    stage.result.visited.append(point)
    stage.result.crashes += 1
    return True


def _check_shelf(stage: Stage, point: str, path: Path) -> None:
    if path.exists():
        elsewhere = _elsewhere(stage, point)
        if _run(stage, ["restore", str(path), "--json"], elsewhere) is None:
            stage.result.findings.wrong.append(f"{point}: the backup under its name is not whole")


def _run(stage: Stage, words: list[str], extra: dict[str, str]) -> dict[str, int] | None:
    done = _call(words, extra)
    if done.returncode:
        stage.result.findings.wrong.append(f"watchbook {words[0]} failed: {(done.stderr or done.stdout)[-300:]}")
        return None
    answer: dict[str, int] = json.loads(done.stdout)
    return answer


def _call(words: list[str], extra: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "watchbook", *words]
    return subprocess.run(command, env={**os.environ, **extra}, capture_output=True, text=True, timeout=SECONDS)
