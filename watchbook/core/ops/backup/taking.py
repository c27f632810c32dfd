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
from watchbook.base.crash import crash_point
from watchbook.core.ops.backup import rows, sqlite
from watchbook.core.ops.backup.archive import Beat, Reader, Writer
from watchbook.core.ops.backup.errors import CannotTake
from watchbook.core.ops.backup.manifest import Manifest, is_allowed

# Of no use elsewhere, and a session key opens an account.
FORGOTTEN = ("django_session", "cache_entries", "job_workers")
Tell = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Taken:
    path: Path
    size: int
    sha256: str
    manifest: Manifest


def take(path: Path, *, with_keys: bool = False, tell: Tell = lambda figures: None) -> Taken:
    """Write a whole backup to this path, which must not exist yet."""
    if path.exists():
        raise CannotTake(f"{path} exists. Give another path, or remove it first.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _work_folder(path.parent) as work:
            return _take(path, work, with_keys, tell)
    except OSError as error:
        raise CannotTake(f"The backup could not be written: {error.strerror or error}.") from None


def _take(path: Path, work: Path, with_keys: bool, tell: Tell) -> Taken:
    database = _sqlite_file()
    _refuse_small_disk(path.parent, database)
    blobs = work / "blobs"
    blobs.mkdir()
    # Before the snapshot, so that a blob the snapshot names cannot vanish while it is copied; after it for the rest.
    _link_blobs(blobs)
    tell({"step": "database"})
    facts = _dump(work, database, lambda: tell({}))
    crash_point("backup.dumped")
    _link_blobs(blobs)
    draft = work / "draft.tar"
    tell({"step": "files"})
    manifest = _write(draft, work, facts, with_keys, lambda: tell({}))
    crash_point("backup.written")
    tell({"step": "check"})
    _verify(draft, work, lambda: tell({}))
    digest = _digest(draft, lambda: tell({}))
    os.link(draft, path)  # fails when somebody made the file meanwhile, instead of replacing it
    _sync(path.parent)
    crash_point("backup.named")
    return Taken(path, path.stat().st_size, digest, manifest)


def _dump(work: Path, database: Path | None, beat: Beat) -> dict[str, Any]:
    if database is None:
        return rows.dump(work, FORGOTTEN, beat)
    _packed, tables = sqlite.dump(database, work, FORGOTTEN, beat)
    return {"tables": tables}


def _write(draft: Path, work: Path, facts: dict[str, Any], with_keys: bool, beat: Beat) -> Manifest:
    applied = MigrationRecorder(connection).applied_migrations()
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
    if free < 2 * size + 16 * 1024 * 1024:
        raise CannotTake(
            f"{folder} has {free / 1e9:.1f} GB left; the backup needs about {2 * size / 1e9:.1f} GB to be made."
        )


def _sqlite_file() -> Path | None:
    return Path(connection.settings_dict["NAME"]) if connection.vendor == "sqlite" else None


def key_print(master: str) -> str:
    """Tells one key from another and gives nothing away: the keys are random and long."""
    return hashlib.sha256(b"watchbook key print\0" + master.encode()).hexdigest()[:16]


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
