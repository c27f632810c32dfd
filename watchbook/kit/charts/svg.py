"""What goes into a chart and what comes out, and the SVG elements that charts are drawn with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

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


def short(value: float) -> str:
    """A coordinate with at most one decimal."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def element(name: str, inside: str = "", /, title: str = "", **attributes: object) -> str:
    """An SVG element; `css` becomes class, numbers are shortened, texts are escaped."""
    written = "".join(
        f' {"class" if key == "css" else key.replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value not in (None, "")
    )
    content = (f"<title>{escape(title)}</title>" if title else "") + inside
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def _value(value: object) -> str:
    return short(value) if isinstance(value, (int, float)) else str(escape(str(value)))


def words(x: float, y: float, text: object, css: str = "c-text") -> str:
    return element("text", str(escape(str(text))), x=x, y=y, css=css)


def drawing(width: float, height: float, label: str, parts: Iterable[str], css: str = "") -> SafeString:
    inside = "".join(parts)
    view = f"0 0 {short(width)} {short(height)}"
    # A picture hides what is inside from screen readers, links too.
    role = "group" if "<a " in inside else "img"
    return mark_safe(element("svg", inside, css=css, viewBox=view, role=role, aria_label=label))  # noqa: S308 - escaped above


def points(pairs: Iterable[tuple[float, float]]) -> str:
    """A path through points."""
    return "".join(f"{'L' if index else 'M'}{short(x)} {short(y)}" for index, (x, y) in enumerate(pairs))


def box(x: float, y: float, width: float, height: float) -> str:
    """A rectangle as a piece of a path: many of one colour are one element."""
    return f"M{short(x)} {short(y)}h{short(width)}v{short(height)}h{short(-width)}z"


def hatched(x: float, y: float, width: float, height: float, title: str = "", step: float = 10) -> str:
    """Not measured: lines clipped by arithmetic, because a pattern needs an id that is unique on the page."""
    lines = []
    start = x - height + step / 2
    while start < x + width:
        begin, end = max(0.0, x - start), min(height, x + width - start)
        if end > begin:
            lines.append(
                f"M{short(start + begin)} {short(y + height - begin)}L{short(start + end)} {short(y + height - end)}"
            )
        start += step
    ground = element("path", css="c-none", d=box(x, y, width, height))
    return element("g", ground + element("path", css="c-hatch", d="".join(lines)), title=title)


@dataclass(frozen=True)
class Scale:
    """Values to heights, and the round numbers between."""

    low: float
    high: float
    top: float
    bottom: float

    def y(self, value: float) -> float:
        return self.bottom - (value - self.low) / (self.high - self.low) * (self.bottom - self.top)


def round_steps(low: float, high: float, wanted: int = 4) -> list[float]:
    """Four or five round values that cover low to high."""
    if high <= low:
        high = low + 1
    raw = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    if high - low >= 2 and high == int(high):
        step = max(1.0, step if step == int(step) else math.ceil(step))
    first, last = math.floor(low / step), math.ceil(high / step - 1e-9)
    return [index * step for index in range(first, last + 1)]


def spread(wanted: list[float], room: float, lowest: float, highest: float) -> list[float]:
    """Heights of labels moved apart so that none covers another, in the given order of places."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    placed = list(wanted)
    edge = lowest
    for index in order:
        placed[index] = max(wanted[index], edge)
        edge = placed[index] + room
    edge = highest
    for index in reversed(order):
        placed[index] = min(placed[index], edge)
        edge = placed[index] - room
    return placed
