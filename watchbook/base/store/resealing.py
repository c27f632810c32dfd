"""Sealed columns under a new key: row by row, each a step of its own, so that whoever is killed is only interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from django.db import models

from watchbook.base.crypto import CannotOpen, is_current, open_sealed, seal

BATCH = 200
SEALED, CURRENT, LOCKED = "sealed", "current", "locked"

Writing = Callable[[], AbstractContextManager[None]]


def seal_anew(
    rows: models.QuerySet[Any], column: str, bound_to: Callable[[Any], str], writing: Writing
) -> Iterator[tuple[str, str]]:
    """For each row that holds a sealed value a word (sealed, current, locked) and the value that was found there."""
    for row in _in_order(rows.exclude(**{column: ""})):
        old = getattr(row, column)
        word, new = anew(old, bound_to(row))
        if word == SEALED:
            with writing():
                # Whoever saved it meanwhile has sealed it already, and wins.
                rows.model._base_manager.filter(pk=row.pk, **{column: old}).update(**{column: new})
        yield word, old


def anew(old: str, bound_to: str) -> tuple[str, str]:
    """A sealed value under the key that seals now; itself where it is already, or where nothing here opens it."""
    if is_current(old):
        return CURRENT, old
    try:
        return SEALED, seal(open_sealed(old, bound_to=bound_to), bound_to=bound_to)
    except CannotOpen:
        return LOCKED, old


def _in_order(rows: models.QuerySet[Any]) -> Iterator[Any]:
    """By key in batches: no cursor of the database stays open while rows are written."""
    rows = rows.order_by("pk")
    batch = list(rows[:BATCH])
    while batch:
        yield from batch
        batch = list(rows.filter(pk__gt=batch[-1].pk)[:BATCH])
