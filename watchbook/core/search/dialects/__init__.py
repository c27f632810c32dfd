"""The word index of each database behind one interface; nothing outside this folder knows which one it is."""

from __future__ import annotations

from functools import cache

from django.db import connection

from watchbook.core.search.dialects.base import Dialect, Place, Wanted, Words

__all__ = ["Dialect", "Place", "Wanted", "Words", "dialect"]


def dialect() -> Dialect:
    return _dialect_of(connection.vendor)


@cache
def _dialect_of(vendor: str) -> Dialect:
    # Each has words of its own to prepare; a process speaks one.
    if vendor == "postgresql":
        from watchbook.core.search.dialects.postgres import PostgreSQL

        return PostgreSQL()
    if vendor == "mysql":
        from watchbook.core.search.dialects.mariadb import MariaDB

        return MariaDB()
    from watchbook.core.search.dialects.sqlite import SQLite

    return SQLite()
