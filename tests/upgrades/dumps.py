"""Makes and loads the dumps: a SQLite file, and the statements of pg_dump and mariadb-dump, packed with zstandard."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import zstandard

from watchbook.base.testing import servers

HERE = Path(__file__).resolve().parent
KINDS = ("sqlite", "postgres", "mariadb")


def names() -> list[str]:
    return sorted(path.name for path in HERE.iterdir() if (path / "rows.json").exists())


@contextmanager
def empty_database(kind: str, home: Path) -> Iterator[str]:
    """Give the address of an empty database, and drop it afterwards."""
    if kind == "sqlite":
        yield f"sqlite:///{home / 'watchbook.sqlite3'}"
        return
    name = f"upgrade_{uuid4().hex[:12]}"
    server = servers.postgres_url() if kind == "postgres" else servers.mariadb_url()
    charset = "" if kind == "postgres" else " CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin"
    execute(kind, server, f"CREATE DATABASE {name}{charset}")
    try:
        yield servers.beside(server, name)
    finally:
        execute(kind, server, f"DROP DATABASE {name}{' WITH (FORCE)' if kind == 'postgres' else ''}")


def dump(kind: str, url: str, work: Path) -> bytes:
    parts = urlsplit(url)
    if kind == "sqlite":
        copy = work / "copy.sqlite3"
        with closing(sqlite3.connect(parts.path[1:])) as database:
            database.execute("VACUUM INTO ?", (str(copy),))
        plain = copy.read_bytes()
    elif kind == "postgres":
        plain = _run("pg_dump", "--inserts", "--no-owner", "--no-privileges", url)
        # Commands of psql, which a driver does not know.
        plain = b"\n".join(line for line in plain.split(b"\n") if not line.startswith(b"\\"))
    else:
        place = ["-h", parts.hostname or "", "-P", str(parts.port), "-u", parts.username or ""]
        plain = _run("mariadb-dump", *place, "--hex-blob", "--skip-comments", parts.path[1:])
        # The first line switches the sandbox of the command-line client on.
        plain = b"\n".join(line for line in plain.split(b"\n") if not line.startswith(b"/*M!999999"))
    return zstandard.compress(plain, 19)


def load(kind: str, url: str, packed: bytes) -> None:
    plain = zstandard.decompress(packed)
    if kind == "sqlite":
        Path(urlsplit(url).path[1:]).write_bytes(plain)
    else:
        execute(kind, url, plain.decode())


def execute(kind: str, url: str, statements: str) -> None:
    """Run statements in one message, without parameters."""
    if kind == "postgres":
        import psycopg  # only where PostgreSQL is used

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statements)  # type: ignore[call-overload]
        return
    import pymysql  # only where MariaDB is used
    from pymysql.constants.CLIENT import MULTI_STATEMENTS

    parts = urlsplit(url)
    with closing(
        pymysql.connect(
            host=parts.hostname, port=parts.port or 3306, user=parts.username, password=parts.password or "",
            database=parts.path[1:], client_flag=MULTI_STATEMENTS, charset="utf8mb4", autocommit=True,
        )
    ) as connection, connection.cursor() as cursor:  # fmt: skip
        cursor.execute(statements)
        while cursor.nextset():
            pass


def _run(program: str, *arguments: str) -> bytes:
    if not shutil.which(program):
        raise SystemExit(f"{program} is not installed: it writes the dump.")
    return subprocess.run([program, *arguments], check=True, capture_output=True).stdout
