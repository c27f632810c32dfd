"""Runs the suite on each database (`make test`) and says in one line what was used.

SQLite runs every test; the other databases run what is marked `sql`, beside it, one after the other. `--nightly` runs
everything that touches a database on all of them, the tests marked `nightly`, more random examples, the long crash
test and ten minutes of outages.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from watchbook.base.testing import servers

TESTS_FAILED = 1  # pytest's own exit code for it
# Tests with servers, processes and a browser wait more than they compute: two processes per core for SQLite, and one
# for what runs beside it. Each process costs imports, a collection and a copy of the tables.
CORES = os.cpu_count() or 2
BESIDE, ALONE = min(CORES, 8), min(2 * CORES, 8)
PROCESS_RUNS = {
    "tests.crash": "processes killed at every point",
    "tests.outages": "every source fails at random for ten minutes",
}
CACHES = Path(".pytest_cache")


@dataclass(frozen=True)
class Suite:
    """The tests of one database."""

    kind: str
    nightly: bool = False
    processes: int = ALONE

    def run(self, output: IO[bytes] | None = None) -> int:
        """Run the tests; without an output they write to the terminal. Return pytest's exit code."""
        _print(f"== {self.kind}: {servers.describe(self.kind)}", output)
        return _timed(self.kind, [*self.command, "-n", str(self.processes), "--dist", "loadgroup"], self.env, output)

    def run_failed_again(self) -> int:
        """Run what failed beside others again, alone: tests with real processes and deadlines may lose a race."""
        print(f"== {self.kind}: some tests failed. Each of them again, alone:", flush=True)
        code = subprocess.call([*self.command, *self.failed_last()], env=self.env)
        if code == 0:
            print(f"== {self.kind}: UNSTEADY: the tests above failed beside others and passed alone", flush=True)
        return code

    @property
    def command(self) -> list[str]:
        cache = f"cache_dir={CACHES / self.kind}"
        slowest = ["--durations=20", "--durations-min=5"]
        return [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-o",
            cache,
            *slowest,
            *selection(self.kind, nightly=self.nightly),
        ]

    @property
    def env(self) -> dict[str, str]:
        chosen = {"WATCHBOOK_TEST_DATABASE": self.kind, "WATCHBOOK_TEST_NIGHTLY": "on" if self.nightly else "off"}
        # Rewritten test modules are cached as bytecode: without the cache each process compiles 400 files again.
        return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | chosen

    def failed_last(self) -> list[str]:
        """Return the names of the tests that failed, without the group that xdist writes behind some of them.

        `--last-failed` would look for the name with its group, find no such test and run the whole suite.
        """
        noted = json.loads((CACHES / self.kind / "v/cache/lastfailed").read_text(encoding="utf-8"))
        return sorted({re.sub(r"@[^@\]/]+$", "", name) for name in noted})


def main(arguments: list[str]) -> int:
    nightly = "--nightly" in arguments
    kinds = [kind for kind in arguments if not kind.startswith("--")] or ["sqlite"]
    if "mariadb" in kinds and not servers.has_mariadb():
        print("MariaDB does not answer here: the suite does not run on it.")
        kinds = [kind for kind in kinds if kind != "mariadb"]
    failed = run_suites(kinds, nightly=nightly)
    if nightly:
        failed += [name for name in PROCESS_RUNS if run_processes(name)]
    print_what_was_used(kinds)
    return 1 if failed else 0


def run_suites(kinds: list[str], *, nightly: bool) -> list[str]:
    """Run the first database in this terminal, and beside it the others, one after the other; return what failed."""
    if "postgres" in kinds:
        servers.postgres_url()  # one server for all processes of this run
    first = Suite(kinds[0], nightly)
    others = [Suite(kind, nightly, BESIDE) for kind in kinds[1:]]
    with tempfile.TemporaryFile() as output, ThreadPoolExecutor(1) as lane:
        beside = lane.submit(lambda: [(suite, suite.run(output)) for suite in others])
        codes = [(first, first.run()), *beside.result()]
        output.seek(0)
        print(output.read().decode(errors="replace"), end="", flush=True)
    return [suite.kind for suite, code in codes if code and (code != TESTS_FAILED or suite.run_failed_again())]


def run_processes(name: str) -> int:
    print(f"== {name}: {PROCESS_RUNS[name]}", flush=True)
    return _timed(name, [sys.executable, "-m", name], dict(os.environ), None)


def selection(kind: str, *, nightly: bool) -> list[str]:
    """Return pytest's arguments that select the tests for this database."""
    if kind == "sqlite":
        return [] if nightly else ["-m", "not nightly"]
    # What touches no database, and what a browser shows, cannot come out otherwise on the next one.
    return ["-m", "db and not browser" if nightly else "sql and not browser and not crash and not nightly"]


def _timed(name: str, command: list[str], env: dict[str, str], output: IO[bytes] | None) -> int:
    began = time.monotonic()
    started = subprocess.Popen(command, env=env, stdout=output, stderr=output and subprocess.STDOUT)
    _pid, status, used = os.wait4(started.pid, 0)
    code = started.returncode = os.waitstatus_to_exitcode(status)
    seconds, processor = time.monotonic() - began, used.ru_utime + used.ru_stime
    word = "passed" if code == 0 else "FAILED"
    _print(f"== {name}: {word} in {seconds:.0f} s, {processor:.0f} s of processor time", output)
    return code


def _print(line: str, output: IO[bytes] | None) -> None:
    if output is None:
        print(line, flush=True)
    else:
        output.write(f"{line}\n".encode())
        output.flush()


def print_what_was_used(kinds: list[str]) -> None:
    redis = "the machine's own" if servers.answers("127.0.0.1", 6379) else "from a wheel"
    rabbit = "the machine's own" if servers.rabbitmq_url() else "not found, its tests did not run"
    browser = servers.chromium() or "not found, browser tests did not run"
    print(f"databases: {', '.join(kinds)}; Redis: {redis}; RabbitMQ: {rabbit}; browser: {browser}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
