"""Cells: a heat strip of hours by days, and a map with one cell per page of something long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.utils.safestring import SafeString
from django.utils.translation import gettext

from watchbook.kit.charts.frame import text_width, value_text
from watchbook.kit.charts.svg import PLACES, SIZES, Chart, Drawing, Key, Table, Value, drawing, element, hatched, words
from watchbook.kit.formatting import day_text

HOURS = 24
LEVELS = 5


def heat(
    days: Sequence[date], values: Sequence[Sequence[Value]], *, label: str, unit: str = "", place: str = "half"
) -> Chart:
    """Hour by day. `values` has one row per day, newest last; a row that is too short is a day that is not over."""
    highest = max((value for row in values for value in row if value is not None), default=0)
    drawings = tuple(Drawing(size, _draw(size, days, values, highest, label, unit)) for size in PLACES[place])
    # The ends of the scale are written, the ramp stands between them.
    ramp = [
        Key("0" if level == 0 else value_text(highest) if level == LEVELS else "", f"c-h{level}") for level in range(6)
    ]
    if any(value is None for row in values for value in row):
        ramp.append(Key(gettext("no data"), mark="hatch"))
    head = (gettext("When"), *(f"{hour:02d}" for hour in range(HOURS)))
    rows = tuple(
        (day_text(day), *(value_text(value) for value in row), *([""] * (HOURS - len(row))))
        for day, row in zip(reversed(days), reversed(values), strict=True)
    )
    return Chart(drawings, Table(head, rows), tuple(ramp))


def _draw(
    size: str, days: Sequence[date], values: Sequence[Sequence[Value]], highest: float, label: str, unit: str
) -> SafeString:
    width = SIZES[size][0]
    left = max((text_width(day_text(day)) for day in days), default=0) + 8
    step, row = (width - left) / HOURS, 20
    parts = []
    for line, (day, figures) in enumerate(zip(days, values, strict=True)):
        y = line * (row + 2)
        parts.append(words(0, y + 14, day_text(day)))
        for hour in range(HOURS):
            x = left + hour * step
            when = f"{day_text(day)} {hour:02d}:00"
            if hour >= len(figures):
                parts.append(element("path", css="c-grid", d=f"M{x:.1f} {y + row / 2}h{step - 2:.1f}"))
            elif (value := figures[hour]) is None:
                parts.append(hatched(x, y, step - 2, row, f"{when}: {gettext('no data')}", step=6))
            else:
                title = f"{when}: {value_text(value)} {unit}".strip()
                css = f"c-fill c-h{level_of(value, highest)}"
                parts.append(element("rect", title=title, css=css, x=x, y=y, width=step - 2, height=row, rx=1.5))
    foot = len(days) * (row + 2) + 14
    parts += [words(left + hour * step, foot, f"{hour:02d}") for hour in range(0, HOURS, 6 if size == "s" else 3)]
    return drawing(width, foot + 6, label, parts, f"d-{size}")


def level_of(value: float, highest: float) -> int:
    """0 for nothing, else 1 to 5 by the share of the highest."""
    if value <= 0 or highest <= 0:
        return 0
    return min(LEVELS, 1 + int(value / highest * LEVELS * 0.9999))


@dataclass(frozen=True)
class Cell:
    """One page of something long; `is_marked` draws a warning frame and a stroke."""

    title: str
    css: str = "c-h1"
    is_marked: bool = False
    href: str = ""


def cells(given: Sequence[Cell], *, label: str, columns: int = 13) -> SafeString:
    """A map for a side column. Bounded by the caller: a cell is an element."""
    side, step = 18, 21
    parts = []
    for index, cell in enumerate(given):
        x, y = index % columns * step, index // columns * step
        drawn = element("rect", title=cell.title, css=f"c-fill {cell.css}", x=x, y=y, width=side, height=side, rx=2)
        if cell.is_marked:
            drawn += element(
                "path", css="c-line c-warn", d=f"M{x} {y + side}L{x + side} {y}M{x + 0.5} {y + 0.5}h17v17h-17z"
            )
        parts.append(element("a", drawn, href=cell.href, aria_label=cell.title) if cell.href else drawn)
    rows = max(1, -(-len(given) // columns))
    return drawing(columns * step - 3, rows * step - 3, label, parts, "cells")
