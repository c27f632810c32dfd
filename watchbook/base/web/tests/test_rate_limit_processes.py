"""Pace between processes that know nothing of each other, and after a kill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture
def plan(kind: str, tmp_path: Path, site: str, transactional_db: None) -> dict[str, Any]:
    """What a worker process needs; SQLite in a file of its own, since the suite's may be in memory."""
    known = connection.settings_dict
    facts = {name: str(known[name]) for name in ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT")}
    options = {name: value for name, value in known["OPTIONS"].items() if name != "pool"}
    plan = {"database": {**facts, "OPTIONS": options}, "site": site, "spacing": 0.2, "lease": 60}
    plan.update(log=str(tmp_path / "log"), turns=5)
    if connection.vendor == "sqlite":
        plan["database"]["NAME"] = str(tmp_path / "pace.sqlite3")
        assert _start({**plan, "migrate": True}).wait(60) == 0
    return plan


def _start(plan: dict[str, Any]) -> subprocess.Popen[bytes]:
    environment = {"PYTHONPATH": str(ROOT), "REDIS_URL": os.environ.get("REDIS_URL", "")}
    script = Path(__file__).with_name("rate_limit_worker.py")
    return subprocess.Popen([sys.executable, str(script), json.dumps(plan)], env=environment)


def _read(path: str) -> list[tuple[str, int, float]]:
    lines = Path(path).read_text().splitlines() if Path(path).exists() else []
    return [(word, int(pid), float(moment)) for word, pid, moment in map(str.split, lines)]


def test_two_processes_share_one_rate_limit(plan: dict[str, Any]) -> None:
    workers = [_start(plan) for _ in range(2)]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    entries = sorted(_read(plan["log"]), key=lambda entry: entry[2])
    assert [word for word, _, _ in entries] == ["start", "end"] * 10  # never two at once
    assert len({pid for _, pid, _ in entries}) == 2
    starts = [moment for word, _, moment in entries if word == "start"]
    assert starts[-1] - starts[0] > 0.9 * 9 * plan["spacing"]


def test_killed_holder_frees_the_host_when_its_lease_ends(plan: dict[str, Any]) -> None:
    holder = _start({**plan, "turns": 0, "lease": 3})
    try:
        ends = time.monotonic() + 30
        while not _read(plan["log"]):
            assert time.monotonic() < ends
            time.sleep(0.02)
    finally:
        holder.kill()
        holder.wait()
    assert _start({**plan, "turns": 1}).wait(60) == 0
    held, taken = _read(plan["log"])[:2]
    assert (held[0], taken[0]) == ("start", "start")
    assert taken[2] - held[2] > 2  # not before the lease ended
