"""Model fields with one meaning on every database."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from watchbook.base.clock import SHANGHAI


class WallTimeField(models.DateTimeField):  # type: ignore[type-arg]
    """Asia/Shanghai wall time in the column, an aware moment in Python.

    The seeds' tables hold Shanghai time; a reader with plain SQL must see 08:30 where a Shanghai clock showed 08:30,
    on PostgreSQL too, where Django would otherwise store an instant.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return {"postgresql": "timestamp without time zone", "mysql": "datetime(6)"}.get(connection.vendor, "datetime")

    def get_prep_value(self, value: Any) -> Any:
        moment = self.to_python(value)
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            return moment.astimezone(SHANGHAI).replace(tzinfo=None)
        return moment

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        if not prepared:
            value = self.get_prep_value(value)
        if value is None or not isinstance(value, datetime):
            return value
        # A naive value goes to the driver as it is; the backends' own adapters would shift it by their zone.
        return value if connection.vendor == "postgresql" else value.isoformat(sep=" ", timespec="microseconds")

    def from_db_value(self, value: Any, _expression: Any, _connection: BaseDatabaseWrapper) -> Any:
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        if isinstance(value, datetime):
            return value.replace(tzinfo=SHANGHAI)
        return value

    def get_db_converters(self, connection: BaseDatabaseWrapper) -> list[Any]:
        return [self.from_db_value]

    def get_internal_type(self) -> str:
        # Not DateTimeField: the backends attach converters by this name that would shift the value once more.
        return "WallTimeField"
