"""What must hold before a move writes its first row. Each refusal says what to do."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from django.db import DatabaseError, models
from django.db.migrations.recorder import MigrationRecorder

from watchbook.core import registry
from watchbook.core.jobs import queue
from watchbook.core.ops import upgrade
from watchbook.core.ops.backup.restoring import HOUSEKEEPING
from watchbook.core.ops.move import databases, progress
from watchbook.core.ops.move.databases import CannotMove
from watchbook.core.ops.move.rows import LEFT_OUT, Model, moved_models
from watchbook.kit.formatting import size_text

COLLATION = "utf8mb4_nopad_bin"
SPARE_BYTES = 64 * 2**20
MOST_NAMED = 5


def refuse_running() -> None:
    """On the database that is the default one now. Processes on other machines do not hold this folder's lock."""
    try:
        busy = queue.count_alive("worker") + queue.count_alive("beat")
    except DatabaseError:
        return  # no such table: nothing works here
    if busy:
        raise CannotMove("Processes work on one of the databases. Stop them, wait half a minute, and try again.")


def refuse_old_schema() -> None:
    """Before the target is the default database."""
    if newer := upgrade.unknown_migrations():
        raise CannotMove(f"The source was made by a newer version ({newer[0]}). Install that version.")
    if waiting := upgrade.pending_migrations():
        raise CannotMove(f"The source lacks {len(waiting)} migrations. Run `watchbook migrate` first.")


def refuse_foreign_target(source_identity: str) -> bool:
    """Whether the target holds an unfinished move of this source; raises if it holds anything else."""
    connection = databases.target()
    tables = set(connection.introspection.table_names())
    if progress.TABLE in tables:
        if progress.get("source") != source_identity:
            raise CannotMove("The target holds an unfinished move from another database. Empty it first.")
        return True
    seeded = {table for source in registry.sources() for table in source.seeded_tables}
    for table in sorted(tables - HOUSEKEEPING - seeded - LEFT_OUT):
        if not table.startswith("search_words"):
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT 1 FROM {connection.ops.quote_name(table)} LIMIT 1")  # noqa: S608 - catalogue
                if cursor.fetchone():
                    raise CannotMove(f"The target is not empty: {table} has rows. Give an empty database.")
    return False


def refuse_other_collation() -> None:
    """Another one would take two of our keys for the same."""
    connection = databases.target()
    if connection.vendor != "mysql":
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@collation_database")
        [found] = cursor.fetchone()
    if found != COLLATION:
        raise CannotMove(f"The target has the collation {found}. Create it with COLLATE {COLLATION}.")


def refuse_small_disk() -> None:
    """Where the target is a file. How much room a database server has it does not say."""
    connection = databases.target()
    if connection.vendor != "sqlite":
        return
    folder = Path(str(connection.settings_dict["NAME"])).parent
    needed = 2 * databases.size_bytes(databases.source()) + SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise CannotMove(f"{folder} has {size_text(free)} free. The move needs about {size_text(needed)}.")


def refuse_other_schema() -> None:
    """After the target was migrated."""
    found = [set(MigrationRecorder(each).applied_migrations()) for each in (databases.source(), databases.target())]
    if differing := found[0] ^ found[1]:
        app, name = min(differing)
        raise CannotMove(f"The schemas differ: only one of them has the migration {app}.{name}.")


def refuse_unfit_values() -> None:
    """Name columns with values that the target does not take. SQLite checks no length and no range."""
    found = [problem for model in moved_models() for problem in _unfit(model)]
    if found:
        more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
        raise CannotMove(f"Values do not fit into the target: {'; '.join(found[:MOST_NAMED])}{more}.")


def _unfit(model: Model) -> list[str]:
    found = []
    for field in model._meta.concrete_fields:
        words, condition = _condition(field)
        if condition and (count := _count(model, condition)):
            found.append(f"{model._meta.db_table}.{field.column} has {count} values {words}")
    return found


def _condition(field: models.Field[Any, Any]) -> tuple[str, str]:
    """Why a value would not fit, and the SQL that finds such values in the source; empty: every value fits."""
    source, target = databases.source(), databases.target()
    column = source.ops.quote_name(field.column)
    is_loose = source.vendor == "sqlite"
    if isinstance(field, models.IntegerField) and not isinstance(field, models.AutoField) and is_loose:
        low, high = target.ops.integer_field_range(field.get_internal_type())
        bounds = [f"{column} < {low}"] * (low is not None) + [f"{column} > {high}"] * (high is not None)
        return "out of range", " OR ".join(bounds)
    tests = []
    if isinstance(field, models.CharField) and field.max_length and is_loose:
        tests.append(f"LENGTH({column}) > {field.max_length}")
    if target.vendor == "postgresql" and source.vendor != "postgresql":
        if isinstance(field, models.CharField | models.TextField):
            zero = f"instr({column}, char(0))" if is_loose else f"LOCATE(CHAR(0), {column})"
            tests.append(f"{zero} > 0")
        if isinstance(field, models.JSONField):
            tests.append(f"{column} LIKE '%%\\u0000%%'" if is_loose else f"LOCATE('\\\\u0000', {column}) > 0")
    return "that are too long or contain NUL", " OR ".join(tests)


def _count(model: Model, condition: str) -> int:
    connection = databases.source()
    table = connection.ops.quote_name(model._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM {table} WHERE {condition}", [])  # noqa: S608 - names of our models
        return int(cursor.fetchone()[0])
