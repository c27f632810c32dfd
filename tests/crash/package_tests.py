"""Runs the crash tests of the packages, three times on each database: they reach their own crash points."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.crash.points import ROOT, package_points
from watchbook.base.testing import servers

ROUNDS = 3


# Tests of crashes that are not in a file of that name.
MORE = (
    "watchbook/base/store/tests/test_blobs.py",
    "watchbook/core/ops/tests/test_move.py",
    "watchbook/systems/notes/tests/test_encryption.py",
)


def crash_tests() -> list[str]:
    found = sorted((ROOT / "watchbook").rglob("tests/test_crashes.py"))
    return [*(str(path.relative_to(ROOT)) for path in found), *MORE]


def unvisited() -> list[str]:
    """Return the points of packages that none of their tests names."""
    texts = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "watchbook").rglob("tests/*.py"))
    return [point for point in package_points() if point not in texts]


def play() -> int:
    """The worst exit code; prints a line for each database and round."""
    kinds = ["sqlite", "postgres", *(["mariadb"] if servers.has_mariadb() else [])]
    worst = 0
    for kind in kinds:
        for number in range(ROUNDS):
            env = {**os.environ, "WATCHBOOK_TEST_DATABASE": kind, "WATCHBOOK_TEST_RUN": f"crash{number}"}
            command = [sys.executable, "-m", "pytest", "-q", "-m", "crash", "-p", "no:cacheprovider", *crash_tests()]
            done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
            last = done.stdout.strip().splitlines()[-1:]
            print(f"[packages, {kind}] round {number + 1}: {''.join(last)}", flush=True)
            if done.returncode:
                print(done.stdout[-4000:])
            worst = worst or done.returncode
    return worst
