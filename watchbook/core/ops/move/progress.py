"""What a move has done so far: rows of a table that only an unfinished move has in the target."""

from __future__ import annotations

import json
from typing import Any

from watchbook.core.ops.move import databases

TABLE = "move_progress"


def exists() -> bool:
    return TABLE in databases.target().introspection.table_names()


def create() -> None:
    _run(f"CREATE TABLE IF NOT EXISTS {TABLE} (name varchar(200) NOT NULL PRIMARY KEY, value text NOT NULL)")


def get(name: str) -> Any:
    """The stored value; None if there is none."""
    with databases.target().cursor() as cursor:
        cursor.execute(f"SELECT value FROM {TABLE} WHERE name = %s", [name])  # noqa: S608 - our own name
        row = cursor.fetchone()
    return json.loads(row[0]) if row else None


def put(name: str, value: Any) -> None:
    """Store a value, in the transaction of what it says is done."""
    _run(f"DELETE FROM {TABLE} WHERE name = %s", name)  # noqa: S608 - our own name
    _run(f"INSERT INTO {TABLE} (name, value) VALUES (%s, %s)", name, json.dumps(value))  # noqa: S608


def drop() -> None:
    _run(f"DROP TABLE {TABLE}")


def _run(statement: str, *values: Any) -> None:
    with databases.target().cursor() as cursor:
        cursor.execute(statement, values or None)
