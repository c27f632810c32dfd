"""A stacked area: shares of one whole over two weeks or more, named at the right end."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.safestring import SafeString
from django.utils.translation import gettext

from watchbook.core.ui.charts.bars import bar_table
from watchbook.core.ui.charts.frame import (
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
from watchbook.core.ui.charts.record import PLACES, Chart, Drawing, Key, Series, shown
from watchbook.core.ui.charts.svg import drawing, element, points, spread, words


def areas(
    places: Sequence[Place], series: Sequence[Series], *, label: str, unit: str = "", place: str = "half"
) -> Chart:
    """A place is whole only when every share was measured; otherwise it is hatched."""
    drawings = tuple(Drawing(size, _draw(size, places, series, label, unit)) for size in PLACES[place])
    keys = (Key(gettext("not measured"), mark="hatch"),) if any(missing_places(places, series, is_any=True)) else ()
    return Chart(drawings, bar_table(places, series), keys)


def _draw(size: str, all_places: Sequence[Place], all_series: Sequence[Series], label: str, unit: str) -> SafeString:
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
    parts += _targets(frame, places, series, whole)
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


def _targets(frame: Frame, places: Sequence[Place], series: Sequence[Series], whole: Sequence[bool]) -> list[str]:
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
