"""Foreign keys, which are not checked while rows arrive in the order of their tables, and the next numbers of keys."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from watchbook.core.ops.move import databases, progress
from watchbook.core.ops.move.databases import CannotMove
from watchbook.core.ops.move.rows import Model, moved_models

FOREIGN_KEYS = (
    "SELECT conrelid::regclass::text, quote_ident(conname), pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE contype = 'f' AND connamespace = current_schema()::regnamespace ORDER BY 1, 2"
)


def release_foreign_keys() -> None:
    """Let rows arrive before the rows that they refer to.

    PostgreSQL checks at every commit, so its foreign keys are dropped and written down; the others can be set not to
    check on this connection.
    """
    connection = databases.target()
    if connection.vendor != "postgresql":
        connection.disable_constraint_checking()
        return
    if progress.get("foreign_keys") is not None:
        return
    with transaction.atomic():
        found = [list(row) for row in _ask(connection, FOREIGN_KEYS)]
        progress.put("foreign_keys", found)
        for table, name, _definition in found:
            _run(connection, f"ALTER TABLE {table} DROP CONSTRAINT {name}")


def restore_foreign_keys() -> None:
    """Check every reference of every row."""
    connection = databases.target()
    try:
        if connection.vendor != "postgresql":
            connection.enable_constraint_checking()
            connection.check_constraints()
            return
        with transaction.atomic():
            for table, name, definition in progress.get("foreign_keys") or []:
                _run(connection, f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition}")
            progress.put("foreign_keys", [])
    except IntegrityError as error:
        raise CannotMove(f"A row of the source refers to a row that does not exist: {str(error)[:200]}") from error


def carry_numbers() -> None:
    """Continue the numbers of keys where the source is, also where its last rows were deleted: no number twice."""
    for model in moved_models():
        column = model._meta.auto_field.column if model._meta.auto_field else None
        if column is not None:
            used = max(_last_number(databases.source(), model, column), _highest(model))
            if used:
                set_number(databases.target(), model._meta.db_table, column, used)


def _highest(model: Model) -> int:
    return model._base_manager.order_by("-pk").values_list("pk", flat=True).first() or 0


def _last_number(connection: BaseDatabaseWrapper, model: Model, column: str) -> int:
    table = model._meta.db_table
    if connection.vendor == "sqlite":
        found = _ask(connection, "SELECT seq FROM sqlite_sequence WHERE name = %s", table)
        return int(found[0][0]) if found else 0
    if connection.vendor == "mysql":
        statement = "SELECT auto_increment - 1 FROM information_schema.tables WHERE table_schema = DATABASE()"
        return int(_ask(connection, f"{statement} AND table_name = %s", table)[0][0] or 0)
    [[sequence]] = _ask(connection, "SELECT pg_get_serial_sequence(%s, %s)", f'"{table}"', column)
    # `last_value` is 1 before the first number is taken, too.
    [[last, is_called]] = _ask(connection, f"SELECT last_value, is_called FROM {sequence}")  # noqa: S608 - catalogue
    return int(last) if is_called else 0


def set_number(connection: BaseDatabaseWrapper, table: str, column: str, used: int) -> None:
    if connection.vendor == "sqlite":
        _run(connection, "DELETE FROM sqlite_sequence WHERE name = %s", table)
        _run(connection, "INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", table, used)
    elif connection.vendor == "mysql":
        _run(connection, f"ALTER TABLE {connection.ops.quote_name(table)} AUTO_INCREMENT = {used + 1}")
    else:
        _run(connection, "SELECT setval(pg_get_serial_sequence(%s, %s), %s)", f'"{table}"', column, used)


def _ask(connection: BaseDatabaseWrapper, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return list(cursor.fetchall())


def _run(connection: BaseDatabaseWrapper, statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
