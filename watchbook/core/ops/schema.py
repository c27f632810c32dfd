"""Compares the schema of the database with the models and names every difference, for `watchbook doctor`.

Tables, columns (type, null), indexes, unique, foreign key and check constraints, on SQLite, PostgreSQL and MariaDB.
Tables that no model has are not ours to judge: the word index of the search, or those of another program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.db import connection, models
from django.db.backends.base.base import BaseDatabaseWrapper

from watchbook.core.ops.move.rows import moved_models

Model = type[models.Model]
Constraints = dict[str, dict[str, Any]]
# name, type, is it NULL
COLUMNS = {
    "sqlite": "SELECT name, type, NOT \"notnull\" AND NOT pk FROM pragma_table_xinfo('{table}') WHERE hidden <> 1",
    "postgresql": (
        "SELECT attname, format_type(atttypid, atttypmod), NOT attnotnull FROM pg_attribute"
        " WHERE attrelid = '\"{table}\"'::regclass AND attnum > 0 AND NOT attisdropped"
    ),
    "mysql": (
        "SELECT column_name, column_type, is_nullable = 'YES' FROM information_schema.columns"
        " WHERE table_schema = DATABASE() AND table_name = '{table}'"
    ),
}
# What a database calls the types that Django asks for.
ALIASES = {
    "postgresql": {
        r"^varchar": "character varying",
        r"^char\(": "character(",
        r"^time$": "time without time zone",
        r"^numeric\((\d+), (\d+)\)": r"numeric(\1,\2)",
    },
    "mysql": {
        r"^bool$": "tinyint(1)",
        r"^double precision$": "double",
        r"^numeric\((\d+), (\d+)\)": r"decimal(\1,\2)",
        r"^(integer|int)\b": "int",
        # MariaDB adds the width of the display; other whole numbers have none in the models.
        r"^(smallint|int|bigint)\(\d+\)": r"\1",
        r"^tinyint\(\d+\) unsigned": "tinyint unsigned",
        r" auto_increment$": "",
        r"^json$": "longtext",
    },
}


def differences() -> list[str]:
    """One sentence for each difference, in the order of the tables' names."""
    found: list[str] = []
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for model in moved_models():
            table = model._meta.db_table
            if table not in tables:
                found.append(f"Table {table} is missing.")
                continue
            found += [f"Table {table}: {what}." for what in _of_columns(cursor, model)]
            constraints = connection.introspection.get_constraints(cursor, table)
            found += [f"Table {table}: {what}." for what in _of_constraints(model, constraints)]
    return found


def _of_columns(cursor: Any, model: Model) -> Iterator[str]:
    cursor.execute(COLUMNS[connection.vendor].format(table=model._meta.db_table))
    stored = {name: (_plain_type(kind), bool(is_null)) for name, kind, is_null in cursor.fetchall()}
    for field in model._meta.concrete_fields:
        wanted = _plain_type(field.db_type(connection) or ""), field.null
        if field.column not in stored:
            yield f"column {field.column} is missing"
            continue
        kind, is_null = stored.pop(field.column)
        # The key of a table between two models may be wider: it is as Django made it in the migration.
        if kind != wanted[0] and not (model._meta.auto_created and field.primary_key):
            yield f"column {field.column} is {kind}, not {wanted[0]}"
        if is_null != field.null:
            yield f"column {field.column} {'allows' if is_null else 'does not allow'} NULL"
    yield from (f"column {name} is not in the models" for name in sorted(stored))


def _plain_type(kind: str) -> str:
    plain = kind.lower().strip()
    for pattern, name in ALIASES.get(connection.vendor, {}).items():
        plain = re.sub(pattern, name, plain)
    return plain


def _of_constraints(model: Model, found: Constraints) -> Iterator[str]:
    """Compare by name what the models name, and by its columns what Django names."""
    features = connection.features
    names: set[str] = set()
    for index in model._meta.indexes:
        names.add(index.name)
        if not index.expressions and (features.supports_partial_indexes or not index.condition):
            columns = [_column(model, name) for name, _ in index.fields_orders]
            yield from _named("index", index.name, columns, found)
    for constraint in model._meta.constraints:
        names.add(constraint.name)
        if isinstance(constraint, models.UniqueConstraint):
            if constraint.expressions or (constraint.condition and not features.supports_partial_indexes):
                continue
            columns = [_column(model, name) for name in constraint.fields]
            yield from _named("unique constraint", constraint.name, columns, found)
        elif isinstance(constraint, models.CheckConstraint):
            yield from _named("check", constraint.name, None, found)
    unnamed = {name: each for name, each in found.items() if name not in names}
    yield from _of_fields(model, found)
    yield from _left_over(model, unnamed, connection)


def _named(kind: str, name: str, columns: list[str] | None, found: Constraints) -> Iterator[str]:
    if name not in found:
        yield f"{kind} {name} is missing"
    elif columns is not None and list(found[name]["columns"]) != columns:
        stored = ", ".join(map(str, found[name]["columns"]))
        yield f"{kind} {name} has the columns {stored}, not {', '.join(columns)}"


def _of_fields(model: Model, found: Constraints) -> Iterator[str]:
    keys = [[_column(model, name) for name in group] for group in model._meta.unique_together]
    keys += [[field.column] for field in model._meta.concrete_fields if field.unique]
    for columns in keys:
        unique = [each for each in found.values() if each["unique"] or each["primary_key"]]
        if not any(list(each["columns"]) == columns for each in unique):
            yield f"unique constraint on {', '.join(columns)} is missing"
    for field in model._meta.concrete_fields:
        begins = any(list(each["columns"])[:1] == [field.column] for each in found.values() if _is_index(each))
        if _is_indexed(field) and not field.unique and not begins:
            yield f"index on {field.column} is missing"
        if isinstance(field, models.ForeignKey) and getattr(field, "db_constraint", True):
            target = (field.target_field.model._meta.db_table, field.target_field.column)
            if not any(tuple(each["foreign_key"] or ()) == target for each in _on(field.column, found)):
                yield f"foreign key of {field.column} to {target[0]} is missing"


def _left_over(model: Model, unnamed: Constraints, connection: BaseDatabaseWrapper) -> Iterator[str]:
    """Indexes and constraints that neither a name nor a field of the model explains."""
    fields = {field.column: field for field in model._meta.concrete_fields}
    groups = {tuple(_column(model, name) for name in group) for group in model._meta.unique_together}
    for name, each in sorted(unnamed.items()):
        columns = tuple(each["columns"])
        if each["primary_key"] or columns in groups or (len(columns) == 1 and _explains(fields.get(columns[0]), each)):
            continue
        if each["check"] and (len(columns) <= 1 if connection.vendor == "mysql" else name.startswith("__unnamed")):
            continue  # of a field: valid JSON, a number that is not negative
        kind = "check" if each["check"] else "unique constraint" if each["unique"] else "index"
        yield f"{kind} {name} is not in the models"


def _explains(field: models.Field[Any, Any] | None, each: dict[str, Any]) -> bool:
    if field is None:
        return False
    if each["check"]:  # Django's own: a positive number
        return field.db_check(connection) is not None
    return bool(field.unique or (not each["unique"] and (_is_indexed(field) or isinstance(field, models.ForeignKey))))


def _is_indexed(field: models.Field[Any, Any]) -> bool:
    return bool(getattr(field, "db_index", False))  # the stubs do not know it


def _on(column: str, found: Constraints) -> Iterator[dict[str, Any]]:
    return (each for each in found.values() if list(each["columns"]) == [column])


def _is_index(each: dict[str, Any]) -> bool:
    return bool(each["index"] or each["unique"] or each["primary_key"])


def _column(model: Model, name: str) -> str:
    return str(model._meta.get_field(name).column)  # type: ignore[union-attr]
