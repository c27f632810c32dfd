"""Selects occurrences for scripted rules: the n-th, the first n, from the n-th on."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Which:
    """Of all things that fit, which ones: the n-th (or several), the first so many, from the n-th on, or all."""

    nth: int | Collection[int] | None = None
    first: int | None = None
    from_nth: int | None = None

    def holds(self, number: int) -> bool:
        if self.nth is not None:
            return number == self.nth if isinstance(self.nth, int) else number in self.nth
        if self.first is not None:
            return number <= self.first
        return self.from_nth is None or number >= self.from_nth


class Counted:
    """Counts what fits and what was treated, and can be lifted."""

    def __init__(self, number: int, which: Which, lift: Callable[[int], None]) -> None:
        self.number = number
        self.seen = 0
        self.hits = 0
        self._which = which
        self._lift = lift

    def lift(self) -> None:
        """Let things be normal again."""
        self._lift(self.number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.lift()

    def is_due(self) -> bool:
        self.seen += 1
        return self._which.holds(self.seen)
