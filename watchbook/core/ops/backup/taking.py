"""Making a backup: database, then blobs, then the manifest; read back and checked before it gets its name."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from watchbook import __version__
from watchbook.base import clock
from watchbook.base.work import crash_point
from watchbook.core import registry
from watchbook.core.accounts.models import User
from watchbook.core.ops.backup import needed_blobs, rows, sqlite
from watchbook.core.ops.backup.archive import Beat, CannotTake, Manifest, Reader, Writer, is_allowed
from watchbook.core.ops.keys import key_print
from watchbook.kit.formatting import size_text

# Of no use elsewhere, and a session key opens an account.
LEFT_OUT = ("django_session", "cache_entries", "job_workers", "process_keys")
# Tables that have rows as soon as the schema exists.
MADE_BY_MIGRATIONS = {
    "auth_permission",
    "django_content_type",
    "django_migrations",
    "job_schedules",
    "sqlite_sequence",
    *LEFT_OUT,
}
Report = Callable[[dict[str, Any]], None]


SPARE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Taken:
    path: Path
    size: int
    sha256: str
    manifest: Manifest


def take(path: Path, *, with_keys: bool = False, report: Report = lambda figures: None) -> Taken:
    """Write a whole backup to this path, which must not exist yet."""
    if path.exists():
        raise CannotTake(f"{path} exists. Give another path, or remove it first.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _refuse_wrong_database()
        with _work_folder(path.parent) as work:
            return _take(path, work, with_keys, report)
    except OSError as error:
        raise CannotTake(f"The backup could not be written: {error.strerror or error}.") from None


def _take(path: Path, work: Path, with_keys: bool, report: Report) -> Taken:
    database = _sqlite_file()
    _refuse_small_disk(path.parent, database)
    blobs = work / "blobs"
    blobs.mkdir()
    # Before the snapshot, so that a blob the snapshot names cannot vanish while it is copied; after it for the rest.
    _link_blobs(blobs)
    report({"step": "database"})
    facts = _dump(work, database, lambda: report({}))
    _refuse_empty(facts["tables"])
    crash_point("backup.dumped")
    _link_blobs(blobs)
    needed_blobs.collect(needed_blobs.outside(facts["blob_rows"]), blobs, lambda: report({}))
    draft = work / "draft.tar"
    report({"step": "files"})
    manifest = _write(draft, work, facts, with_keys, lambda: report({}))
    crash_point("backup.written")
    report({"step": "check"})
    _verify(draft, work, lambda: report({}))
    digest = _digest(draft, lambda: report({}))
    os.link(draft, path)  # fails if the file exists by now, instead of replacing it
    _sync(path.parent)
    crash_point("backup.named")
    return Taken(path, path.stat().st_size, digest, manifest)


def _refuse_wrong_database() -> None:
    """A database without our tables is most likely not the one that the operator means."""
    file = _sqlite_file()
    if file is not None and (not file.exists() or file.stat().st_size == 0):
        raise CannotTake(f"There is no database at {file}. Check WATCHBOOK_HOME and DATABASE_URL.")
    names = set(connection.introspection.table_names())
    if not {User._meta.db_table, "django_migrations"} <= names:
        raise CannotTake(
            f"The database {connection.settings_dict['NAME']} has no Watchbook tables. Check DATABASE_URL."
        )


def _refuse_empty(tables: dict[str, int]) -> None:
    """Refuse a schema that was just made: its backup would push a good one out of the folder."""
    if not sum(rows for name, rows in tables.items() if not made_by_program(name)):
        raise CannotTake("The database has no data: no account and no row. Check WATCHBOOK_HOME and DATABASE_URL.")


def made_by_program(table: str) -> bool:
    """Return whether a table has rows as soon as the schema exists, which are no data of users."""
    # The tables of SQLite's word index have rows of their own from the start.
    if table.startswith("search_words") or table in MADE_BY_MIGRATIONS:
        return True
    return any(table in source.seeded_tables for source in registry.sources())


def _dump(work: Path, database: Path | None, beat: Beat) -> dict[str, Any]:
    if database is None:
        return rows.dump(work, LEFT_OUT, beat)
    return sqlite.dump(database, work, LEFT_OUT, beat)


def _write(draft: Path, work: Path, facts: dict[str, Any], with_keys: bool, beat: Beat) -> Manifest:
    applied = MigrationRecorder(connection).applied_migrations()
    blob_rows = facts.pop("blob_rows")
    sizes = needed_blobs.outside(blob_rows)
    handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        writer = Writer(file, beat)
        for name, source in _members(work, with_keys):
            writer.add(name, source)
        manifest = Manifest(
            program=__version__,
            made_at=clock.now().isoformat(timespec="seconds"),
            vendor=connection.vendor,
            with_keys=with_keys,
            migrations=sorted([app, name] for app, name in applied),
            key_prints={key_id: key_print(master) for key_id, master in settings.SECRETS_KEYS.items()},
            members=writer.members,
            blob_sizes=sizes,
            missing_blobs=sorted(needed_blobs.missing(sizes, writer.members) + needed_blobs.incomplete(blob_rows)),
            **facts,
        )
        writer.finish(manifest)
        file.flush()
        os.fsync(file.fileno())
    return manifest


def _members(work: Path, with_keys: bool) -> Iterator[tuple[str, Path]]:
    for packed in (*sorted(work.glob("*.zst")), *sorted((work / "tables").glob("*.zst"))):
        yield packed.relative_to(work).as_posix(), packed
    for blob in sorted(path for path in (work / "blobs").rglob("*") if path.is_file()):
        yield blob.relative_to(work).as_posix(), blob
    if with_keys:
        for key in sorted((Path(settings.HOME) / "keys").iterdir()):
            if key.is_file() and is_allowed(f"keys/{key.name}"):
                yield f"keys/{key.name}", key


def _verify(draft: Path, work: Path, beat: Beat) -> None:
    """Open it as a restore would: every digest, the database sound, every row there."""
    for packed in (*work.glob("*.zst"), *(work / "tables").glob("*.zst")):
        packed.unlink()
    reader = Reader(draft)
    try:
        reader.check(beat)
        needed_blobs.refuse_incomplete(reader.manifest, allowed=True)
        check_database(reader, work, beat)
    finally:
        reader.close()


def check_database(reader: Reader, work: Path, beat: Beat) -> None:
    if reader.manifest.vendor != "sqlite":
        rows.check(reader, beat)
        return
    copy = work / "check.sqlite3"
    sqlite.unpack(reader, copy, beat)
    sqlite.check(copy, reader.manifest.tables)
    copy.unlink()


def _link_blobs(target: Path) -> None:
    """Second names for all blobs: no copying, and a blob removed from its place stays readable here."""
    source = Path(settings.HOME) / "blobs"
    for folder, _folders, files in os.walk(source):
        inside = target / Path(folder).relative_to(source)
        for name in files:
            if is_allowed((Path("blobs") / Path(folder).relative_to(source) / name).as_posix()):
                inside.mkdir(parents=True, exist_ok=True)
                with suppress(FileExistsError, FileNotFoundError):
                    _link(Path(folder) / name, inside / name)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        if not source.exists():
            raise FileNotFoundError(source) from None
        shutil.copyfile(source, target)  # another disk, or one that knows no links


@contextmanager
def _work_folder(parent: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=".backup-", dir=parent) as folder:
        yield Path(folder)


def _refuse_small_disk(folder: Path, database: Path | None) -> None:
    size = database.stat().st_size if database and database.exists() else 0
    free = shutil.disk_usage(folder).free
    if free < 2 * size + SPARE_BYTES:
        raise CannotTake(
            f"{folder} has {size_text(free)} free. The backup needs about {size_text(2 * size + SPARE_BYTES)}."
        )


def _sqlite_file() -> Path | None:
    return Path(connection.settings_dict["NAME"]) if connection.vendor == "sqlite" else None


def _digest(path: Path, beat: Beat) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1024 * 1024):
            digest.update(chunk)
            beat()
    return digest.hexdigest()


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
