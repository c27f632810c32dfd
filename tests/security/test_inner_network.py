"""The metadata services and the inner networks for real: their addresses exist, port 80 is open, nobody is asked."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from watchbook.core.ops.tests.processes import environment

ROOT = Path(__file__).resolve().parents[2]
UNSHARE = ["unshare", "--map-root-user", "--net"]


def _why_not() -> str:
    if not shutil.which("unshare") or not shutil.which("ip"):
        return "unshare or ip is not installed"
    tried = subprocess.run([*UNSHARE, "ip", "link", "set", "lo", "up"], capture_output=True, timeout=10, check=False)
    return "" if tried.returncode == 0 else "this machine makes no network namespaces"


def test_addresses_of_the_inner_network_are_not_connected(tmp_path: Path) -> None:
    if reason := _why_not():
        pytest.skip(reason)
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-m", "tests.security.inner_network"],
        cwd=ROOT, env=environment(tmp_path), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    said, knocks, (allowed, neighbour, heard) = json.loads(done.stdout.splitlines()[-1])
    refused = {"private_address", "bad_character", "bad_scheme", "bad_host", "bad_port", "userinfo", "too_long"}
    assert {number: code for number, code in said.items() if code not in refused} == {}
    assert knocks == []
    # The canary does hear, and only whom the operator allowed.
    assert (allowed, neighbour) == ("gone", "private_address")
    assert {place.removeprefix("::ffff:") for place in heard} == {"169.254.169.254"}
