"""The word index of each database behind one interface; nothing outside this folder knows which one it is."""

from __future__ import annotations

from django.db import connection

from watchbook.core.search.dialects.base import Dialect, Place, Wanted, Words
from watchbook.core.search.dialects.mariadb import MariaDB
from watchbook.core.search.dialects.postgres import PostgreSQL
from watchbook.core.search.dialects.sqlite import SQLite

__all__ = ["Dialect", "Place", "Wanted", "Words", "dialect"]

_DIALECTS: dict[str, Dialect] = {"sqlite": SQLite(), "postgresql": PostgreSQL(), "mysql": MariaDB()}


def dialect() -> Dialect:
    return _DIALECTS[connection.vendor]
