"""Places in long lists, as text that goes into an address: written by us, and read back as if by nobody we know.

The lists of pages, of the API and of the library page by them; each keeps its own order and its own answer to a place
that is none of its own.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from watchbook.base.text import clean_text

LONGEST = 4000
LARGEST = 2**63


class BadPlace(ValueError):
    """Not a place that a list of ours gave out."""


def write_place(parts: Sequence[str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts, ensure_ascii=False).encode()).decode().rstrip("=")


def read_place(text: str, count: int) -> list[str]:
    """The parts that `write_place` was given, so many of them, each fit for a database."""
    try:
        if len(text) > LONGEST or not text.isascii():
            raise BadPlace
        parts = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, RecursionError):
        raise BadPlace from None
    if not isinstance(parts, list) or len(parts) != count:
        raise BadPlace
    if any(not isinstance(part, str) or part != clean_text(part) for part in parts):
        raise BadPlace
    return parts


def as_text(value: Any) -> str:
    """A column's value as a part of a place."""
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def as_value(field: Any, text: str) -> Any:
    """A part of a place as its column has it."""
    try:
        value = as_moment(text) if isinstance(field, models.DateTimeField) else field.to_python(text)
    except (ValidationError, ValueError, OverflowError):
        raise BadPlace from None
    # A number that no column can hold makes databases fail instead of finding nothing.
    if isinstance(value, int) and abs(value) >= LARGEST:
        raise BadPlace
    return value


def as_moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadPlace from None
    # At the ends of the calendar a zone overflows.
    if moment.tzinfo is None or not 1900 <= moment.year <= 2200:
        raise BadPlace
    return moment.astimezone(UTC)


def beyond(column: str, value: Any, key: str, pk: Any, *, is_backwards: bool, key_runs_on: bool = False) -> Q:
    """What comes after a row in a list ordered by a column and then by the key; `key_runs_on`: the key forwards."""
    past = "lt" if is_backwards else "gt"
    tie = "gt" if key_runs_on else past
    # The first condition repeats what the second implies: planners use an index for it and not for the OR.
    return Q(**{f"{column}__{past}e": value}) & (
        Q(**{f"{column}__{past}": value}) | Q(**{column: value, f"{key}__{tie}": pk})
    )
