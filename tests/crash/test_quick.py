"""The short form of `make crash`, as a test: embedded, each point once, twenty kills."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.crash.points import ROOT, all_points, reached_by
from tests.crash.rooms import unvisited

pytestmark = [pytest.mark.crash, pytest.mark.slow]
LONGEST_SECONDS = 300


def test_killed_at_every_point_and_at_random_nothing_is_lost_or_doubled():
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash", "--quick"],
        cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_SECONDS,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "embedded, SQLite" in done.stdout


def test_every_crash_point_has_a_scene_that_reaches_it():
    assert [point for point in all_points() if reached_by(point) is None] == []


def test_every_crash_point_of_a_room_is_visited_by_its_tests():
    assert unvisited() == []
