"""PostgreSQL and MariaDB: every table written as rows, read in one snapshot. Needs no client tools.

PostgreSQL gives and takes its own COPY text. MariaDB's rows are JSON lists with the kinds that JSON lacks marked.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import IO, Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from watchbook.core.ops.backup import needed_blobs
from watchbook.core.ops.backup.archive import CHUNK, Beat, Damaged, Manifest, Reader, packing

BATCH = 500
SNAPSHOT = {
    "postgresql": ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",),
    "mysql": ("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT"),
}
TABLES = {
    "postgresql": (
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'"
        " AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e') ORDER BY 1"
    ),
    "mysql": (
        "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE'"
        " ORDER BY 1"
    ),
}
# Columns that the database computes are omitted: it will compute them again.
COLUMNS = {
    "postgresql": (
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
        " AND attgenerated = '' ORDER BY attnum"
    ),
    "mysql": (
        "SELECT column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = %s"
        " AND extra NOT LIKE '%%GENERATED%%' ORDER BY ordinal_position"
    ),
}
NUMBERS = {
    "postgresql": (
        "SELECT sequencename, last_value FROM pg_sequences"
        " WHERE schemaname = current_schema() AND last_value IS NOT NULL"
    ),
    "mysql": (
        "SELECT table_name, auto_increment FROM information_schema.tables WHERE table_schema = DATABASE()"
        " AND auto_increment IS NOT NULL"
    ),
}


@contextmanager
def own_connection() -> Iterator[BaseDatabaseWrapper]:
    """Beside the one of the thread: its transaction is ours alone."""
    connection = connections.create_connection("default")
    try:
        connection.ensure_connection()
        yield connection
    finally:
        connection.close()


def table_names(connection: BaseDatabaseWrapper) -> list[str]:
    return [name for (name,) in _ask(connection, TABLES[connection.vendor])]


def dump(work: Path, left_out: tuple[str, ...], beat: Beat) -> dict[str, Any]:
    """Packed files of all tables in the work folder; gives tables, columns and numbers for the manifest."""
    tables: dict[str, int] = {}
    columns: dict[str, list[str]] = {}
    (work / "tables").mkdir()
    with own_connection() as connection:
        for statement in SNAPSHOT[connection.vendor]:
            _run(connection, statement)
        for table in table_names(connection):
            named = f'"{table}"' if connection.vendor == "postgresql" else table
            columns[table] = [name for (name,) in _ask(connection, COLUMNS[connection.vendor], named)]
            tables[table] = 0
            if table not in left_out:
                with packing(work / "tables" / f"{table}.zst") as out:
                    tables[table] = _write_table(connection, table, columns[table], out, beat)
        numbers = {str(name): int(value) for name, value in _ask(connection, NUMBERS[connection.vendor])}
        blob_rows = _ask(connection, needed_blobs.STATEMENT)
        _run(connection, "ROLLBACK")
    return {"tables": tables, "columns": columns, "numbers": numbers, "blob_rows": blob_rows}


def _write_table(connection: BaseDatabaseWrapper, table: str, columns: list[str], out: IO[bytes], beat: Beat) -> int:
    rows = 0
    if connection.vendor == "postgresql":
        with (
            connection.connection.cursor() as cursor,
            cursor.copy(f"COPY {_listed(connection, table, columns)} TO STDOUT") as copy,
        ):
            for chunk in copy:
                rows += bytes(chunk).count(b"\n")
                out.write(chunk)
                beat()
        return rows
    from pymysql.cursors import SSCursor  # only where MariaDB is used

    named = ", ".join(connection.ops.quote_name(column) for column in columns)
    with connection.connection.cursor(SSCursor) as cursor:
        cursor.execute(f"SELECT {named} FROM {connection.ops.quote_name(table)}")  # noqa: S608 - names from the catalogue
        while batch := cursor.fetchmany(BATCH):
            out.write(b"".join(_line(row) for row in batch))
            rows += len(batch)
            beat()
    return rows


def check(reader: Reader, beat: Beat) -> None:
    """Every table can be unpacked and has as many rows as were counted when it was written."""
    for table, wanted in reader.manifest.tables.items():
        if f"tables/{table}.zst" not in reader.manifest.members:
            continue
        rows = 0
        with reader.unpacked(f"tables/{table}.zst") as plain:
            while chunk := plain.read(CHUNK):
                rows += chunk.count(b"\n")
                beat()
        if rows != wanted:
            raise Damaged(f"The table {table} in the backup has {rows} rows instead of {wanted}.")


def drop_all(connection: BaseDatabaseWrapper) -> None:
    quote = connection.ops.quote_name
    if connection.vendor == "mysql":
        _run(connection, "SET FOREIGN_KEY_CHECKS = 0")
    for table in table_names(connection):
        _run(
            connection,
            f"DROP TABLE IF EXISTS {quote(table)}" + (" CASCADE" if connection.vendor == "postgresql" else ""),
        )
    if connection.vendor == "mysql":
        _run(connection, "SET FOREIGN_KEY_CHECKS = 1")


def load(reader: Reader, beat: Beat) -> None:
    """Rows into tables that exist and are emptied first; all of them or none."""
    manifest = reader.manifest
    with own_connection() as connection:
        _begin_load(connection, manifest)
        for table in manifest.tables:
            if f"tables/{table}.zst" in manifest.members:
                with reader.unpacked(f"tables/{table}.zst") as plain:
                    _read_table(connection, table, manifest.columns[table], plain, beat)
        _set_numbers(connection, manifest)


def _begin_load(connection: BaseDatabaseWrapper, manifest: Manifest) -> None:
    quote = connection.ops.quote_name
    if connection.vendor == "postgresql":
        _run(connection, "BEGIN")
        _run(connection, "SET CONSTRAINTS ALL DEFERRED")
        _run(connection, "TRUNCATE " + ", ".join(quote(table) for table in manifest.tables))
        return
    _run(connection, "SET SESSION FOREIGN_KEY_CHECKS = 0")
    _run(connection, "START TRANSACTION")
    for table in manifest.tables:
        _run(connection, f"DELETE FROM {quote(table)}")  # noqa: S608 - TRUNCATE would end the transaction


def _read_table(connection: BaseDatabaseWrapper, table: str, columns: list[str], plain: IO[bytes], beat: Beat) -> None:
    target = _listed(connection, table, columns)
    if connection.vendor == "postgresql":
        with connection.connection.cursor() as cursor, cursor.copy(f"COPY {target} FROM STDIN") as copy:
            while chunk := plain.read(CHUNK):
                copy.write(chunk)
                beat()
        return
    marks = ", ".join(["%s"] * len(columns))
    found = lines(plain)
    with connection.connection.cursor() as cursor:
        while batch := [row_of(line) for line in islice(found, BATCH)]:
            cursor.executemany(f"INSERT INTO {target} VALUES ({marks})", batch)  # noqa: S608 - names checked by the manifest
            beat()


def _set_numbers(connection: BaseDatabaseWrapper, manifest: Manifest) -> None:
    if connection.vendor == "postgresql":
        for name, value in manifest.numbers.items():
            _run(connection, "SELECT setval(%s::regclass, %s)", f'"{name}"', value)
        _run(connection, "COMMIT")
        return
    _run(connection, "COMMIT")
    for name, value in manifest.numbers.items():
        if name in manifest.tables:
            _run(connection, f"ALTER TABLE {connection.ops.quote_name(name)} AUTO_INCREMENT = {int(value)}")


def _listed(connection: BaseDatabaseWrapper, table: str, columns: Iterable[str]) -> str:
    quote = connection.ops.quote_name
    return f"{quote(table)} ({', '.join(quote(column) for column in columns)})"


def _ask(connection: BaseDatabaseWrapper, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return list(cursor.fetchall())


def _run(connection: BaseDatabaseWrapper, statement: str, *values: Any) -> None:
    with connection.connection.cursor() as cursor:
        cursor.execute(statement, values or None)


def _line(row: Iterable[Any]) -> bytes:
    return json.dumps([_marked(value) for value in row], ensure_ascii=True, separators=(",", ":")).encode() + b"\n"


def _marked(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, timedelta):
        return {"span": value.total_seconds()}
    for kind, name in ((datetime, "moment"), (date, "day"), (time, "time"), (Decimal, "decimal")):
        if isinstance(value, kind):
            return {name: str(value)}
    return value


_KINDS: dict[str, Any] = {
    "bytes": base64.b64decode,
    "span": lambda seconds: timedelta(seconds=seconds),
    "moment": datetime.fromisoformat,
    "day": date.fromisoformat,
    "time": time.fromisoformat,
    "decimal": Decimal,
}


def row_of(line: bytes) -> list[Any]:
    return [_KINDS[next(iter(v))](next(iter(v.values()))) if isinstance(v, dict) else v for v in json.loads(line)]


def lines(plain: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    while chunk := plain.read(CHUNK):
        whole = (rest + chunk).split(b"\n")
        rest = whole.pop()
        yield from whole
