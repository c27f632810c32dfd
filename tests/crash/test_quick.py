"""The short form of `make crash`, as a test: embedded, each point once, eight kills."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.crash.package_tests import unvisited
from tests.crash.points import ROOT

pytestmark = [pytest.mark.crash, pytest.mark.slow]
LONGEST_SECONDS = 900  # on a busy machine; alone it takes one minute


def test_killed_at_every_point_and_at_random_nothing_is_lost_or_doubled():
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash", "--quick"],
        cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "embedded, SQLite" in done.stdout


def test_every_crash_point_beyond_this_harness_is_named_by_a_test_of_its_package():
    assert unvisited() == []
