"""The first day of what is checked: one mark per check on an axis of hours, as one bar per day says nothing yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.safestring import SafeString
from django.utils.translation import gettext

from watchbook.kit.charts.bars import bar_table
from watchbook.kit.charts.svg import (
    PLACES,
    Chart,
    Drawing,
    Frame,
    Key,
    Series,
    drawing,
    element,
    grid,
    make_frame,
    place_text,
    text_width,
    value_text,
    words,
)
from watchbook.kit.formatting import local

# Minutes between the labels of the axis: the first that needs no more labels than fit.
MINUTES = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360)
LABELS = {"s": 4, "m": 7, "l": 9, "xl": 12}
APART = 7  # pixels between the marks of one check
NAMES = 10  # pixels over the plot for the names of the dashed lines, where no mark reaches them


@dataclass(frozen=True)
class _Axis:
    """Time from left to right, from a round minute to a round minute."""

    start: datetime
    end: datetime
    step: timedelta

    @classmethod
    def over(cls, first: datetime, now: datetime, most: int) -> _Axis:
        step = next((each for each in MINUTES if (now - first) <= timedelta(minutes=each * (most - 1))), MINUTES[-1])
        there = local(first)
        start = there.replace(hour=0, minute=0, second=0, microsecond=0)
        start += timedelta(minutes=(there.hour * 60 + there.minute) // step * step)
        steps = int((now - start) / timedelta(minutes=step)) + 1
        return cls(start, start + timedelta(minutes=steps * step), timedelta(minutes=step))

    def x(self, frame: Frame, moment: datetime) -> float:
        return frame.left + (frame.right - frame.left) * ((moment - self.start) / (self.end - self.start))

    def labels(self) -> Iterator[datetime]:
        moment = self.start
        while moment <= self.end:
            yield moment
            moment += self.step


def checks(
    moments: Sequence[datetime],
    series: Sequence[Series],
    *,
    now: datetime,
    first: str,
    label: str,
    below: Sequence[str] = (),
    place: str = "full",
) -> Chart:
    """`first` names the first check, whose figures do not count. Series in `below` are drawn under the axis.

    A check whose figures are None failed; a check of zeros is an empty ring.
    """
    drawings = tuple(Drawing(size, _draw(size, moments, series, now, first, label, below)) for size in PLACES[place])
    keys = tuple(Key(one.title, one.css) for one in series)
    return Chart(drawings, bar_table(moments, series), keys)


def _draw(
    size: str,
    moments: Sequence[datetime],
    series: Sequence[Series],
    now: datetime,
    first: str,
    label: str,
    below: Sequence[str],
) -> SafeString:
    axis = _Axis.over(moments[0], now, LABELS[size])
    above = [value or 0 for one in series if one.title not in below for value in one.values]
    under = [value or 0 for one in series if one.title in below for value in one.values]
    frame = make_frame(size, -max([0, *under]), max([1, *above]), above=NAMES)
    parts = [*grid(frame), *_times(frame, axis)]
    parts += _upright(frame, axis.x(frame, moments[0]), first, "c-grid c-dash", "c-text")
    parts += _upright(frame, axis.x(frame, now), gettext("now"), "c-line c-dash c-accent", "c-strong")
    for place, moment in enumerate(moments):
        parts += _mark(frame, axis.x(frame, moment), moment, [(one, one.at(place)) for one in series], below)
    return drawing(frame.width, frame.height, label, parts, f"d-{size}")


def _times(frame: Frame, axis: _Axis) -> Iterator[str]:
    for moment in axis.labels():
        text = f"{local(moment):%H:%M}"
        half = text_width(text) / 2
        x = min(max(axis.x(frame, moment), half), frame.width - half)
        yield words(x, frame.bottom + 18, text, "c-text c-mid")


def _upright(frame: Frame, x: float, text: str, css: str, text_css: str) -> list[str]:
    """A dashed line over the whole height with its name beside it, on the side that has room."""
    is_left = x + text_width(text) + 6 > frame.width
    top = frame.scale.top - NAMES
    line = element("path", css=css, d=f"M{x:.1f} {top - 8:.1f}V{frame.bottom:.1f}")
    name = words(x - 5 if is_left else x + 5, top, text, f"{text_css} c-end" if is_left else text_css)
    return [line, name]


def _mark(
    frame: Frame, x: float, moment: datetime, figures: Sequence[tuple[Series, float | int | None]], below: Sequence[str]
) -> list[str]:
    ground = frame.y(0)
    title = place_text(moment) + "".join(f"\n{one.title} {value_text(value)}" for one, value in figures)
    if all(value is None for _, value in figures):
        cross = f"M{x - 4:.1f} {ground - 4:.1f}l8 8m0 -8l-8 8"
        return [element("path", title=f"{place_text(moment)}: {gettext('failed')}", css="c-line c-del", d=cross)]
    drawn = [(one, value) for one, value in figures if value]
    if not drawn:
        return [element("circle", title=title, css="c-dot c-accent", cx=x, cy=ground, r=3.5)]
    parts = []
    start = x - APART * (len(drawn) - 1) / 2
    for place, (one, value) in enumerate(drawn):
        at, y = start + APART * place, frame.y(-value if one.title in below else value)
        parts.append(element("path", css=f"c-line {one.css}", d=f"M{at:.1f} {ground:.1f}V{y:.1f}"))
        parts.append(element("circle", title=title, css=f"c-fill {one.css}", cx=at, cy=y, r=4))
    return parts
