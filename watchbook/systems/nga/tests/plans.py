"""How a database goes about a statement, however long the table is."""

from __future__ import annotations

import pytest
from django.db import connection


def plan_of(statement: str) -> list[str]:
    """Only SQLite says it in few words; a test that asks is skipped on the others."""
    if connection.vendor != "sqlite":
        pytest.skip("the plan is read from SQLite")
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {statement}")
        return [row[3] for row in cursor.fetchall()]
