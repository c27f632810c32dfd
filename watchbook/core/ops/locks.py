"""Locks on the data folder and the database, held while a process lives: they end with it, however it ends.

`living_here` is shared by every process that works on the folder; `alone_here` is for what nobody may see half done.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

WAIT_SECONDS = 600.0
# Any number that is ours; PostgreSQL's advisory locks have no names.
MIGRATION_NUMBER = 8_724_150_031


class Held(Exception):
    """Somebody else holds the lock, and went on holding it."""


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
