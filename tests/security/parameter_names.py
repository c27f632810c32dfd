"""Finds the query parameters that a page reads, by recording every read during a request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client

# A parameter may be looked at only when another one is there.
ROUNDS = 3


@contextmanager
def reading() -> Iterator[Counter[str]]:
    names: Counter[str] = Counter()

    def noted(method: Callable[..., Any]) -> Callable[..., Any]:
        def read(self: QueryDict, key: str, *args: Any, **kwargs: Any) -> Any:
            names[key] += 1
            return method(self, key, *args, **kwargs)

        return read

    with pytest.MonkeyPatch.context() as patch:
        for name in ("__getitem__", "__contains__", "getlist"):
            patch.setattr(QueryDict, name, noted(getattr(QueryDict, name)))
        yield names


@cache
def read_before_any_view() -> Counter[str]:
    """What the platform itself reads of every request, and how often."""
    with reading() as seen:
        Client().get("/nothing/at/all/")
    return seen


def names_read(browser: Client, path: str) -> list[str]:
    """What the view reads itself. Asked again with what it read, until it reads nothing new."""
    known: set[str] = set()
    platform = read_before_any_view()
    for _ in range(ROUNDS):
        with reading() as seen:
            browser.get(path, dict.fromkeys(sorted(known), "1"))
        own = set(seen - platform)
        if own <= known:
            break
        known |= own
    return sorted(known)
