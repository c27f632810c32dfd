"""Lists that are read from their beginning: the next rows after a key, as many pages as there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class Stretch(Generic[Row]):
    """Some rows; `after` is the key to go on from, empty at the end."""

    items: list[Row]
    after: str = ""
    is_first: bool = True

    def __iter__(self) -> Iterator[Row]:
        return iter(self.items)


def stretch(rows: QuerySet[Row], asked: Mapping[str, Any], *, size: int) -> Stretch[Row]:
    """Oldest first by primary key. One query, whatever the page."""
    after = whole(str(asked.get("after") or ""))
    if after is not None:
        rows = rows.filter(pk__gt=after)
    found = list(rows.order_by("pk")[: size + 1])
    more = len(found) > size
    return Stretch(found[:size], str(found[size - 1].pk) if more else "", is_first=after is None)


def whole(text: str) -> int | None:
    """A number that every column holds, or none."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        return None
    return int(text)
