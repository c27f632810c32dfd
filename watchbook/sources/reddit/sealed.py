"""Where this system keeps sealed values."""

from __future__ import annotations

from collections.abc import Iterator

from watchbook.base.store.resealing import Writing, seal_anew
from watchbook.sources.reddit.fetch.token import BINDING
from watchbook.sources.reddit.models import Access


def reseal(writing: Writing) -> Iterator[tuple[str, str]]:
    yield from seal_anew(Access.objects.all(), "sealed_token", lambda _row: BINDING, writing)
