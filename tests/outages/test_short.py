"""The short form of `make outages`, as a test: one process, SQLite, one round of faults."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.crash.points import ROOT

pytestmark = [pytest.mark.crash, pytest.mark.slow]
LONGEST_SECONDS = 900  # on a busy machine; alone it takes two minutes


def test_outages_of_every_source_lose_nothing_in_real_processes():
    done = subprocess.run(
        [sys.executable, "-m", "tests.outages", "--seconds", "60", "--seed", "3", "--engine", "embedded"],
        cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "receivers:" in done.stdout
