"""A running Watchbook with a cookie pool and a stand-in platform."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from standins.note_platform import NotePlatform
from watchbook.base.testing.servers import free_port

START_SECONDS = 120


class Server:
    def __init__(self, home: Path, platform: NotePlatform) -> None:
        self.home = home
        self.database = home / "notes.sqlite3"
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.env = {
            **os.environ,
            "WATCHBOOK_HOME": str(home),
            "WATCHBOOK_ENV_FILE": str(home / "none.env"),
            "DATABASE_URL": f"sqlite:///{self.database}",
            "WATCHBOOK_BIND": f"127.0.0.1:{port}",
            "WATCHBOOK_PUBLIC_URL": self.url,
            "WATCHBOOK_TRUSTED_HOSTS": platform.netloc,
            "WATCHBOOK_PACE": "off",
            "WATCHBOOK_JOBS": "off",
            "WATCHBOOK_LOG_LEVEL": "INFO",
            "COOKIE_MASTER_KEY": "made-up-master-key-of-forty-characters-1",
            "NOTES_ADAPTER": "standin",
            "NOTES_STANDIN_URL": platform.url,
            "NOTES_RUNNER": "off",
            "REDIS_URL": "",
            "CELERY_BROKER_URL": "",
        }
        self.log = home / "logs" / "watchbook.log"
        self.log.parent.mkdir(parents=True)
        self.token = ""

    def command(self, *words: str, given: str = "") -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "watchbook", *words], env=self.env, input=given, capture_output=True, text=True
        )
        if done.returncode:
            raise AssertionError(f"watchbook {' '.join(words)}:\n{done.stderr or done.stdout}")
        return json.loads(done.stdout) if "--json" in words else done.stdout

    def prepare(self, cookies: dict[str, str]) -> None:
        self.command("migrate", "--verbosity", "0")
        person = "n8n@example.com"
        self.command("users", "add", person, "--operator", "--verified", "--password-stdin", given="made-up-password-1")
        scopes = ["--scope", "notes", "--scope", "read"]
        self.token = self.command("tokens", "add", person, *scopes, "--days", "7", "--json")["token"]
        for name, line in cookies.items():
            self.command("notes", "cookies", "add", name, given=line)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        with self.log.open("ab") as log:
            process = subprocess.Popen([sys.executable, "-m", "watchbook", "up"], env=self.env, stdout=log, stderr=log)
        try:
            self._wait(process)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            if process.poll() is None:
                process.kill()

    def _wait(self, process: subprocess.Popen[bytes]) -> None:
        ends = time.monotonic() + START_SECONDS
        while time.monotonic() < ends and process.poll() is None:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self.url}/healthz", timeout=2):
                return
            time.sleep(0.2)
        raise AssertionError(f"Watchbook did not start:\n{self.log.read_text()[-2000:]}")

    def ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}",
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=90) as answer:
                read: dict[str, Any] = json.loads(answer.read())
        except urllib.error.HTTPError as error:
            read = json.loads(error.read())
        return read

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(self.database, timeout=20)) as connection:
            found = connection.execute(sql, values).fetchall()
            connection.commit()
            return found
