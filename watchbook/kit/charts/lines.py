"""Lines for rates and delays, with dashed limits that bear their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext

from watchbook.kit.charts.bars import bar_table
from watchbook.kit.charts.frame import (
    Frame,
    Place,
    grid,
    make_frame,
    missing_places,
    place_text,
    runs,
    time_axis,
    unmeasured,
    value_text,
)
from watchbook.kit.charts.svg import (
    PLACES,
    Chart,
    Drawing,
    Key,
    Series,
    Table,
    Value,
    drawing,
    element,
    hatched,
    points,
    short,
    shown,
    spread,
    words,
)


@dataclass(frozen=True)
class Limit:
    """A value that should not be crossed."""

    title: str
    value: float
    css: str = "c-warn"


def lines(
    places: Sequence[Place],
    series: Sequence[Series],
    *,
    label: str,
    limits: Sequence[Limit] = (),
    unit: str = "",
    is_from_zero: bool = True,
    place: str = "half",
) -> Chart:
    """A caption must say so when the axis does not start at zero."""
    drawings = tuple(
        Drawing(size, _draw(size, places, series, limits, label, unit, is_from_zero)) for size in PLACES[place]
    )
    keys = (Key(gettext("no data"), mark="hatch"),) if any(missing_places(places, series)) else ()
    table = bar_table(places, series)
    if len(series) > 1:  # sums of rates mean nothing
        table = Table(table.head[:-1], tuple(row[:-1] for row in table.rows))
    return Chart(drawings, table, keys)


def _draw(
    size: str,
    all_places: Sequence[Place],
    all_series: Sequence[Series],
    limits: Sequence[Limit],
    label: str,
    unit: str,
    is_from_zero: bool,
) -> SafeString:
    count = shown(size, len(all_places))
    places = all_places[-count:]
    series = [one.last(count, len(all_places)) for one in all_series]
    known = [value for one in series for value in one.values if value is not None]
    edges = [*known, *(limit.value for limit in limits)] or [0, 1]
    ends = [*(one.title for one in series), *(limit.title for limit in limits)]
    frame = make_frame(size, 0 if is_from_zero else min(edges), max(edges), ends=ends, unit=unit)
    parts = [*grid(frame), *unmeasured(frame, places, missing_places(places, series), is_band=False)]
    for limit in limits:
        y = frame.y(limit.value)
        parts.append(
            element("path", css=f"c-line c-dash {limit.css}", d=f"M{frame.left:.0f} {y:.1f}H{frame.right:.0f}")
        )
    for one in series:
        parts += _line(frame, places, one)
    parts += _ends(frame, series, limits)
    parts += time_axis(frame, places, frame.bottom + 18, is_band=False)
    return drawing(frame.width, frame.height, label, parts, f"d-{size}")


def _line(frame: Frame, places: Sequence[Place], one: Series) -> list[str]:
    """A line is broken where nothing was measured; a lonely measurement is a point."""
    parts, count = [], len(places)
    for first, last in runs([value is not None for value in one.values[:count]]):
        spots = [(frame.x(index, count), frame.y(one.values[index] or 0)) for index in range(first, last + 1)]
        if len(spots) > 1:
            parts.append(element("path", css=f"c-line {one.css}", d=points(spots)))
        for index, (x, y) in zip(range(first, last + 1), spots, strict=True):
            title = f"{place_text(places[index])}: {one.title} {value_text(one.values[index])}"
            css = "c-target" if len(spots) > 1 else f"c-fill {one.css}"
            parts.append(element("circle", title=title, css=css, cx=x, cy=y, r=6 if len(spots) > 1 else 2.5))
    return parts


def _ends(frame: Frame, series: Sequence[Series], limits: Sequence[Limit]) -> list[str]:
    """Names at the right end instead of a legend."""
    named = []
    for one in series:
        known = [value for value in one.values if value is not None]
        if known:
            named.append((frame.y(known[-1]), one.title, "c-strong"))
    named += [(frame.y(limit.value), limit.title, "c-text") for limit in limits]
    places = spread([y for y, _, _ in named], 15, frame.scale.top, frame.bottom)
    return [words(frame.right + 6, y + 4, text, css) for y, (_, text, css) in zip(places, named, strict=True)]


WIDTH, HEIGHT = 88, 24
_LEFT, _RIGHT, _TOP, _BOTTOM = 2, 84, 4, 22


def spark(values: Sequence[Value], *, label: str, css: str = "") -> SafeString:
    """88 × 24. What was not measured is hatched, not a zero; without any measurement only the ground line is drawn."""
    known = [value for value in values if value is not None]
    if not known:
        return drawing(
            WIDTH, HEIGHT, label, [element("path", css="c-axis", d=f"M2 {_BOTTOM}H{_RIGHT}")], f"spark {css}".strip()
        )
    highest = max(max(known), 0) or 1
    step = (_RIGHT - _LEFT) / (len(values) - 1) if len(values) > 1 else 0

    def spot(index: int) -> tuple[float, float]:
        share = max(values[index] or 0, 0) / highest
        return (_LEFT + index * step if step else _RIGHT, _BOTTOM - share * (_BOTTOM - _TOP))

    parts = []
    for first, last in runs([value is None for value in values]):
        begin, end = spot(max(0, first - 1))[0], spot(min(len(values) - 1, last + 1))[0]
        parts.append(hatched(begin, _TOP, end - begin, _BOTTOM - _TOP, step=5))
    for first, last in runs([value is not None for value in values]):
        piece = [spot(index) for index in range(first, last + 1)]
        ground = f"L{short(piece[-1][0])} {_BOTTOM + 1}L{short(piece[0][0])} {_BOTTOM + 1}z"
        parts.append(element("path", css="c-wash", d=points(piece) + ground))
        parts.append(element("path", css="c-line", d=points(piece)))
    if values[-1] is not None:
        x, y = spot(len(values) - 1)
        parts.append(element("circle", css="c-fill", cx=x, cy=y, r=2))
    return drawing(WIDTH, HEIGHT, label, parts, f"spark {css}".strip())
