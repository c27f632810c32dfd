"""Real processes of the program, each on a data folder of its own."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from watchbook.base.testing import migrated

T = TypeVar("T")
SECONDS = 120.0
# Nothing of the operator's or of the test run's own environment.
_DROPPED = re.compile(r"WATCHBOOK_|CELERY_|EMAIL_|SECRET|DJANGO_|\w+_URL\Z")


def environment(home: Path, **extra: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not _DROPPED.match(name)}
    own = {
        "WATCHBOOK_HOME": str(home),
        "WATCHBOOK_ENV_FILE": str(home / "none.env"),
        "WATCHBOOK_BIND": "127.0.0.1:0",
        "DJANGO_SETTINGS_MODULE": "watchbook.project.settings",
        "PYTHONPATH": str(Path(__file__).parents[4]),
    }
    return {**kept, **own, **extra}


def run(home: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """The program to its end."""
    return subprocess.run(
        [sys.executable, "-m", "watchbook", *arguments],
        env=environment(home, **extra), capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip


def prepare_tables(home: Path) -> None:
    """Give this data folder a SQLite file with all tables: a copy, because the migrations take seconds."""
    migrated.copy_to(home / "watchbook.sqlite3")


class Running:
    """A process that stays up. Its output is kept; `wait_for` finds a line in it."""

    def __init__(self, home: Path, *arguments: str, **extra: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            env=environment(home, **extra), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)

    def wait_for(self, pattern: str) -> re.Match[str]:
        def found() -> re.Match[str] | None:
            if self.process.poll() is not None:
                self._reader.join(5)
            hit = next((m for line in self.lines if (m := re.search(pattern, line))), None)
            assert hit or self.process.poll() is None, f"ended with {self.process.returncode}: {''.join(self.lines)}"
            return hit

        return until(found)

    def ask(self, *, kill: int = signal.SIGTERM) -> int:
        """Report it to end; gives its exit code."""
        self.process.send_signal(kill)
        return self.process.wait(SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(SECONDS)


def until(look: Callable[[], T | None], seconds: float = SECONDS) -> T:
    """Look again until there is something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"nothing after {seconds} s")


def rows(home: Path, statement: str) -> list[tuple[Any, ...]]:
    """Ask the SQLite file directly, as another process would."""
    with closing(sqlite3.connect(home / "watchbook.sqlite3", timeout=20)) as database:
        return database.execute(statement).fetchall()


def get(address: str, **headers: str) -> tuple[int, bytes]:
    request = urllib.request.Request(address, headers={k.replace("_", "-"): v for k, v in headers.items()})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
