"""The other systems' own crash tests, three times on each database: their points are theirs to visit."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.crash.points import IN_THEIR_ROOMS, ROOT, named_points
from watchbook.base.testing import servers

ROUNDS = 3


def tests_of_rooms() -> list[str]:
    found = sorted((ROOT / "watchbook").rglob("tests/test_crashes.py"))
    return [str(path.relative_to(ROOT)) for path in found] + ["watchbook/sources/notes/tests/test_vault.py"]


def unvisited() -> list[str]:
    """Points of the rooms that no test of theirs names."""
    texts = [
        path.read_text(encoding="utf-8")
        for room in ("watchbook/library", "watchbook/sources")
        for path in (ROOT / room).rglob("tests/*.py")
    ]
    spoken = "\n".join(texts)
    points = [point for point in named_points() if point.startswith(IN_THEIR_ROOMS)]
    return [point for point in points if point not in spoken]


def play() -> int:
    """The worst exit code; prints a line for each database and round."""
    kinds = ["sqlite", "postgres", *(["mariadb"] if servers.has_mariadb() else [])]
    worst = 0
    for kind in kinds:
        for number in range(ROUNDS):
            env = {**os.environ, "WATCHBOOK_TEST_DATABASE": kind, "WATCHBOOK_TEST_RUN": f"crash{number}"}
            command = [sys.executable, "-m", "pytest", "-q", "-m", "crash", "-p", "no:cacheprovider", *tests_of_rooms()]
            done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
            last = done.stdout.strip().splitlines()[-1:]
            print(f"[rooms, {kind}] round {number + 1}: {''.join(last)}", flush=True)
            if done.returncode:
                print(done.stdout[-4000:])
            worst = worst or done.returncode
    return worst
