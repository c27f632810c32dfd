"""Upgrades of the schema: one process at a time, and a verified backup first. Without the backup nothing is changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from watchbook.base.store import folder
from watchbook.base.terminal import Failure
from watchbook.core.ops import first_database, options

if TYPE_CHECKING:
    from watchbook.core.ops.backup.taking import Taken


@dataclass
class Upgrade:
    """Migrations that were pending, and the backup that was made before them."""

    pending: list[str]
    backup: Taken | None = None


def pending_migrations() -> list[str]:
    """Migrations that are not applied, as app.name."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def unknown_migrations() -> list[str]:
    """Migrations in the database that this version of the program does not have: it is too old for the database."""
    executor = MigrationExecutor(connection)
    known = executor.loader.disk_migrations or {}
    labels = {label for label, _ in known}
    applied = executor.loader.applied_migrations
    return sorted(f"{label}.{name}" for label, name in applied if label in labels and (label, name) not in known)


def migrate_if_needed() -> Upgrade:
    """Apply pending migrations. Of two processes, one applies them."""
    with upgrading() as upgrade:
        if upgrade.pending:
            call_command("migrate", interactive=False, verbosity=0)
    return upgrade


@contextmanager
def upgrading(*, is_forced: bool = False) -> Iterator[Upgrade]:
    """Hold the lock, refuse a newer schema, make the backup; then the caller migrates. Forced: also if none is pending.

    Reading also waits for the lock: opening a new SQLite file while another process turns it to WAL fails immediately.
    """
    try:
        with folder.one_migrates():
            first_database.use()
            refuse_newer()
            drop_half_made()
            upgrade = Upgrade(pending_migrations())
            if (upgrade.pending or is_forced) and _is_wanted() and _has_data():
                upgrade.backup = _back_up()
            yield upgrade
            if upgrade.backup:
                _record(upgrade.backup)
    except folder.Held:
        raise Failure(
            "Another process has been migrating the database for 10 minutes. Check that process first."
        ) from None


def require_migrated() -> None:
    """For processes that do not change the schema."""
    refuse_newer()
    if pending_migrations():
        raise Failure("The database is not up to date. Run: watchbook migrate")


def refuse_newer() -> None:
    newer = unknown_migrations()
    if newer:
        raise Failure(
            f"The database was made by a newer version ({newer[0]}). Install that version, or restore a backup."
        )


def drop_half_made(*, ignored: Collection[str] = ()) -> None:
    """Where a killed migration leaves half of its tables (MariaDB), drop them if they have no data: it begins again.

    Only if no other program has recorded migrations here. The record itself goes last: a kill in between does no harm.
    """
    if connection.features.can_rollback_ddl or not pending_migrations() or _has_data(ignored):
        return
    executor = MigrationExecutor(connection)
    tables = set(connection.introspection.table_names())
    is_ours = {label for label, _ in executor.loader.applied_migrations} <= executor.loader.migrated_apps
    if MigrationRecorder.Migration._meta.db_table not in tables or not is_ours:
        return
    order = sorted(tables, key=lambda table: table == MigrationRecorder.Migration._meta.db_table)
    with connection.constraint_checks_disabled(), connection.cursor() as cursor:
        for table in order:
            cursor.execute(f"DROP TABLE {connection.ops.quote_name(table)}")


def _is_wanted() -> bool:
    wanted = options.UPGRADE_BACKUP.value
    return wanted == "always" or (wanted == "sqlite" and connection.vendor == "sqlite")


def _has_data(ignored: Collection[str] = ()) -> bool:
    """Return whether a table has rows that no migration made. A new or half-made schema needs no backup."""
    from watchbook.core.ops.backup.taking import made_by_program  # needs the models

    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if made_by_program(table) or table in ignored:
                continue
            cursor.execute(f"SELECT 1 FROM {connection.ops.quote_name(table)} LIMIT 1")  # noqa: S608 - catalogue
            if cursor.fetchone():
                return True
    return False


def _back_up() -> Taken:
    from watchbook.core.ops import backup  # needs the models
    from watchbook.core.ops.backup.archive import BackupError
    from watchbook.core.ops.backup.taking import take

    click.echo("watchbook: creating a backup before the upgrade …", err=True)
    try:
        taken = take(backup.new_path())
    except (BackupError, DatabaseError, sqlite3.Error) as error:
        raise Failure(
            f"The backup before the upgrade failed: {error} The database was not changed. Correct this, or upgrade"
            " without a backup: WATCHBOOK_UPGRADE_BACKUP=off.",
            "backup_failed",
        ) from None
    click.echo(f"watchbook: {taken.path}: {taken.manifest.rows:,} rows, verified.", err=True)
    return taken


def _record(taken: Taken) -> None:
    from watchbook.core.accounts import audit  # needs the tables as they are after the upgrade

    audit.record("backup.made", subject=taken.path.name, by="upgrade")
