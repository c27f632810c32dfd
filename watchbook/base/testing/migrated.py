"""A SQLite file with all tables, made once for each state of the migrations and copied wherever a test needs one.

The migrations take five seconds of processor time; a run has several processes that need their result.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
KEPT_IN = ROOT / "build" / "tests"


def copy_to(path: Path) -> None:
    """Make this file a database in which every migration was applied."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(_migrated_file(), path)
    path.chmod(0o600)


@cache
def _migrated_file() -> Path:
    KEPT_IN.mkdir(parents=True, exist_ok=True)
    made = KEPT_IN / f"migrated-{_state_of_migrations()}.sqlite3"
    with (KEPT_IN / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the other workers of this run wait here
        if not made.exists():
            for old in KEPT_IN.glob("migrated-*"):
                old.unlink()
            _migrate(made)
    return made


def _state_of_migrations() -> str:
    """Return a digest of what decides the result: our migrations and the versions of the libraries."""
    files = [*ROOT.glob("requirements/base.txt"), *sorted(ROOT.glob("watchbook/**/migrations/*.py"))]
    digest = hashlib.sha256(sys.version.encode())
    for path in files:
        digest.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _migrate(made: Path) -> None:
    """Run the real command in a process of its own, on an empty file."""
    unfinished = made.with_suffix(".unfinished")
    unfinished.unlink(missing_ok=True)
    env = {**os.environ, "DATABASE_URL": f"sqlite:///{unfinished}", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "watchbook", "migrate", "--verbosity", "0"]
    subprocess.run(command, env=env, check=True, stdin=subprocess.DEVNULL)  # noqa: S603 - our own command
    with closing(sqlite3.connect(unfinished)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    unfinished.rename(made)
