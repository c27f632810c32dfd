"""The two databases of a move: the target is the default one, the source can only be read."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import ConnectionHandler

SOURCE = "move_source"
NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL", "mysql": "MariaDB"}
SIZES = {
    "postgresql": "SELECT pg_database_size(current_database())",
    "mysql": "SELECT SUM(data_length + index_length) FROM information_schema.tables WHERE table_schema = DATABASE()",
}


class CannotMove(Exception):
    """The message is one sentence for the operator; nothing was changed unless it says so."""


def connect(url: str) -> None:
    """Make the target the default database of this process, and open the source beside it."""
    target: dict[str, Any] = settings.DATABASE_FOR_URL(url, Path(settings.HOME))
    source: dict[str, Any] = settings.DATABASES["default"]
    if identity(target) == identity(source):
        raise CannotMove("The target is the database that is in use now. Give another one.")
    connections.close_all()
    if close_pool := getattr(connections["default"], "close_pool", None):
        close_pool()
    handler: Any = connections
    handler.settings.update(ConnectionHandler().configure_settings({"default": target, SOURCE: read_only(source)}))
    del connections["default"]


def read_only(database: dict[str, Any]) -> dict[str, Any]:
    """The same database, which refuses every write of this process."""
    options = {**database.get("OPTIONS", {})}
    if "sqlite" in database["ENGINE"]:
        options["init_command"] += "PRAGMA query_only=ON;"
    elif "postgresql" in database["ENGINE"]:
        options.pop("pool", None)
        options["options"] = f"{options.get('options', '')} -c default_transaction_read_only=on".strip()
    else:
        options["init_command"] += ", tx_read_only=1"
    return {**database, "OPTIONS": options}


def identity(database: dict[str, Any]) -> str:
    """Identifies a database; without its password."""
    place = [str(database.get(name) or "") for name in ("ENGINE", "HOST", "PORT")]
    name = str(database["NAME"])
    if "sqlite" in database["ENGINE"]:
        name = str(Path(name).absolute())
    return hashlib.sha256("\0".join([*place, name]).encode()).hexdigest()


def source() -> BaseDatabaseWrapper:
    return connections[SOURCE]


def target() -> BaseDatabaseWrapper:
    return connections["default"]


def size_bytes(connection: BaseDatabaseWrapper) -> int:
    """About how much room the database takes."""
    if connection.vendor == "sqlite":
        file = Path(str(connection.settings_dict["NAME"]))
        return sum(path.stat().st_size for path in (file, Path(f"{file}-wal")) if path.exists())
    with connection.cursor() as cursor:
        cursor.execute(SIZES[connection.vendor])
        return int(cursor.fetchone()[0] or 0)
