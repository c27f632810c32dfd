"""The server of the demo: a process of its own, used by command line and API as a user would."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

EMAIL, PASSWORD = "demo@example.com", "watchbook-demo"
START_SECONDS = 60.0
TRIES = 30


class DemoServer:
    """Starts and calls the server. `env` has the addresses of the stand-in sites."""

    def __init__(self, home: Path, port: int, env: Mapping[str, str]) -> None:
        self.home = home
        self.url = f"http://127.0.0.1:{port}"
        self.env = {
            **os.environ,
            "WATCHBOOK_HOME": str(home),
            "WATCHBOOK_ENV_FILE": str(home / "none.env"),
            "WATCHBOOK_BIND": f"127.0.0.1:{port}",
            "WATCHBOOK_PUBLIC_URL": self.url,
            "WATCHBOOK_PACE": "off",
            "DATABASE_URL": "",
            "REDIS_URL": "",
            "CELERY_BROKER_URL": "",
            "WATCHBOOK_LOG_LEVEL": "WARNING",
            **env,
        }
        self.token = ""

    def command(self, *words: str, given: str = "") -> dict[str, Any]:
        done = subprocess.run(
            [sys.executable, "-m", "watchbook", *words], env=self.env, input=given, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"watchbook {' '.join(words)} failed:\n{done.stderr or done.stdout}")
        return json.loads(done.stdout) if "--json" in words else {}

    def patiently(self, *words: str) -> dict[str, Any]:
        """Repeat a command while the schedule runs the same work."""
        for _ in range(TRIES - 1):
            with contextlib.suppress(SystemExit):
                return self.command(*words)
            time.sleep(1)
        return self.command(*words)

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}",
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def prepare(self) -> None:
        self.command("migrate", "--verbosity", "0")
        self.command("users", "add", EMAIL, "--operator", "--verified", "--password-stdin", "--json", given=PASSWORD)
        scopes = [word for scope in ("read", "write", "notes", "staff") for word in ("--scope", scope)]
        self.token = self.command("tokens", "add", EMAIL, *scopes, "--days", "7", "--json")["token"]

    @contextlib.contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        # Its own greeting is not shown: the demo prints address and password once there is something to see.
        process = subprocess.Popen([sys.executable, "-m", "watchbook", "up"], env=self.env, stdout=subprocess.DEVNULL)
        try:
            self._wait(process)
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            if process.poll() is None:
                process.kill()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        ends = time.monotonic() + START_SECONDS
        while time.monotonic() < ends:
            if process.poll() is not None:
                raise SystemExit("Watchbook stopped while starting; the lines above give the reason.")
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/healthz", timeout=2):
                return
            time.sleep(0.2)
        raise SystemExit("Watchbook did not respond within a minute.")


def becomes(look: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Repeat `look` until it finds something; return its last result when the time is over."""
    ends = time.monotonic() + seconds
    while not (found := look()) and time.monotonic() < ends:
        time.sleep(0.3)
    return found


def until(what: str, look: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Wait for something that the next steps need, or end the demo."""
    found = becomes(look, seconds)
    if not found:
        raise SystemExit(f"demo: {what} did not happen within {seconds:.0f} s")
    return found
