"""Grows the rows of a demo: python -m tests.moves.grow ROWS. Prints how many rows the database has then.

Every topic with its posts, and every entry of search and activity, is copied with other numbers until there are enough.
Copies are real rows: their references lead to copies, and what has to be unique differs.
"""

from __future__ import annotations

import sys
from typing import Any

import django

# In the order in which they refer to each other.
GROWN = ("threads", "posts", "post_revisions", "stream_entries", "search_documents")
# How far the numbers of one copy are from those of the next; the demo uses fewer.
STEP = 1_000_000
# A search document costs as much at the end of a move as twenty other rows: it is indexed again.
FEWER = {"search_documents": 20}


def grow(wanted: int) -> int:
    from django.db import connection

    from watchbook.core.ops.move.rows import moved_models

    models = {model._meta.db_table: model for model in moved_models()}
    sizes = {name: model._base_manager.count() for name, model in models.items()}
    each = sum(sizes[name] / FEWER.get(name, 1) for name in GROWN)
    copies = int((wanted - sum(sizes.values())) / each) + 1
    with connection.cursor() as cursor:
        for name in GROWN:
            cursor.execute(_statement(models[name], max(1, copies // FEWER.get(name, 1))))
    return sum(model._base_manager.count() for model in models.values())


def _statement(model: Any, copies: int) -> str:
    """All copies of one table in one statement; `k` counts them."""
    from django.db import connection

    quote = connection.ops.quote_name
    columns = [quote(field.column) for field in model._meta.concrete_fields]
    values = [_copied(model, field, quote(field.column)) for field in model._meta.concrete_fields]
    return (
        f"WITH RECURSIVE copy(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM copy WHERE k < {copies})"
        f" INSERT INTO {quote(model._meta.db_table)} ({', '.join(columns)})"
        f" SELECT {', '.join(values)} FROM {quote(model._meta.db_table)} CROSS JOIN copy WHERE true"
    )


def _copied(model: Any, field: Any, column: str) -> str:
    from django.db import models

    refers_to_a_copy = field.is_relation and field.related_model._meta.db_table in GROWN
    if field.primary_key or refers_to_a_copy:
        return f"{column} + k * {STEP}"
    if field.is_relation or not _must_differ(model, field):
        return column
    if isinstance(field, models.IntegerField):
        return f"{column} + k * {STEP}"
    return f"{column} || '-' || k"


def _must_differ(model: Any, field: Any) -> bool:
    """Whether a unique constraint has this column and no other that differs already."""
    if field.unique:
        return True
    for constraint in model._meta.total_unique_constraints:
        fields = [model._meta.get_field(name) for name in constraint.fields]
        if field in fields and not any(
            other.is_relation and other.related_model._meta.db_table in GROWN for other in fields
        ):
            return field is [other for other in fields if not other.is_relation][-1]
    return False


if __name__ == "__main__":
    django.setup()
    print(grow(int(sys.argv[1])))
