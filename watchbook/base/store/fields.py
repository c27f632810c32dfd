"""Model fields with one meaning on every database."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from watchbook.base.clock import SHANGHAI

# Since 1992 Shanghai has had no other offset: a moment with this offset needs no conversion.
_OFFSET, _SINCE = timedelta(hours=8), 1992


def wall_time(moment: datetime) -> datetime:
    """What a clock in Shanghai shows at a moment."""
    return moment if moment.tzinfo is None else moment.astimezone(SHANGHAI).replace(tzinfo=None)


def wall_text(moment: datetime) -> str:
    """The same as it is written where a driver would shift it by a zone of its own."""
    if moment.utcoffset() != _OFFSET or moment.year < _SINCE:
        moment = wall_time(moment)
    return moment.isoformat(" ", "microseconds")[:26]


class WallTimeField(models.DateTimeField):  # type: ignore[type-arg]
    """Asia/Shanghai wall time in the column, an aware moment in Python.

    The seeds' tables hold Shanghai time; a reader with plain SQL must see 08:30 where a Shanghai clock showed 08:30,
    on PostgreSQL too, where Django would otherwise store an instant.
    """

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return {"postgresql": "timestamp without time zone", "mysql": "datetime(6)"}.get(connection.vendor, "datetime")

    def get_prep_value(self, value: Any) -> Any:
        moment = self.to_python(value)
        return wall_time(moment) if isinstance(moment, datetime) else moment

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:
        if not prepared:
            value = self.get_prep_value(value)
        if value is None or not isinstance(value, datetime):
            return value
        # A naive value goes to the driver as it is; the backends' own adapters would shift it by their zone.
        return value if connection.vendor == "postgresql" else wall_text(value)

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
