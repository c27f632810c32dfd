"""Many rows of one table together, in plain SQL that is made once.

Django makes a model, an expression for each value and the statement again for each call: four fifths of the time that
storing a page of rows took. Values are given and found as tuples in the order of the fields; of those that have a
form of their own on each database (times, JSON) the field makes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, TypeVar

import orjson
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models.constants import OnConflict

from watchbook.base.store.fields import WallTimeField, wall_text, wall_time

Values = Sequence[Any]

# An old SQLite takes fewer than a thousand values in one statement.
MOST_VALUES = 990
# As Django finds them.
_PLACE = re.compile(r"(?<!%)%s")
# What drivers take as it is.
_PLAIN = (models.CharField, models.TextField, models.IntegerField, models.BooleanField)


class Columns:
    """Some fields of one model, and the statements over them. Made once, at import."""

    def __init__(self, model: type[models.Model], names: Iterable[str]) -> None:
        self.model = model
        self.names = tuple(names)
        self._statements: dict[tuple[Any, ...], Any] = {}

    def insert(self, rows: Sequence[Values], *, pass_over: bool = False) -> None:
        """New rows; their keys are left to the database. `pass_over`: one that is there already stays as it is."""
        if not rows:
            return
        connection = self._connection
        conflict = OnConflict.IGNORE if pass_over else None
        start, places, end = self._kept(("insert", conflict), lambda: self._insertion(connection, conflict))
        rows = self._prepared(connection, rows)
        with _cursor(connection) as cursor:
            if connection.vendor == "sqlite":
                # One short statement that stays prepared; a long one is parsed again for each number of rows.
                cursor.executemany(start + places + end, rows)
                return
            for statement, values in self._batches(start, places, end, rows):
                cursor.execute(statement, values)

    def insert_copies(self, source: type[models.Model], copied: Sequence[str], rows: Sequence[Values]) -> None:
        """New rows that take some fields, under their own names, from a row of another table, whose key each row ends
        with. What is copied never leaves the database.
        """
        if not rows:
            return
        connection = self._connection
        statement = self._kept(("copies", source, *copied), lambda: self._copying(connection, source, copied))
        with _cursor(connection) as cursor:
            cursor.executemany(statement, self._prepared(connection, rows))

    def upsert(
        self, rows: Sequence[Values], *, unique: Sequence[str], update: Sequence[str], returning: Sequence[str] = ()
    ) -> list[tuple[Any, ...]]:
        """New rows, and these fields of those that are there. Gives the returned fields of all of them, in any order.

        MariaDB goes by whichever unique key is hit.
        """
        connection = self._connection
        start, places, end = self._kept(
            ("upsert", *unique, "", *update, "", *returning),
            lambda: self._insertion(connection, OnConflict.UPDATE, unique, update, returning),
        )
        found: list[tuple[Any, ...]] = []
        with _cursor(connection) as cursor:
            for statement, values in self._batches(start, places, end, self._prepared(connection, rows)):
                cursor.execute(statement, values)
                found += cursor.fetchall() if returning else []
        return found

    def update(self, rows: Sequence[Values]) -> None:
        """These fields of stored rows. Each row ends with its key."""
        if not rows:
            return
        connection = self._connection
        with _cursor(connection) as cursor:
            cursor.executemany(self._update, self._prepared(connection, rows))

    def select(self, condition: str, parameters: Sequence[Any], *, also: str = "") -> list[tuple[Any, ...]]:
        """Rows for which the condition holds, as the model's fields read them; `also`: one more expression behind."""
        connection = self._connection
        start = self._selection.replace(" FROM ", f", {also} FROM ", 1) if also else self._selection
        with _cursor(connection) as cursor:
            cursor.execute(f"{start} WHERE {condition}", parameters)
            found = cursor.fetchall()
        return self._read(connection, found) if self._readers else found

    @property
    def _connection(self) -> BaseDatabaseWrapper:
        return connections[self._alias]

    @cached_property
    def _alias(self) -> str:
        return router.db_for_write(self.model)

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

    def _prepared(self, connection: BaseDatabaseWrapper, rows: Sequence[Values]) -> Sequence[Values]:
        if not self._special:
            return rows
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

    def _batches(self, start: str, places: str, end: str, rows: Sequence[Values]) -> Iterator[tuple[str, list[Any]]]:
        size = MOST_VALUES // len(self.names)
        for some in (rows[at : at + size] for at in range(0, len(rows), size)):
            yield start + ", ".join([places] * len(some)) + end, list(chain.from_iterable(some))

    def _insertion(
        self,
        connection: BaseDatabaseWrapper,
        conflict: OnConflict | None,
        unique: Sequence[str] = (),
        update: Sequence[str] = (),
        returning: Sequence[str] = (),
    ) -> tuple[str, str, str]:
        table = connection.ops.quote_name(self.model._meta.db_table)
        start = f"{connection.ops.insert_statement(on_conflict=conflict)} {table} ({self._listed}) VALUES "
        end = connection.ops.on_conflict_suffix_sql(self.fields, conflict, self._columns(update), self._columns(unique))
        if returning:
            fields = [self.model._meta.get_field(name) for name in returning]
            end += f" {connection.ops.return_insert_columns(fields)[0]}"
        return start, f"({', '.join(['%s'] * len(self.names))})", f" {end}" if end else ""

    def _copying(self, connection: BaseDatabaseWrapper, source: type[models.Model], copied: Sequence[str]) -> str:
        quote = connection.ops.quote_name
        same = ", ".join(quote(column) for column in self._columns(copied))
        return (
            f"INSERT INTO {quote(self.model._meta.db_table)} ({self._listed}, {same})"  # noqa: S608 - own names
            f" SELECT {', '.join(['%s'] * len(self.names))}, {same} FROM {quote(source._meta.db_table)}"
            f" WHERE {quote(source._meta.pk.column)} = %s"
        )

    def _kept(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """A statement that was made before."""
        if key not in self._statements:
            self._statements[key] = make()
        return self._statements[key]

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


def run(statement: str, values: Values) -> list[tuple[Any, ...]]:
    """A statement of one's own, and the rows that it gives."""
    with _cursor(connections[DEFAULT_DB_ALIAS]) as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def _cursor(connection: BaseDatabaseWrapper) -> AbstractContextManager[Any]:
    """Code that records, counts or forbids queries wraps Django's cursor, so it gets that one."""
    is_heard = connection.queries_logged or connection.execute_wrappers
    return connection.cursor() if is_heard or connection.vendor != "sqlite" else _Straight(connection)


class _Straight:
    """SQLite's own cursor: where a statement takes a few microseconds, Django's takes several times as long itself."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        connection.ensure_connection()
        connection.validate_thread_sharing()
        self._connection = connection
        self._cursor: Any = connection.connection.cursor()
        self.fetchall = self._cursor.fetchall

    def __enter__(self) -> _Straight:
        return self

    def __exit__(self, *_: object) -> None:
        self._cursor.close()

    def execute(self, statement: str, values: Values) -> None:
        self._connection.validate_no_broken_transaction()
        with self._connection.wrap_database_errors:
            self._cursor.execute(_with_marks(statement), values)

    def executemany(self, statement: str, rows: Sequence[Values]) -> None:
        self._connection.validate_no_broken_transaction()
        with self._connection.wrap_database_errors:
            self._cursor.executemany(_with_marks(statement), rows)


@lru_cache(maxsize=256)
def _with_marks(statement: str) -> str:
    """Places as SQLite marks them."""
    return _PLACE.sub("?", statement).replace("%%", "%")


def _preparer(field: Any, connection: BaseDatabaseWrapper) -> Callable[[Any], Any]:
    """What makes the form of a value. Of Django's own moments, which are aware, only the last step is needed."""
    if type(field) is models.DateTimeField:
        return connection.ops.adapt_datetimefield_value
    if type(field) is WallTimeField:
        return wall_time if connection.vendor == "postgresql" else wall_text
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


M = TypeVar("M", bound=models.Model)


def upsert(
    model: type[M], rows: Iterable[M], *, unique: Sequence[str], update: Sequence[str], batch: int = 500
) -> list[M]:
    """bulk_create with update on conflict. MariaDB takes no conflict target and must not be given one."""
    connection = connections[router.db_for_write(model)]
    takes_target = connection.features.supports_update_conflicts_with_target
    return model._default_manager.bulk_create(
        rows,
        batch_size=batch,
        update_conflicts=True,
        update_fields=list(update),
        unique_fields=list(unique) if takes_target else None,
    )


def increment(model: type[models.Model], rows: Sequence[Values], *, unique: Sequence[str], add: Sequence[str]) -> None:
    """Add to counters: a row that is there gets the sums, another one is inserted. Each key may occur in one row only.

    The database adds, so that writers beside each other lose nothing. Rows are locked in the order they are given in.
    """
    connection = connections[router.db_for_write(model)]
    quote, meta = connection.ops.quote_name, model._meta
    fields: list[Any] = [meta.get_field(name) for name in (*unique, *add)]
    named = [quote(field.column) for field in fields]
    keys, counters, table = named[: len(unique)], named[len(unique) :], quote(meta.db_table)
    if connection.vendor == "mysql":
        sums = ", ".join(f"{name} = {name} + VALUES({name})" for name in counters)
        end = f"ON DUPLICATE KEY UPDATE {sums}"
    else:
        sums = ", ".join(f"{name} = {table}.{name} + excluded.{name}" for name in counters)
        end = f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {sums}"
    start = f"INSERT INTO {table} ({', '.join(named)}) VALUES "  # noqa: S608 - names of our own models
    places, size = f"({', '.join(['%s'] * len(named))})", MOST_VALUES // len(named)
    with connection.cursor() as cursor:
        for some in (rows[at : at + size] for at in range(0, len(rows), size)):
            values = [
                field.get_db_prep_save(value, connection)
                for row in some
                for field, value in zip(fields, row, strict=True)
            ]
            cursor.execute(f"{start}{', '.join([places] * len(some))} {end}", values)


def release() -> None:
    """Give this thread's connection back to the pool before a wait; the next query takes one again.

    Only where there is a pool (PostgreSQL): taking one costs about 1 ms there. Elsewhere closing would cost the page
    cache or a new TCP connection. Inside a transaction nothing happens.
    """
    if not settings.configured:
        return  # a program without Django fetches, too
    if connection.settings_dict["OPTIONS"].get("pool") and not connection.in_atomic_block:
        connection.close()
