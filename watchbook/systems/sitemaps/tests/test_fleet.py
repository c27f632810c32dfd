"""Many monitors due at once, with real worker processes: the small form of `python -m bench.fleet`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.nightly, pytest.mark.xdist_group("fleet")]
ROOT = Path(__file__).resolve().parents[4]
LONGEST_SECONDS = 240


def test_all_are_checked_and_each_host_by_one_worker_at_a_time():
    kind = os.environ.get("WATCHBOOK_TEST_DATABASE", "sqlite")
    size = ("--monitors", "60", "--hosts", "6", "--workers", "2", "--database", kind)
    done = subprocess.run(
        [sys.executable, "-m", "bench.fleet", *size], cwd=ROOT, capture_output=True, text=True, timeout=LONGEST_SECONDS
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "checked 60 in" in done.stdout
    assert "asked by two at once 0" in done.stdout
