"""Finds the query parameters that a page reads, by recording every read during a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client

# A parameter may be looked at only when another one is there.
ROUNDS = 3


@contextmanager
def reading() -> Iterator[set[str]]:
    names: set[str] = set()

    def noted(method: Callable[..., Any]) -> Callable[..., Any]:
        def read(self: QueryDict, key: str, *args: Any, **kwargs: Any) -> Any:
            names.add(key)
            return method(self, key, *args, **kwargs)

        return read

    with pytest.MonkeyPatch.context() as patch:
        for name in ("__getitem__", "__contains__", "getlist"):
            patch.setattr(QueryDict, name, noted(getattr(QueryDict, name)))
        yield names


def names_read(browser: Client, path: str) -> list[str]:
    """Asked again with what it read, until it reads nothing new."""
    known: set[str] = set()
    for _ in range(ROUNDS):
        with reading() as seen:
            browser.get(path, dict.fromkeys(sorted(known), "1"))
        if seen <= known:
            break
        known |= seen
    return sorted(known)
