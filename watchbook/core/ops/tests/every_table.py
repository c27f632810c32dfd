"""Rows in every table of every system, made from the fields of the models, with values that are hard to carry over."""

from __future__ import annotations

import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.core.management.color import no_style
from django.db import connection, models, transaction

WORDS = "海鷗 😀 'quote' \\ tab\t line\n e\u0301 ﷽ "
MOMENT = datetime(2026, 3, 2, 4, 5, 6, 123456, tzinfo=UTC)
JSON = {"b": [1, 2.5, 1e22, None, True], "a": {"漢字": '😀\\ " \n'}, "n": -(2**53)}


def fill(count: int = 3) -> int:
    """Give every table this many rows, numbered from 1; a row refers to the row of the same number."""
    from watchbook.core.ops.move import rows  # needs Django to be set up
    from watchbook.core.ops.move.rows import moved_models

    connection.disable_constraint_checking()
    with transaction.atomic():  # PostgreSQL checks references at its end
        for model in moved_models():
            with connection.cursor() as cursor:
                cursor.execute(f"DELETE FROM {connection.ops.quote_name(model._meta.db_table)}")
            numbers = range(1, count + 1)
            rules = _rules(model)
            fields = model._meta.concrete_fields
            rows.write(model, [[rules.get(field.name, value)(field, n) for field in fields] for n in numbers])
    connection.check_constraints()
    with connection.cursor() as cursor:  # the next rows get the next numbers
        for statement in connection.ops.sequence_reset_sql(no_style(), moved_models()):
            cursor.execute(statement)
    return len(moved_models()) * count


def _rules(model: Any) -> dict[str, Any]:
    """Columns that a check constraint restricts, and what makes a value for each."""
    rules: dict[str, Any] = {}
    for constraint in model._meta.constraints:
        for path, wanted in getattr(getattr(constraint, "condition", None), "children", []):
            name, _, lookup = path.partition("__")
            if lookup == "in":
                rules[name] = lambda _field, n, known=tuple(wanted): known[n % len(known)]
            elif lookup == "gte":
                rules[name] = lambda _field, n, least=wanted: least + n % 20
    return rules


def value(field: Any, n: int) -> Any:
    if isinstance(field, models.ForeignKey):
        return value(field.target_field, n)
    if isinstance(field, models.BooleanField):
        return n % 2 == 0
    if isinstance(field, models.IntegerField):
        return n
    if isinstance(field, models.CharField):
        return _text(field, n)
    kinds = {
        models.UUIDField: UUID(int=n), models.JSONField: {**JSON, "n": n}, models.FloatField: n / 3,
        models.DateTimeField: MOMENT.replace(second=n % 60), models.DateField: date(2026, 1, 1 + n % 28),
        models.TimeField: time(n % 24, n % 60),
        models.DecimalField: Decimal(n), models.BinaryField: bytes(range(256)) * n, models.TextField: f"{WORDS}{n}",
    }  # fmt: skip
    return next(made for kind, made in kinds.items() if isinstance(field, kind))


def _text(field: models.CharField, n: int) -> str:
    if field.choices:
        return str(field.flatchoices[n % len(field.flatchoices)][0])
    longest = field.max_length or 200
    return f"{n}{WORDS * (longest // len(WORDS) + 1)}"[:longest]


if __name__ == "__main__":
    import django

    django.setup()
    print(fill(int(sys.argv[1])))
