"""What goes into a chart and what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

Value = float | int | None


@dataclass(frozen=True)
class Series:
    """One row of figures. `css` is the class that colours it: sys-<slug>, c-h1 … c-h5, c-accent."""

    title: str
    values: Sequence[Value]
    css: str = "c-accent"

    def at(self, index: int) -> Value:
        return self.values[index] if index < len(self.values) else None

    def last(self, count: int, of: int) -> Series:
        """The figures of the last `count` places of an axis of `of` places."""
        return Series(self.title, self.values[of - count :], self.css)


@dataclass(frozen=True)
class Key:
    """A line of the legend; `mark` is fill, line or hatch."""

    title: str
    css: str = ""
    mark: str = "fill"


@dataclass(frozen=True)
class Drawing:
    """One SVG; `size` is the width it is made for: s, m, l or xl."""

    size: str
    svg: SafeString


@dataclass(frozen=True)
class Table:
    """The same figures as text, newest first."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Chart:
    drawings: tuple[Drawing, ...]
    table: Table
    keys: tuple[Key, ...] = ()

    @property
    def largest(self) -> str:
        return self.drawings[-1].size


# Width of the drawing, height, and whether it shows the whole period.
SIZES: dict[str, tuple[int, int]] = {"s": (300, 196), "m": (600, 240), "l": (900, 260), "xl": (1180, 300)}
# Where a chart stands decides how far it may grow: half a page, the main column, the whole page.
PLACES: dict[str, tuple[str, ...]] = {"half": ("s", "m"), "main": ("s", "m", "l"), "full": ("s", "m", "l", "xl")}


def shown(size: str, count: int) -> int:
    """How many places of the axis a drawing shows: a phone sees half the period, but never less than a week."""
    return count if size != "s" else min(count, max(7, (count + 1) // 2))
