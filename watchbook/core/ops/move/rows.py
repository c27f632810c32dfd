"""The rows of one table: read in the order of their keys, written as they are, and summed up in a digest.

Values pass through the fields of the models, which know how each database writes moments, JSON and identifiers; hooks
that set a moment or a default at saving are not asked.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from django.apps import apps
from django.db import DataError, IntegrityError, models
from django.db.backends.base.base import BaseDatabaseWrapper

from watchbook.core.ops.move import databases
from watchbook.core.ops.move.databases import CannotMove

BATCH = 1000
# Who is alive on the old database is of no meaning on the new one.
LEFT_OUT = {"job_workers", "process_keys"}
# Types that every driver takes as they are.
PLAIN = (models.CharField, models.TextField, models.IntegerField, models.BooleanField, models.FloatField)
Model = type[models.Model]
Row = Sequence[Any]


def moved_models() -> list[Model]:
    """Every model with a table of its own, in the order of the tables' names."""
    found = [model for model in apps.get_models(include_auto_created=True) if model._meta.managed]
    tables = {model._meta.db_table: model for model in found if not model._meta.proxy}
    return [tables[name] for name in sorted(tables) if name not in LEFT_OUT]


def names(model: Model) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


def batches(model: Model, alias: str, after: Any = None) -> Iterator[list[Row]]:
    """All rows behind a key, each batch with one query of its own: nothing stays open while the other side writes."""
    table = model._base_manager.using(alias).order_by("pk")
    while True:
        found = table.filter(pk__gt=after) if after is not None else table
        batch: list[Row] = list(found.values_list(*names(model))[:BATCH])
        if batch:
            yield batch
        if len(batch) < BATCH:
            return
        after = key_of(model, batch[-1])


def key_of(model: Model, row: Row) -> Any:
    columns = names(model)
    values = tuple(row[columns.index(field.attname)] for field in model._meta.pk_fields)
    return values if len(values) > 1 else values[0]


def key_from_text(model: Model, stored: list[str]) -> Any:
    values = tuple(field.to_python(text) for field, text in zip(model._meta.pk_fields, stored, strict=True))
    return values if len(values) > 1 else values[0]


def key_to_text(key: Any) -> list[str]:
    return [str(part) for part in (key if isinstance(key, tuple) else (key,))]


def write(model: Model, batch: Sequence[Row]) -> None:
    connection = databases.target()
    quote = connection.ops.quote_name
    columns = ", ".join(quote(field.column) for field in model._meta.concrete_fields)
    marks = ", ".join(["%s"] * len(model._meta.concrete_fields))
    statement = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES ({marks})"  # noqa: S608 - of our models
    forms = [_form(field, connection) for field in model._meta.concrete_fields]
    values = [[form(value) if form else value for form, value in zip(forms, row, strict=True)] for row in batch]
    try:
        with connection.cursor() as cursor:
            cursor.executemany(statement, values)
    except (DataError, IntegrityError) as error:
        first, last = (key_to_text(key_of(model, row)) for row in (batch[0], batch[-1]))
        raise CannotMove(
            f"{databases.NAMES[connection.vendor]} refuses a row of {model._meta.db_table} between the keys"
            f" {', '.join(first)} and {', '.join(last)} ({type(error).__name__})."
        ) from error


def _form(field: models.Field[Any, Any], connection: BaseDatabaseWrapper) -> Callable[[Any], Any] | None:
    """What turns a value into the form of this database; None: it stays as it is."""
    kind = field.target_field if isinstance(field, models.ForeignKey) else field
    is_plain = isinstance(kind, PLAIN) and type(kind).get_db_prep_save is models.Field.get_db_prep_save
    return None if is_plain else partial(field.get_db_prep_save, connection=connection)


def summary(model: Model, alias: str, beat: Callable[[int], None]) -> tuple[int, str]:
    """Number of rows and a digest that is the same on every database and in every order."""
    count, total = 0, 0
    forms = [_json_text if isinstance(field, models.JSONField) else _text for field in model._meta.concrete_fields]
    for batch in batches(model, alias):
        for row in batch:
            texts = "\x1f".join([form(value) for form, value in zip(forms, row, strict=True)])
            total += int.from_bytes(hashlib.sha256(texts.encode("utf-8", "surrogatepass")).digest())
        count += len(batch)
        beat(len(batch))
    return count, f"{total % 2**256:064x}"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return f"s{value}"
    if isinstance(value, datetime):
        return f"t{value.astimezone(UTC).isoformat()}"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"b{hashlib.sha256(value).hexdigest()}"
    if isinstance(value, Decimal):
        return f"d{value.normalize():f}"
    return f"{type(value).__name__[0]}{value!r}"


def _json_text(value: Any) -> str:
    return json.dumps(_even(value), sort_keys=True)


def _even(value: Any) -> Any:
    """PostgreSQL writes 1e22 as a whole number."""
    if isinstance(value, dict):
        return {name: _even(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_even(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
