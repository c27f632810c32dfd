"""Restores a backup of one kind of database into another.

The rows of a backup are in the form of its own database. The models of the migrations that it names say what each value
is; their fields write it in the form of the database that is here. Everything is written in one transaction.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, connection, connections, models, transaction
from django.db.utils import ConnectionHandler

from watchbook.base.clock import SHANGHAI
from watchbook.base.store.fields import WallTimeField
from watchbook.core.ops.backup import rows, sqlite
from watchbook.core.ops.backup.archive import Beat, CannotRestore, Damaged, Reader
from watchbook.core.ops.move import rows as moved
from watchbook.core.ops.move import schema
from watchbook.core.ops.move.databases import CannotMove
from watchbook.core.ops.move.rows import Model, Row

SOURCE = "restore_source"
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
Reading = Callable[[Any], Any]
# table and column -> the last number that was given
Numbers = Callable[[str, str], int]


def load(reader: Reader, known: Sequence[Model], beat: Beat) -> None:
    """Fill the tables of these models, which are as old as the backup. All rows or none."""
    try:
        with _source(reader, beat) as (read, numbers), transaction.atomic():
            _release_references()
            for model in known:
                with connection.cursor() as cursor:
                    cursor.execute(f"DELETE FROM {connection.ops.quote_name(model._meta.db_table)}")  # noqa: S608
            for model in known:
                if model._meta.db_table in reader.manifest.tables:
                    _load_table(model, read(model), reader.manifest.tables[model._meta.db_table], beat)
            connection.check_constraints()
        _continue_numbers(numbers, known)
    except CannotMove as error:
        raise CannotRestore(f"{error} The backup is good; restore it into its own kind of database.") from error
    except IntegrityError as error:
        raise CannotRestore(f"A row of the backup refers to a row that does not exist: {str(error)[:200]}") from error


def _load_table(model: Model, found: Iterator[Row], wanted: int, beat: Beat) -> None:
    count = 0
    while batch := list(islice(found, moved.BATCH)):
        moved.write(model, batch)
        count += len(batch)
        beat()
    if count != wanted:
        raise Damaged(f"The table {model._meta.db_table} in the backup has {count} rows instead of {wanted}.")


def _release_references() -> None:
    """Rows arrive in the order of their tables. PostgreSQL and SQLite check at the end of the transaction."""
    if connection.vendor == "mysql":
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION FOREIGN_KEY_CHECKS = 0")
            cursor.execute("SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')")


@contextmanager
def _source(reader: Reader, beat: Beat) -> Iterator[tuple[Callable[[Model], Iterator[Row]], Numbers]]:
    """What reads the rows of a model, and the last numbers of keys."""
    if reader.manifest.vendor != "sqlite":
        # PostgreSQL names the last number of a sequence, MariaDB the next one of a table.
        said = reader.manifest.numbers
        yield (
            lambda model: _rows(reader, model),
            lambda table, column: max(said.get(f"{table}_{column}_seq", 0), said.get(table, 1) - 1),
        )
        return
    with tempfile.TemporaryDirectory(prefix=".restore-", dir=settings.HOME) as work:
        file = Path(work) / "source.sqlite3"
        sqlite.unpack(reader, file, beat)
        handler: Any = connections
        read_only = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(file), "OPTIONS": {}}
        handler.settings.update(
            {SOURCE: ConnectionHandler().configure_settings({"default": {}, SOURCE: read_only})[SOURCE]}
        )
        try:
            with connections[SOURCE].cursor() as cursor:
                cursor.execute("SELECT name, seq FROM sqlite_sequence")
                last = dict(cursor.fetchall())
            yield (
                lambda model: (row for batch in moved.batches(model, SOURCE) for row in batch),
                lambda table, _column: int(last.get(table, 0)),
            )
        finally:
            connections[SOURCE].close()
            del connections[SOURCE]
            handler.settings.pop(SOURCE)


def _rows(reader: Reader, model: Model) -> Iterator[Row]:
    """The rows of one table in the order of the model's columns."""
    table, vendor = model._meta.db_table, reader.manifest.vendor
    if f"tables/{table}.zst" not in reader.manifest.members:
        return
    places = {name: place for place, name in enumerate(reader.manifest.columns[table])}
    fields = model._meta.concrete_fields
    missing = [field.column for field in fields if field.column not in places]
    if missing:
        raise Damaged(f"The table {table} in the backup has no column {missing[0]}.")
    readings = [(places[field.column], reading(field)) for field in fields]
    split = copy_row if vendor == "postgresql" else rows.row_of
    with reader.unpacked(f"tables/{table}.zst") as plain:
        for line in rows.lines(plain):
            values = split(line)
            yield [None if values[place] is None else read(values[place]) for place, read in readings]


def copy_row(line: bytes) -> list[str | None]:
    """One line of PostgreSQL's COPY text."""
    return [
        None if part == "\\N" else _ESCAPE.sub(lambda hit: _ESCAPED.get(hit[1], hit[1]), part) if "\\" in part else part
        for part in line.decode().split("\t")
    ]


def reading(field: models.Field[Any, Any]) -> Reading:
    """What turns a stored value into the value that a model has."""
    kind = field.target_field if isinstance(field, models.ForeignKey) else field
    readings: list[tuple[type[Any], Reading]] = [
        (models.BooleanField, lambda value: value in ("t", 1, True)),
        (models.IntegerField, int),
        (models.FloatField, float),
        (models.DecimalField, Decimal),
        (WallTimeField, lambda value: _moment(value).replace(tzinfo=SHANGHAI)),
        (models.DateTimeField, lambda value: _aware(_moment(value))),
        (models.DateField, lambda value: value if isinstance(value, date) else date.fromisoformat(value)),
        (models.TimeField, _time),
        (models.UUIDField, lambda value: value if isinstance(value, UUID) else UUID(value)),
        (models.BinaryField, lambda value: bytes.fromhex(value[2:]) if isinstance(value, str) else bytes(value)),
        (models.JSONField, json.loads),
    ]
    return next((read for known, read in readings if isinstance(kind, known)), lambda value: value)


def _moment(value: Any) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


def _aware(moment: datetime) -> datetime:
    """MariaDB keeps UTC without saying so."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _time(value: Any) -> time:
    """MariaDB gives a span since midnight."""
    if isinstance(value, str):
        return time.fromisoformat(value)
    return value if isinstance(value, time) else (datetime.min + value).time()


def _continue_numbers(numbers: Numbers, known: Sequence[Model]) -> None:
    """No key twice, also where the last rows were deleted before the backup was made."""
    for model in known:
        field = model._meta.auto_field
        if field is None:
            continue
        table = model._meta.db_table
        highest = model._base_manager.order_by("-pk").values_list("pk", flat=True).first() or 0
        if used := max(highest, numbers(table, field.column)):
            schema.set_number(connection, table, field.column, used)
