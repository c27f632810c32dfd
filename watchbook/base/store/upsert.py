"""Insert or update in bulk, the same call on every database."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from django.db import connections, models, router

M = TypeVar("M", bound=models.Model)


def upsert(
    model: type[M], rows: Iterable[M], *, unique: Sequence[str], update: Sequence[str], batch: int = 500
) -> list[M]:
    """bulk_create with update on conflict. MariaDB takes no conflict target and must not be given one."""
    connection = connections[router.db_for_write(model)]
    takes_target = connection.features.supports_update_conflicts_with_target
    return model._default_manager.bulk_create(
        rows,
        batch_size=batch,
        update_conflicts=True,
        update_fields=list(update),
        unique_fields=list(unique) if takes_target else None,
    )
