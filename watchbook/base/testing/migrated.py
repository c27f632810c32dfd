"""A database with all tables, made once for each state of the migrations and copied wherever a test needs one.

The migrations take five seconds of processor time; a run has several processes that need their result. The SQLite file
is kept in build/tests; on a server the database `watchbook_mold_…` is kept, one for each source tree.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from watchbook.base.testing import servers

ROOT = Path(__file__).resolve().parents[3]
KEPT_IN = ROOT / "build" / "tests"
# Names a file in which most migrations were applied: a copy of the tree with one system more continues from there.
BEGUN = "WATCHBOOK_TEST_MIGRATED"


def copy_to(path: Path) -> None:
    """Make this file a database in which every migration was applied."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(migrated_file(), path)
    path.chmod(0o600)


@cache
def migrated_file() -> Path:
    """Return the file that is copied; made by the first process that needs it."""
    made = KEPT_IN / f"migrated-{_state_of_migrations()}.sqlite3"
    with alone():
        if not made.exists():
            for old in KEPT_IN.glob("migrated-*"):
                old.unlink()
            _migrate(made)
    return made


@contextmanager
def alone() -> Iterator[None]:
    """Let the other processes of this run wait here."""
    KEPT_IN.mkdir(parents=True, exist_ok=True)
    with (KEPT_IN / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def copy_to_server(url: str) -> None:
    """Make the database of this address one in which every migration was applied, whatever it was before."""
    mold = _mold(servers.beside(url, "").rstrip("/"))
    servers.drop(url)
    if url.startswith("postgres"):
        servers.create(url, copy_of=urlsplit(mold).path[1:])
        return
    servers.create(url)
    name, tables = urlsplit(mold).path[1:], [row[0] for row in servers.execute(mold, "SHOW TABLES")[0]]
    shown = servers.execute(mold, *(f"SHOW CREATE TABLE `{table}`" for table in tables))
    made = [rows[0][1] for rows in shown]
    filled = (f"INSERT INTO `{table}` SELECT * FROM `{name}`.`{table}`" for table in tables)  # noqa: S608 - our names
    servers.execute(url, "SET FOREIGN_KEY_CHECKS = 0", *made, *filled)


@cache
def _mold(server: str) -> str:
    """Return the address of the migrated database on this server."""
    state = hashlib.sha256(f"{ROOT} {_state_of_migrations()}".encode()).hexdigest()[:12]
    url = servers.beside(server, f"watchbook_mold_{state}")
    note = KEPT_IN / f"mold-{urlsplit(url).scheme}"
    with alone():
        before = note.read_text() if note.exists() else ""
        if before != url or not _exists(url):
            note.unlink(missing_ok=True)
            for old in {before, url} - {""}:
                if servers.beside(old, "") == servers.beside(url, ""):
                    servers.drop(old)
            servers.create(url)
            _run_migrations(url)
            note.write_text(url)
    return url


def _exists(url: str) -> bool:
    name = urlsplit(url).path[1:]
    if url.startswith("postgres"):
        asked = f"SELECT 1 FROM pg_database WHERE datname = '{name}'"  # noqa: S608 - our own name
        return servers.execute(servers.beside(url, "postgres"), asked) != [[]]
    return servers.execute(servers.beside(url, ""), f"SHOW DATABASES LIKE '{name}'") != [[]]


def _state_of_migrations() -> str:
    """Return a digest of what decides the result: our migrations and the versions of the libraries."""
    files = [*ROOT.glob("requirements/base.txt"), *sorted(ROOT.glob("watchbook/**/migrations/*.py"))]
    digest = hashlib.sha256(sys.version.encode())
    for path in files:
        digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _migrate(made: Path) -> None:
    unfinished = made.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    if begun := os.environ.get(BEGUN):
        shutil.copyfile(begun, unfinished)
    _run_migrations(f"sqlite:///{unfinished}")
    with closing(sqlite3.connect(unfinished)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    unfinished.rename(made)


def _run_migrations(url: str) -> None:
    """Run the real command in a process of its own, on an empty database."""
    env = {**os.environ, "DATABASE_URL": url, "PYTHONPATH": str(ROOT), "WITHOUT_FIRST_DATABASE": "1"}
    command = [sys.executable, "-m", "watchbook", "migrate", "--verbosity", "0"]
    subprocess.run(command, env=env, check=True, stdin=subprocess.DEVNULL)  # noqa: S603 - our own command
