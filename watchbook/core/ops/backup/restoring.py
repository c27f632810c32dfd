"""Restores a backup, and counts the secrets that cannot be decrypted with the keys of this server."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection, connections, models
from django.db.migrations.executor import MigrationExecutor

from watchbook.base import clock
from watchbook.base.store import folder
from watchbook.base.work import crash_point
from watchbook.core.jobs import queue
from watchbook.core.ops import first_database
from watchbook.core.ops.backup import needed_blobs, portable, rows, sqlite
from watchbook.core.ops.backup.archive import Beat, CannotRestore, Manifest, Reader
from watchbook.core.ops.backup.taking import LEFT_OUT, Report, check_database
from watchbook.core.ops.keys import key_print
from watchbook.core.search import index

# Names of columns with encrypted values; reading every text column would read the whole archive.
_NAMES = re.compile(r"secret|sealed|encrypt|cookie|password|token|key", re.IGNORECASE)
_ENCRYPTED = re.compile(r"v2:([A-Za-z0-9_.-]{1,60}):[A-Za-z0-9+/=]{20,}\Z")


def locked_values(good_keys: set[str]) -> dict[str, int]:
    """table.column -> number of values that are encrypted with a key whose id is not among the good ones."""
    found: dict[str, int] = {}
    for model, column in _columns():
        encrypted = model._base_manager.filter(**{f"{column}__startswith": "v2:"}).values_list(column, flat=True)
        shapes = (_ENCRYPTED.match(value) for value in encrypted.iterator(chunk_size=1000) if isinstance(value, str))
        count = sum(1 for shape in shapes if shape and shape.group(1) not in good_keys)
        if count:
            found[f"{model._meta.db_table}.{column}"] = count
    return found


def _columns() -> Iterator[tuple[type[models.Model], str]]:
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.concrete_fields:
            if isinstance(field, models.CharField | models.TextField) and _NAMES.search(field.name):
                yield model, field.name


def good_keys(prints: Mapping[str, str], here: Mapping[str, str]) -> set[str]:
    """Ids of keys that are the same here as where the backup was made. Both map ids to prints."""
    return {key_id for key_id, shown in here.items() if prints.get(key_id) == shown}


VENDORS = ("sqlite", "postgresql", "mysql")
# Rows of these do not mean that there is data of users.
HOUSEKEEPING = {
    "django_migrations", "django_content_type", "auth_permission", "django_session", "cache_entries", "job_runs",
    "job_schedules", "job_workers", "process_keys",
}  # fmt: skip


@dataclass(frozen=True)
class Restored:
    manifest: Manifest
    # table.column -> how many values cannot be opened with the keys that are here
    locked: dict[str, int]
    # where the database that was here before is kept; None when there was none or it is on a server
    kept: Path | None


def restore(
    path: Path, *, force: bool = False, allow_incomplete: bool = False, report: Report = lambda figures: None
) -> Restored:
    """Check the whole backup first, then replace the database, the blobs and, when they are inside, the keys."""
    if not path.is_file():
        raise CannotRestore(f"{path} is not there.")
    try:
        with folder.alone_here(), _opened(path) as reader:
            return _restore(reader, force, allow_incomplete, report)
    except folder.Held:
        raise CannotRestore("Watchbook is running on this data folder. Stop it first.") from None


@contextmanager
def _opened(path: Path) -> Iterator[Reader]:
    reader = Reader(path)
    try:
        yield reader
    finally:
        reader.close()


def _restore(reader: Reader, force: bool, allow_incomplete: bool, report: Report) -> Restored:
    def beat() -> None:
        report({})

    manifest = reader.manifest
    report({"step": "check"})
    reader.check(beat)
    needed_blobs.refuse_incomplete(manifest, allowed=allow_incomplete)
    _refuse_unfit(manifest)
    if not force and not is_empty():
        raise CannotRestore("There is data in this database. --force replaces all of it.")
    _refuse_company()
    home = Path(settings.HOME)
    with tempfile.TemporaryDirectory(prefix=".restore-", dir=home) as work:
        check_database(reader, Path(work), beat)
    report({"step": "blobs"})
    _put_files(reader, "blobs/", home, beat)
    crash_point("restore.blobs")
    report({"step": "database"})
    kept = None
    is_other_kind = manifest.vendor != connection.vendor
    if is_other_kind:
        kept = _put_converted(reader, beat)
    elif manifest.vendor == "sqlite":
        kept = _put_sqlite(reader, beat)
    else:
        _put_rows(reader, beat)
    crash_point("restore.database")
    prints = {key_id: key_print(master) for key_id, master in settings.SECRETS_KEYS.items()}
    if manifest.with_keys:
        _put_files(reader, "keys/", home, beat)
        prints = manifest.key_prints
    call_command("migrate", interactive=False, verbosity=0)
    needed_blobs.note_places(manifest)
    if is_other_kind:
        report({"step": "search"})
        index.rebuild(lambda done: report({"documents": done}))
    return Restored(manifest, locked_values(good_keys(manifest.key_prints, prints)), kept)


def _refuse_unfit(manifest: Manifest) -> None:
    if manifest.vendor not in VENDORS:
        raise CannotRestore(f"This backup was made on {manifest.vendor[:40]!r}, which this version does not know.")
    known = MigrationExecutor(connection).loader.disk_migrations or {}
    labels = {label for label, _ in known}
    newer = [f"{label}.{name}" for label, name in manifest.migrations if label in labels and (label, name) not in known]
    if newer:
        raise CannotRestore(f"This backup was made by a newer version ({manifest.program}): it has {newer[0]}.")


def is_empty() -> bool:
    """Return whether no rows exist but built-in ones. Other tables count, too: a restore would remove them."""
    names = set(connection.introspection.django_table_names(only_existing=True, include_views=False))
    if connection.vendor != "sqlite":
        with rows.own_connection() as own:
            names |= set(rows.table_names(own))
    with connection.cursor() as cursor:
        for name in sorted(names - HOUSEKEEPING):
            cursor.execute(f"SELECT 1 FROM {connection.ops.quote_name(name)} LIMIT 1")  # noqa: S608 - names from the catalogue
            if cursor.fetchone():
                return False
    return True


def _refuse_company() -> None:
    """Processes on other machines do not hold this folder's lock, but they say that they live."""
    try:
        busy = queue.count_alive("worker") + queue.count_alive("beat")
    except DatabaseError:
        return  # no such table yet: nothing runs
    if busy:
        raise CannotRestore("Processes are working on this database. Stop them, wait half a minute, and try again.")


def _put_sqlite(reader: Reader, beat: Beat) -> Path | None:
    with _replaced_file() as (fresh, kept):
        sqlite.unpack(reader, fresh, beat)
        sqlite.check(fresh, reader.manifest.tables)
    return kept


@contextmanager
def _replaced_file() -> Iterator[tuple[Path, Path | None]]:
    """A new SQLite file, and where the old one is kept. The new one takes its place at the end of the block."""
    target = Path(connection.settings_dict["NAME"])
    fresh = target.with_name(f".{target.name}.restored-{os.getpid()}")
    fresh.unlink(missing_ok=True)
    kept = target.with_name(f"{target.name}.before-{clock.now():%Y%m%d-%H%M%S}") if target.exists() else None
    yield fresh, kept
    connections.close_all()
    sqlite.put_in_place(fresh, target, kept)


def _put_converted(reader: Reader, beat: Beat) -> Path | None:
    """Rows of another kind of database."""
    if connection.vendor != "sqlite":
        connections.close_all()
        with rows.own_connection() as own:
            rows.drop_all(own)
        portable.load(reader, _old_schema(reader.manifest), beat)
        return None
    with _replaced_file() as (fresh, kept):
        target = connection.settings_dict["NAME"]
        connections.close_all()
        connection.settings_dict["NAME"] = str(fresh)
        try:
            portable.load(reader, _old_schema(reader.manifest), beat)
        finally:
            connections.close_all()
            connection.settings_dict["NAME"] = target
    return kept


def _old_schema(manifest: Manifest) -> list[type[models.Model]]:
    """Create the tables as they were when the backup was made. Return their models, without those that stay empty."""
    first_database.use({(label, name) for label, name in manifest.migrations})
    executor = MigrationExecutor(connection)
    state = executor.migrate(_leaves(manifest, executor))
    found = state.apps.get_models(include_auto_created=True)
    plain = {model._meta.db_table: model for model in found if model._meta.managed and not model._meta.proxy}
    return [plain[name] for name in sorted(plain) if name not in LEFT_OUT]


def _put_rows(reader: Reader, beat: Beat) -> None:
    """The schema as it was when the backup was made, then its rows."""
    connections.close_all()
    with rows.own_connection() as own:
        rows.drop_all(own)
    _old_schema(reader.manifest)
    rows.load(reader, beat)


def _leaves(manifest: Manifest, executor: MigrationExecutor) -> list[tuple[str, str]]:
    """The last applied migration of each app: naming an earlier one would mean going back to it."""
    known = executor.loader.disk_migrations or {}
    applied = {(label, name) for label, name in manifest.migrations} & set(known)
    parents = {parent for key in applied for parent in known[key].dependencies if parent[0] == key[0]}
    return sorted(applied - parents)


def _put_files(reader: Reader, prefix: str, home: Path, beat: Beat) -> None:
    """Files of the data folder, each whole or not at all. One that differs is moved aside, not overwritten."""
    for name in (name for name in reader.manifest.members if name.startswith(prefix)):
        target = home / name
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        reader.save(name, draft, beat)
        draft.chmod(0o600)
        if target.exists() and target.read_bytes() != draft.read_bytes():
            target.rename(target.with_name(f"{target.name}.before-{clock.now():%Y%m%d-%H%M%S}"))
        draft.rename(target)
