"""The schema brought up to date by whoever starts first."""

from __future__ import annotations

from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from watchbook.base.terminal import Failure
from watchbook.core.ops import locks


def waiting() -> list[str]:
    """Migrations that are not applied, as app.name."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return [f"{migration.app_label}.{migration.name}" for migration, _ in plan]


def unknown() -> list[str]:
    """Migrations in the database that this version of the program does not have: it is too old for the database."""
    executor = MigrationExecutor(connection)
    known = executor.loader.disk_migrations or {}
    labels = {label for label, _ in known}
    applied = executor.loader.applied_migrations
    return sorted(f"{label}.{name}" for label, name in applied if label in labels and (label, name) not in known)


def migrate_if_needed() -> int:
    """Apply what waits; gives how many. Two processes at once: one does it, the other then finds nothing.

    Looking waits for the lock too: whoever opens a new SQLite file while another turns it to WAL is told "locked" at
    once, without the usual patience.
    """
    with locks.one_migrates():
        _refuse_newer()
        names = waiting()
        if names:
            call_command("migrate", interactive=False, verbosity=0)
    return len(names)


def must_be_done() -> None:
    """For processes that leave the schema to others."""
    _refuse_newer()
    if waiting():
        raise Failure("The database is not up to date. Run: watchbook migrate")


def _refuse_newer() -> None:
    newer = unknown()
    if newer:
        raise Failure(
            f"The database was made by a newer version ({newer[0]}). Install that version, or restore a backup."
        )
