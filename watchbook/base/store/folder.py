"""The data folder: free space, temporary folders, SQLite's log, and locks that end with the process that holds them."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

# What a few pages, a log and SQLite's journal need.
LEAST_FREE = 64 * 2**20


@dataclass(frozen=True)
class DiskUsage:
    total: int
    free: int

    @property
    def percent(self) -> float:
        return 100 * (self.total - self.free) / self.total if self.total else 0.0

    @property
    def is_full(self) -> bool:
        """Stored data can be read, but nothing new can be written."""
        return self.free < LEAST_FREE


def disk_usage() -> DiskUsage:
    usage = shutil.disk_usage(Path(settings.HOME))
    return DiskUsage(usage.total, usage.free)


OLD_SECONDS = 24 * 3600


@contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    """An empty folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix=f"{purpose}-", dir=_folder()) as name:
        yield Path(name)


def sweep_scratch() -> int:
    """Remove folders that no process can still use."""
    removed = 0
    for path in _folder().iterdir():
        if time.time() - path.stat().st_mtime > OLD_SECONDS:
            shutil.rmtree(path, ignore_errors=True)
            removed += 1
    return removed


def _folder() -> Path:
    folder = Path(settings.HOME) / "scratch"
    folder.mkdir(exist_ok=True, mode=0o700)
    return folder


def checkpoint() -> bool:
    """Write SQLite's log into the main file and empty it. False if there was nothing to do or others are using it.

    Threads of a process that ends do not close their connections, and then SQLite leaves the log as it is.
    """
    if not settings.configured or "sqlite" not in connections.settings["default"]["ENGINE"]:
        return False
    file = Path(str(connections.settings["default"]["NAME"]))
    log = file.with_name(f"{file.name}-wal")
    try:
        if not log.stat().st_size:
            return False
        with closing(sqlite3.connect(file, timeout=CHECKPOINT_SECONDS)) as database:
            is_busy, _frames, _written = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except (OSError, sqlite3.Error):
        return False  # the log stays; the next process that opens the file reads it
    return not is_busy


WAIT_SECONDS = 600.0
CHECKPOINT_SECONDS = 0.5
# Any number that is ours; PostgreSQL's advisory locks have no names.
MIGRATION_NUMBER = 8_724_150_031


class Held(Exception):
    """Another process holds the lock."""


@contextmanager
def living_here() -> Iterator[None]:
    with _file_lock("house", fcntl.LOCK_SH, wait_seconds=WAIT_SECONDS):
        yield


@contextmanager
def alone_here() -> Iterator[None]:
    """No other process may live on this data folder; does not wait for them to end."""
    with _file_lock("house", fcntl.LOCK_EX, wait_seconds=0):
        yield


@contextmanager
def one_migrates() -> Iterator[None]:
    """Of all processes on this folder and on this database, one changes the schema; the others wait for it."""
    with _file_lock("migrate", fcntl.LOCK_EX, wait_seconds=WAIT_SECONDS), _database_lock():
        yield


@contextmanager
def _file_lock(name: str, kind: int, *, wait_seconds: float) -> Iterator[None]:
    folder = Path(settings.HOME) / "locks"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _wait_for(lambda: _try_file(handle, kind), wait_seconds, name)
        yield
    finally:
        os.close(handle)


def _try_file(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _database_lock() -> Iterator[None]:
    """For several machines on one database server. On a connection of its own, because migrations may close theirs."""
    connection = connections.create_connection("default")
    if connection.vendor == "sqlite":
        yield
        return
    try:
        _wait_for(lambda: _try_database(connection), WAIT_SECONDS, "database")
        yield
    finally:
        connection.close()


def _try_database(connection: BaseDatabaseWrapper) -> bool:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_try_advisory_lock(%s)", [MIGRATION_NUMBER])
        else:
            cursor.execute("SELECT GET_LOCK(CONCAT(DATABASE(), ':watchbook'), 0)")
        return bool(cursor.fetchone()[0])


def _wait_for(take: Callable[[], bool], seconds: float, name: str) -> None:
    until = time.monotonic() + seconds
    while not take():
        if time.monotonic() >= until:
            raise Held(name)
        time.sleep(0.1)
