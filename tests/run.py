"""Runs the suite once per database (`make test`) and says in one line what was used.

SQLite runs every test; the other databases run what is marked `sql`. `--nightly` runs everything that touches a
database on all of them, the tests marked `nightly`, more random examples, the long crash test and ten
minutes of outages.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from watchbook.base.testing import servers

TESTS_FAILED = 1  # pytest's own exit code for it
# Two per core: tests with servers, processes and a browser wait more than they compute. The other databases have no
# browser, and each process costs imports and a copy of the tables.
CORES = os.cpu_count() or 2
PROCESSES = {"sqlite": min(2 * CORES, 8), "postgres": min(CORES + 1, 8), "mariadb": min(CORES + 1, 8)}
PROCESS_RUNS = {"crash": "processes killed at every point", "outages": "every source fails at random for ten minutes"}
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main(arguments: list[str]) -> int:
    nightly = "--nightly" in arguments
    kinds = [kind for kind in arguments if not kind.startswith("--")] or ["sqlite"]
    if "mariadb" in kinds and not servers.has_mariadb():
        print("MariaDB does not answer here: the suite does not run on it.")
        kinds = [kind for kind in kinds if kind != "mariadb"]
    failed = [kind for kind in kinds if timed(kind, partial(suite, kind, nightly=nightly))]
    if nightly and timed("crash", lambda: subprocess.call([sys.executable, "-m", "tests.crash"])):
        failed.append("crash")
    if nightly and timed("outages", lambda: subprocess.call([sys.executable, "-m", "tests.outages"])):
        failed.append("outages")
    print_what_was_used(kinds)
    return 1 if failed else 0


def timed(name: str, run: Callable[[], int]) -> int:
    print(f"== {name}: {PROCESS_RUNS.get(name) or servers.describe(name)}", flush=True)
    began, cpu = time.monotonic(), os.times()
    code = run()
    spent = os.times()
    cpu_seconds = spent.children_user + spent.children_system - cpu.children_user - cpu.children_system
    word = "passed" if code == 0 else "FAILED"
    print(f"== {name}: {word} in {time.monotonic() - began:.0f} s, {cpu_seconds:.0f} s of processor time", flush=True)
    return code


def selection(kind: str, *, nightly: bool) -> list[str]:
    """Return pytest's arguments that select the tests for this database."""
    if kind == "sqlite":
        return [] if nightly else ["-m", "not nightly"]
    # What touches no database, and what a browser shows, cannot come out otherwise on the next one.
    return ["-m", "db and not browser" if nightly else "sql and not browser and not crash and not nightly"]


def suite(kind: str, *, nightly: bool) -> int:
    env = {**os.environ, "WATCHBOOK_TEST_DATABASE": kind, "WATCHBOOK_TEST_NIGHTLY": "on" if nightly else "off"}
    # Rewritten test modules are cached as bytecode: without the cache each process compiles 400 files again.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "pytest", "-q", *selection(kind, nightly=nightly)]
    code = subprocess.call([*command, "-n", str(PROCESSES[kind]), "--dist", "loadgroup"], env=env)
    if code != TESTS_FAILED:
        return code
    # Tests with real processes and deadlines may lose a race for the cores. What failed beside others is run again
    # alone, once, and is named as unsteady.
    print(f"== {kind}: some tests failed. Each of them again, alone:", flush=True)
    code = subprocess.call([*command, *failed_last()], env=env)
    if code == 0:
        print(f"== {kind}: UNSTEADY: the tests above failed beside others and passed alone", flush=True)
    return code


def failed_last() -> list[str]:
    """Return the names of the tests that failed, without the group that xdist writes behind some of them.

    `--last-failed` would look for the name with its group, find no such test and run the whole suite.
    """
    noted = json.loads(LAST_FAILED.read_text(encoding="utf-8"))
    return sorted({re.sub(r"@[^@\]/]+$", "", name) for name in noted})


def print_what_was_used(kinds: list[str]) -> None:
    redis = "the machine's own" if servers.answers("127.0.0.1", 6379) else "from a wheel"
    rabbit = "the machine's own" if servers.rabbitmq_url() else "not found, its tests did not run"
    browser = servers.chromium() or "not found, browser tests did not run"
    print(f"databases: {', '.join(kinds)}; Redis: {redis}; RabbitMQ: {rabbit}; browser: {browser}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
