"""Bars per day, stacked by series, from zero.

Cells: a heat strip of hours by days, and a map with one cell per page of something long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.utils.safestring import SafeString
from django.utils.translation import gettext, pgettext

from watchbook.kit.charts.svg import (
    PLACES,
    SIZES,
    Chart,
    Drawing,
    Frame,
    Key,
    Place,
    Series,
    Table,
    Value,
    box,
    drawing,
    element,
    grid,
    hatched,
    make_frame,
    missing_places,
    place_text,
    points,
    runs,
    shown,
    spread,
    text_width,
    time_axis,
    unmeasured,
    value_text,
    words,
)
from watchbook.kit.formatting import day_text


def bars(
    places: Sequence[Place], series: Sequence[Series], *, label: str, unit: str = "", place: str = "main"
) -> Chart:
    """A place of the axis is not measured when no series has a figure for it."""
    drawings = tuple(Drawing(size, _draw(size, places, series, label, unit)) for size in PLACES[place])
    keys = [Key(one.title, one.css) for one in series] if len(series) > 1 else []
    if any(missing_places(places, series)):
        keys.append(Key(gettext("no data"), mark="hatch"))
    return Chart(drawings, bar_table(places, series), tuple(keys))


def _draw(size: str, all_places: Sequence[Place], all_series: Sequence[Series], label: str, unit: str) -> SafeString:
    count = shown(size, len(all_places))
    places = all_places[-count:]
    series = [one.last(count, len(all_places)) for one in all_series]
    totals = [sum(one.at(index) or 0 for one in series) for index in range(count)]
    frame = make_frame(size, 0, max(totals, default=0) or 1, unit=unit)
    parts = [*grid(frame), *unmeasured(frame, places, missing_places(places, series), is_band=True)]
    parts += _stacks(frame, series, count)
    parts += time_axis(frame, places, frame.bottom + 18, is_band=True)
    parts += _targets(frame, places, series)
    return drawing(frame.width, frame.height, label, parts, f"d-{size}")


def _stacks(frame: Frame, series: Sequence[Series], count: int) -> list[str]:
    """One element for each series; a hairline of the sheet between the parts of a bar."""
    ground = [0.0] * count
    parts = []
    for one in series:
        pieces = []
        for index in range(count):
            value = one.at(index) or 0
            if value <= 0:
                continue
            start, width = frame.band(index, count)
            gap = min(width * 0.28, 7)
            low, high = frame.y(ground[index]), frame.y(ground[index] + value)
            pieces.append(box(start + gap / 2, high, width - gap, max(low - high - 0.8, 0.5)))
            ground[index] += value
        if pieces:
            parts.append(element("path", css=f"c-fill {one.css}", d="".join(pieces)))
    return parts


def _targets(frame: Frame, places: Sequence[Place], series: Sequence[Series]) -> list[str]:
    """The whole column of a day answers the pointer."""
    parts = []
    for index, spot in enumerate(places):
        figures = [(one.title, one.at(index)) for one in series]
        known = [value for _, value in figures if value is not None]
        if not known:
            continue
        title = f"{place_text(spot)}: {value_text(sum(known))}"
        if len(series) > 1:
            title += "\n" + "\n".join(f"{name} {value_text(value)}" for name, value in figures if value)
        start, width = frame.band(index, len(places))
        top = frame.scale.top
        parts.append(
            element("rect", title=title, css="c-target", x=start, y=top, width=width, height=frame.bottom - top)
        )
    return parts


def bar_table(places: Sequence[Place], series: Sequence[Series]) -> Table:
    total = len(series) > 1
    head = (gettext("When"), *(one.title for one in series), *((pgettext("sum", "All"),) if total else ()))
    rows = []
    for index in range(len(places) - 1, -1, -1):
        figures = [one.at(index) for one in series]
        if all(index >= len(one.values) for one in series):
            continue
        known = [value for value in figures if value is not None]
        texts = [value_text(value) for value in figures]
        rows.append(
            (place_text(places[index]), *texts, *((value_text(sum(known) if known else None),) if total else ()))
        )
    return Table(head, tuple(rows))


def areas(
    places: Sequence[Place], series: Sequence[Series], *, label: str, unit: str = "", place: str = "half"
) -> Chart:
    """A place is whole only when every share was measured; otherwise it is hatched."""
    drawings = tuple(Drawing(size, _draw_areas(size, places, series, label, unit)) for size in PLACES[place])
    keys = (Key(gettext("no data"), mark="hatch"),) if any(missing_places(places, series, is_any=True)) else ()
    return Chart(drawings, bar_table(places, series), keys)


def _draw_areas(
    size: str, all_places: Sequence[Place], all_series: Sequence[Series], label: str, unit: str
) -> SafeString:
    count = shown(size, len(all_places))
    places = all_places[-count:]
    series = [one.last(count, len(all_places)) for one in all_series]
    measured = min((len(one.values) for one in series), default=0)
    missing = missing_places(places, series, is_any=True)
    whole = [index < measured and not missing[index] for index in range(count)]
    totals = [sum(one.at(index) or 0 for one in series) for index in range(count) if whole[index]]
    frame = make_frame(size, 0, max(totals, default=0) or 1, ends=[one.title for one in series], unit=unit)
    parts = [*grid(frame), *unmeasured(frame, places, missing, is_band=False)]
    parts += _layers(frame, series, whole)
    parts += _names(frame, series, whole)
    parts += time_axis(frame, places, frame.bottom + 18, is_band=False)
    parts += _area_targets(frame, places, series, whole)
    return drawing(frame.width, frame.height, label, parts, f"d-{size}")


def _layers(frame: Frame, series: Sequence[Series], whole: Sequence[bool]) -> list[str]:
    parts, count = [], len(whole)
    ground = [0.0] * count
    for one in series:
        roof = [ground[index] + (one.at(index) or 0) for index in range(count)]
        for first, last in runs(whole):
            there = [(frame.x(index, count), frame.y(roof[index])) for index in range(first, last + 1)]
            back = [(frame.x(index, count), frame.y(ground[index])) for index in range(last, first - 1, -1)]
            parts.append(element("path", title=one.title, css=f"c-fill c-rule {one.css}", d=points(there + back) + "z"))
        ground = roof
    return parts


def _names(frame: Frame, series: Sequence[Series], whole: Sequence[bool]) -> list[str]:
    if not any(whole):
        return []
    index = max(index for index, flag in enumerate(whole) if flag)
    wanted, ground = [], 0.0
    for one in series:
        value = one.at(index) or 0
        wanted.append(frame.y(ground + value / 2))
        ground += value
    places = spread(wanted, 15, frame.scale.top, frame.bottom)
    return [words(frame.right + 6, y + 4, one.title) for y, one in zip(places, series, strict=True)]


def _area_targets(frame: Frame, places: Sequence[Place], series: Sequence[Series], whole: Sequence[bool]) -> list[str]:
    parts, count = [], len(whole)
    width = (frame.right - frame.left) / max(1, count - 1)
    for index, flag in enumerate(whole):
        if not flag:
            continue
        title = place_text(places[index]) + "".join(f"\n{one.title} {value_text(one.at(index))}" for one in series)
        x = max(frame.left, frame.x(index, count) - width / 2)
        end = min(frame.right, frame.x(index, count) + width / 2)
        top = frame.scale.top
        parts.append(element("rect", title=title, css="c-target", x=x, y=top, width=end - x, height=frame.bottom - top))
    return parts


HOURS = 24
LEVELS = 5


def heat(
    days: Sequence[date], values: Sequence[Sequence[Value]], *, label: str, unit: str = "", place: str = "half"
) -> Chart:
    """Hour by day. `values` has one row per day, newest last; a row that is too short is a day that is not over."""
    highest = max((value for row in values for value in row if value is not None), default=0)
    drawings = tuple(Drawing(size, _draw_heat(size, days, values, highest, label, unit)) for size in PLACES[place])
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


def _draw_heat(
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
