"""The frame of a chart: margins that fit the labels, grid lines, the axis of time, what was not measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.utils.translation import gettext

from watchbook.kit.charts.svg import SIZES, Scale, Series, Value, element, hatched, round_steps, words
from watchbook.kit.formatting import day_text, local, number_text

CHARACTER = 7.2  # width of a figure at the size of the labels
FOOT = 24
HEAD = 12

Place = date | datetime


@dataclass(frozen=True)
class Frame:
    """The plot's place inside the drawing."""

    size: str
    width: float
    height: float
    left: float
    right: float
    scale: Scale
    steps: tuple[float, ...]
    unit: str = ""

    @property
    def bottom(self) -> float:
        return self.scale.bottom

    def y(self, value: float) -> float:
        return self.scale.y(value)

    def band(self, index: int, count: int) -> tuple[float, float]:
        """Left edge and width of a place among `count`."""
        width = (self.right - self.left) / max(1, count)
        return self.left + index * width, width

    def x(self, index: int, count: int) -> float:
        """A point among `count`, the first at the left edge, the last at the right."""
        return self.left + (self.right - self.left) * (index / (count - 1) if count > 1 else 0.5)


def make_frame(
    size: str, low: float, high: float, *, ends: Sequence[str] = (), unit: str = "", below: float = 0
) -> Frame:
    """A frame whose margins fit the labels. `below` keeps room under the plot for a second one."""
    width, height = SIZES[size]
    steps = round_steps(low, high, wanted=3 if size == "s" else 4)
    labels = [axis_text(step) for step in steps]
    left = max(len(label) for label in labels) * CHARACTER + 12
    right = width - (max(text_width(end) for end in ends) + 16 if any(ends) else 6)
    top = HEAD + (12 if unit else 0)
    return Frame(
        size, width, height + below, left, right, Scale(steps[0], steps[-1], top, height - FOOT), tuple(steps), unit
    )


def axis_text(value: float) -> str:
    return number_text(int(value)) if value == int(value) else number_text(value)


def text_width(text: str) -> float:
    """Chinese characters are twice as wide as figures."""
    return sum(12.5 if ord(letter) > 0x2E80 else CHARACTER for letter in text)


def grid(frame: Frame) -> Iterator[str]:
    """Four or five lines, the unit once above the top value; zero is the axis."""
    for step in frame.steps:
        y = frame.y(step)
        css = "c-axis" if step == 0 else "c-grid"
        yield element("path", css=css, d=f"M{frame.left:.0f} {y:.1f}H{frame.right:.0f}")
        yield words(frame.left - 7, y + 4, axis_text(step), "c-text c-end")
    if frame.unit:
        yield words(frame.left, frame.y(frame.steps[-1]) - 8, frame.unit, "c-text")


def time_axis(frame: Frame, places: Sequence[Place], y: float, *, is_band: bool) -> Iterator[str]:
    room = int((frame.right - frame.left) // 62)
    for index in ticks(places, room):
        start, width = frame.band(index, len(places))
        x = start + width / 2 if is_band else frame.x(index, len(places))
        text = place_tick(places[index])
        half = text_width(text) / 2
        x = min(max(x, half), frame.width - half)
        yield words(x, y, text, "c-text c-mid")


def ticks(places: Sequence[Place], room: int) -> list[int]:
    """Which places get a label: every third hour, Mondays, firsts of months; the finest that fits."""
    if not places:
        return []
    choices: list[list[int]] = []
    if isinstance(places[0], datetime):
        hours = [local(place).hour if isinstance(place, datetime) else 0 for place in places]
        choices = [[index for index, hour in enumerate(hours) if hour % every == 0] for every in (3, 6, 12, 24)]
    else:
        days = [place for place in places if not isinstance(place, datetime)]
        if len(days) <= 10:
            choices = [list(range(0, len(days), every)) for every in (1, 2, 3)]
        mondays = [index for index, day in enumerate(days) if day.weekday() == 0]
        firsts = [index for index, day in enumerate(days) if day.day == 1]
        choices += [mondays, mondays[::2], firsts, firsts[::3], firsts[::12]]
    fitting = [choice for choice in choices if 0 < len(choice) <= max(1, room)]
    return fitting[0] if fitting else [0]


def place_tick(place: Place) -> str:
    return f"{local(place):%H}" if isinstance(place, datetime) else day_text(place)


def place_text(place: Place) -> str:
    """A place of the axis in a title or a table."""
    if not isinstance(place, datetime):
        return day_text(place)
    there = local(place)
    return f"{day_text(there.date())} {there:%H:%M}"


def value_text(value: Value) -> str:
    if value is None:
        return gettext("no data")
    return number_text(round(value, 2) if isinstance(value, float) else value)


def missing_places(places: Sequence[Place], series: Sequence[Series], *, is_any: bool = False) -> list[bool]:
    """Where every series (or any of them) has no figure. Places after the last figure are not yet, not missing."""
    measured_to = max((len(one.values) for one in series), default=0)
    judge = any if is_any else all
    return [index < measured_to and judge(one.at(index) is None for one in series) for index in range(len(places))]


def unmeasured(frame: Frame, places: Sequence[Place], missing: Sequence[bool], *, is_band: bool) -> Iterator[str]:
    """Hatching over the full height for every run of places without a measurement."""
    for first, last in runs(missing):
        if is_band:
            begin, width = frame.band(first, len(places))
            finish = begin + width * (last - first + 1)
        else:
            begin, finish = (
                frame.x(max(0, first - 1), len(places)),
                frame.x(min(len(places) - 1, last + 1), len(places)),
            )
        top = frame.scale.top
        span = (
            place_text(places[first]) if first == last else f"{place_text(places[first])} – {place_text(places[last])}"
        )
        yield hatched(begin, top, finish - begin, frame.bottom - top, f"{span}: {gettext('no data')}")


def runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """First and last index of each unbroken run of True."""
    found: list[tuple[int, int]] = []
    for index, flag in enumerate(flags):
        if not flag:
            continue
        if found and found[-1][1] == index - 1:
            found[-1] = (found[-1][0], index)
        else:
            found.append((index, index))
    return found
