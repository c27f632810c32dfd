"""Which sealed values cannot be opened with the keys that are here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from django.apps import apps
from django.db import models

# Columns in which rooms keep sealed values; looking into every text column would read the whole archive.
_NAMES = re.compile(r"secret|sealed|encrypt|cookie|password|token|key", re.IGNORECASE)
_SEALED = re.compile(r"v2:([A-Za-z0-9_.-]{1,60}):[A-Za-z0-9+/=]{20,}\Z")


def locked_values(good_keys: set[str]) -> dict[str, int]:
    """table.column -> how many values there are sealed with a key whose id is not among the good ones."""
    found: dict[str, int] = {}
    for model, column in _columns():
        sealed = model._base_manager.filter(**{f"{column}__startswith": "v2:"}).values_list(column, flat=True)
        shapes = (_SEALED.match(value) for value in sealed.iterator(chunk_size=1000) if isinstance(value, str))
        count = sum(1 for shape in shapes if shape and shape.group(1) not in good_keys)
        if count:
            found[f"{model._meta.db_table}.{column}"] = count
    return found


def _columns() -> Iterator[tuple[type[models.Model], str]]:
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.concrete_fields:
            if isinstance(field, models.CharField | models.TextField) and _NAMES.search(field.name):
                yield model, field.name


def good_keys(prints: Mapping[str, str], here: Mapping[str, str]) -> set[str]:
    """Ids of keys that are the same here as where the backup was made. Both map ids to prints."""
    return {key_id for key_id, shown in here.items() if prints.get(key_id) == shown}
