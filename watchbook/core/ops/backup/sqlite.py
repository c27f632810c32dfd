"""SQLite: copied page by page inside one read transaction, so that writers continue and the copy is of one moment."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from watchbook.core.ops.backup import needed_blobs
from watchbook.core.ops.backup.archive import CHUNK, Beat, Damaged, Reader, packing

MEMBER = "database.sqlite3.zst"
PAGES = 5000


def dump(source: Path, work: Path, left_out: tuple[str, ...], beat: Beat) -> dict[str, Any]:
    """A packed copy in the work folder; gives how many rows each table has, and the blobs that rows refer to."""
    copy = work / "copy.sqlite3"
    _copy(source, copy, beat)
    with _opened(copy) as database:
        # Zeros in the place of what is removed: pages of a file keep deleted text otherwise.
        database.execute("PRAGMA secure_delete=ON")
        for table in left_out:
            if database.execute("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?", (table,)).fetchone():
                database.execute(f'DELETE FROM "{table}"')  # noqa: S608 - our own list
        rows = count_rows(database)
        blob_rows = database.execute(needed_blobs.STATEMENT).fetchall()
        # A write-ahead log beside the file would not travel with it.
        database.execute("PRAGMA journal_mode=DELETE")
    with copy.open("rb") as plain, packing(work / MEMBER) as out:
        while chunk := plain.read(CHUNK):
            out.write(chunk)
            beat()
    copy.unlink()
    return {"tables": rows, "blob_rows": blob_rows}


def _copy(source: Path, target: Path, beat: Beat) -> None:
    with closing(sqlite3.connect(source, isolation_level=None, timeout=20)) as old, _opened(target) as new:
        # While this transaction is open the copy sees one state; without it every write would restart it.
        old.execute("BEGIN")
        old.execute("SELECT COUNT(*) FROM sqlite_master")
        old.backup(new, pages=PAGES, progress=lambda *_: beat(), sleep=0.0)
        old.execute("ROLLBACK")


def check(database: Path, rows: dict[str, int]) -> None:
    """The file is sound and holds as many rows as were counted when it was made."""
    try:
        with _opened(database) as opened:
            verdict = opened.execute("PRAGMA integrity_check").fetchone()[0]
            counted = count_rows(opened)
    except sqlite3.DatabaseError as error:
        raise Damaged(f"The database in the backup cannot be opened ({error}).") from None
    if verdict != "ok":
        raise Damaged(f"The database in the backup is damaged: {verdict}.")
    if counted != rows:
        wrong = sorted(set(counted.items()) ^ set(rows.items()))[0][0]
        raise Damaged(f"The table {wrong} in the backup has another number of rows than it should.")


def unpack(reader: Reader, target: Path, beat: Beat) -> None:
    with reader.unpacked(MEMBER) as plain, target.open("xb") as out:
        os.chmod(target, 0o600)
        while chunk := plain.read(CHUNK):
            out.write(chunk)
            beat()
        out.flush()
        os.fsync(out.fileno())


def count_rows(database: sqlite3.Connection) -> dict[str, int]:
    """Plain tables only: a virtual one keeps its rows in plain tables beside it."""
    kind = "type='table' AND name NOT LIKE 'sqlite%' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    plain = f"SELECT name FROM sqlite_master WHERE {kind}"  # noqa: S608 - no outside text
    names = [name for (name,) in database.execute(plain)]
    return {name: database.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone()[0] for name in names}  # noqa: S608


def put_in_place(fresh: Path, target: Path, kept_as: Path | None) -> None:
    """The new file takes the place of the old one; the old one is moved aside with its log."""
    for suffix in ("-wal", "-shm"):
        Path(f"{target}{suffix}").unlink(missing_ok=True)
    if kept_as is not None and target.exists():
        target.rename(kept_as)
    fresh.rename(target)


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        yield database
