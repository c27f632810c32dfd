"""Many rows of one table at once, in plain SQL that is made once.

Django makes a model, an expression for each value and the statement anew for each call: four fifths of the time that
storing a page of floors took. Values are given and found as tuples in the order of the fields; of those that have a
form of their own on each database (times, JSON) the field makes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import orjson
from django.db import connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.constants import OnConflict

Values = Sequence[Any]

# An old SQLite takes fewer than a thousand values in one statement.
MOST_VALUES = 990
# What drivers take as it is.
_PLAIN = (models.CharField, models.TextField, models.IntegerField, models.BooleanField)


class Columns:
    """Some fields of one model, and the statements over them. Made once, at import."""

    def __init__(self, model: type[models.Model], names: Iterable[str]) -> None:
        self.model = model
        self.names = tuple(names)

    def insert(self, rows: Sequence[Values], *, pass_over: bool = False) -> None:
        """New rows; their keys are left to the database. `pass_over`: one that is there already stays as it is."""
        if not rows:
            return
        connection = self._connection
        start, places, end = self._insertion(connection, OnConflict.IGNORE if pass_over else None)
        rows = self._prepared(connection, rows)
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                # One short statement that stays prepared; a long one is read anew for each number of rows.
                cursor.executemany(start + places + end, rows)
                return
            for statement, values in self._batches(start, places, end, rows):
                cursor.execute(statement, values)

    def upsert(
        self, rows: Sequence[Values], *, unique: Sequence[str], update: Sequence[str], returning: Sequence[str] = ()
    ) -> list[tuple[Any, ...]]:
        """New rows, and these fields of those that are there. Gives the returned fields of all of them, in any order.

        MariaDB goes by whichever unique key is hit.
        """
        connection = self._connection
        start, places, end = self._insertion(connection, OnConflict.UPDATE, unique, update)
        if returning:
            fields = [self.model._meta.get_field(name) for name in returning]
            end += f" {connection.ops.return_insert_columns(fields)[0]}"
        found: list[tuple[Any, ...]] = []
        with connection.cursor() as cursor:
            for statement, values in self._batches(start, places, end, self._prepared(connection, rows)):
                cursor.execute(statement, values)
                found += cursor.fetchall() if returning else []
        return found

    def update(self, rows: Sequence[Values]) -> None:
        """These fields of stored rows. Each row ends with its key."""
        if not rows:
            return
        connection = self._connection
        with connection.cursor() as cursor:
            cursor.executemany(self._update, self._prepared(connection, rows))

    def select(self, condition: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Rows for which the condition holds, as the model's fields read them."""
        connection = self._connection
        with connection.cursor() as cursor:
            cursor.execute(f"{self._selection} WHERE {condition}", parameters)
            found = cursor.fetchall()
        return self._read(connection, found) if self._readers else found

    @property
    def _connection(self) -> BaseDatabaseWrapper:
        return connections[router.db_for_write(self.model)]

    @cached_property
    def fields(self) -> list[Any]:
        return [self.model._meta.get_field(name) for name in self.names]

    @cached_property
    def widths(self) -> dict[str, int]:
        """How many characters each column of bounded text takes."""
        return {field.name: field.max_length for field in self.fields if field.max_length}

    @cached_property
    def _special(self) -> list[tuple[int, Any]]:
        """Fields whose values need a form, with their places."""
        return [(at, field) for at, field in enumerate(self.fields) if not isinstance(_target(field), _PLAIN)]

    def _prepared(self, connection: BaseDatabaseWrapper, rows: Sequence[Values]) -> list[list[Any]]:
        made = [list(row) for row in rows]
        for at, field in self._special:
            prepare = _preparer(field, connection)
            last = prepared = None
            for row in made:
                value = row[at]
                if value is None:
                    continue
                # A moment is mostly that of the whole page.
                if value is not last:
                    last, prepared = value, prepare(value)
                row[at] = prepared
        return made

    def _batches(self, start: str, places: str, end: str, rows: list[list[Any]]) -> Iterator[tuple[str, list[Any]]]:
        size = MOST_VALUES // len(self.names)
        for some in (rows[at : at + size] for at in range(0, len(rows), size)):
            yield start + ", ".join([places] * len(some)) + end, list(chain.from_iterable(some))

    def _insertion(
        self,
        connection: BaseDatabaseWrapper,
        conflict: OnConflict | None,
        unique: Sequence[str] = (),
        update: Sequence[str] = (),
    ) -> tuple[str, str, str]:
        table = connection.ops.quote_name(self.model._meta.db_table)
        start = f"{connection.ops.insert_statement(on_conflict=conflict)} {table} ({self._listed}) VALUES "
        end = connection.ops.on_conflict_suffix_sql(self.fields, conflict, self._columns(update), self._columns(unique))
        return start, f"({', '.join(['%s'] * len(self.names))})", f" {end}" if end else ""

    def _columns(self, names: Sequence[str]) -> list[str]:
        fields: list[Any] = [self.model._meta.get_field(name) for name in names]
        return [field.column for field in fields]

    @cached_property
    def _listed(self) -> str:
        return ", ".join(self._connection.ops.quote_name(field.column) for field in self.fields)

    @cached_property
    def _update(self) -> str:
        quote, meta = self._connection.ops.quote_name, self.model._meta
        sets = ", ".join(f"{quote(field.column)} = %s" for field in self.fields)
        return f"UPDATE {quote(meta.db_table)} SET {sets} WHERE {quote(meta.pk.column)} = %s"  # noqa: S608 - own names

    @cached_property
    def _selection(self) -> str:
        table = self._connection.ops.quote_name(self.model._meta.db_table)
        return f"SELECT {self._listed} FROM {table}"  # noqa: S608 - names of our own models

    @cached_property
    def _readers(self) -> list[tuple[int, Any, list[Any]]]:
        connection = self._connection
        columns = [(at, field.get_col(self.model._meta.db_table)) for at, field in enumerate(self.fields)]
        readers = [
            (at, column, [*connection.ops.get_db_converters(column), *column.get_db_converters(connection)])
            for at, column in columns
        ]
        return [reader for reader in readers if reader[2]]

    def _read(self, connection: BaseDatabaseWrapper, found: Sequence[Values]) -> list[tuple[Any, ...]]:
        rows = [list(row) for row in found]
        for at, column, converters in self._readers:
            # Many rows have the same moment; of other values each row gets its own.
            kept: dict[Any, Any] | None = {} if isinstance(column.target, models.DateTimeField) else None
            for row in rows:
                raw = value = row[at]
                if kept is not None and raw in kept:
                    row[at] = kept[raw]
                    continue
                for convert in converters:
                    value = convert(value, column, connection)
                row[at] = value
                if kept is not None:
                    kept[raw] = value
        return [tuple(row) for row in rows]


def _preparer(field: Any, connection: BaseDatabaseWrapper) -> Callable[[Any], Any]:
    """What makes the form of a value. Of Django's own moments, which are aware, only the last step is needed."""
    if type(field) is models.DateTimeField:
        return connection.ops.adapt_datetimefield_value
    if type(field) is models.JSONField and field.encoder is None and connection.vendor != "postgresql":
        return _json
    return lambda value: field.get_db_prep_save(value, connection)


def _json(value: Any) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value)  # a number beyond 64 bits, half a surrogate pair, a key that is no text


def _target(field: Any) -> Any:
    return _target(field.target_field) if field.is_relation else field
