"""The first SQLite database of an installation, from a file of the package instead of all migrations.

The migrations take more than ten seconds of processor time; a copy of their result takes none. Packages and images
contain that file: `python -m watchbook.core.ops.first_database` writes it. It holds no row but those that migrations
write. A file that is older than the program is upgraded as any database would be; without the file all migrations run.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

import zstandard

FILE = Path(__file__).parent / "data" / "first.sqlite3.zst"
# Set where all migrations shall run: here, and where tests make their databases.
SWITCHED_OFF = "WITHOUT_FIRST_DATABASE"
LARGEST = 64 * 1024 * 1024


def use(wanted: Collection[tuple[str, str]] | None = None) -> bool:
    """Copy the file into the database if that has no tables. Return whether it did.

    `wanted` are the migrations that the database shall have; a file with others is not used. None: all of this program.
    """
    from django.db import connection
    from django.db.migrations.loader import MigrationLoader

    if connection.vendor != "sqlite" or not FILE.is_file() or SWITCHED_OFF in os.environ:
        return False
    if connection.introspection.table_names():
        return False
    with tempfile.TemporaryDirectory(prefix="watchbook-first-") as folder:
        plain = Path(folder) / "first.sqlite3"
        plain.write_bytes(zstandard.ZstdDecompressor().decompress(FILE.read_bytes(), max_output_size=LARGEST))
        with closing(sqlite3.connect(plain)) as source:
            made = set(source.execute("SELECT app, name FROM django_migrations"))
            if made - set(MigrationLoader(None).disk_migrations or {} if wanted is None else wanted):
                return False  # of another version of the program
            connection.ensure_connection()
            source.backup(connection.connection)
    connection.close()
    return True


def write(target: Path = FILE) -> None:
    """Run all migrations in a new data folder and keep the result."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="watchbook-first-") as folder:
        env = {
            **os.environ, "WATCHBOOK_HOME": folder, "WATCHBOOK_ENV_FILE": f"{folder}/none.env", "DATABASE_URL": "",
            SWITCHED_OFF: "1",
        }  # fmt: skip
        command = [sys.executable, "-m", "watchbook", "migrate", "--verbosity", "0"]
        subprocess.run(command, env=env, check=True, stdin=subprocess.DEVNULL)  # noqa: S603 - our own command
        file = Path(folder) / "watchbook.sqlite3"
        with closing(sqlite3.connect(file, isolation_level=None)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            database.execute("PRAGMA journal_mode=DELETE")
            database.execute("VACUUM")
        draft = target.with_suffix(f".{os.getpid()}")
        draft.write_bytes(zstandard.ZstdCompressor(level=19).compress(file.read_bytes()))
        draft.replace(target)


if __name__ == "__main__":
    write()
