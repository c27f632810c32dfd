"""Column types that the document names and Django has no field for. Only MariaDB tells most of them apart."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from watchbook.base import clock
from watchbook.base.store.fields import WallTimeField


class IdField(models.BigAutoField):  # type: ignore[type-arg]
    """bigint unsigned, counted by the database."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"primary_key": True, "db_comment": "内部主键", **options})

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "bigint unsigned AUTO_INCREMENT" if connection.vendor == "mysql" else str(super().db_type(connection))

    def rel_db_type(self, connection: BaseDatabaseWrapper) -> str:
        if connection.vendor == "mysql":
            return "bigint unsigned"
        return str(super().rel_db_type(connection))  # type: ignore[misc]


class ByteField(models.PositiveSmallIntegerField):  # type: ignore[type-arg]
    """tinyint unsigned: at most 255."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "tinyint unsigned" if connection.vendor == "mysql" else str(super().db_type(connection))


class HtmlField(models.TextField):  # type: ignore[type-arg]
    """mediumtext: at most 16 MB."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "mediumtext" if connection.vendor == "mysql" else str(super().db_type(connection))


class DigestField(models.CharField):  # type: ignore[type-arg]
    """char(64): a SHA-256 in hex."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"max_length": 64, **options})

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        return "char(64)"


def created_at() -> WallTimeField:
    return WallTimeField(default=clock.now, db_comment="创建时间")


def updated_at() -> WallTimeField:
    return WallTimeField(default=clock.now, db_comment="更新时间")
