"""What goes into a chart and what comes out, and the SVG elements that charts are drawn with.

The frame of a chart: margins that fit the labels, grid lines, the axis of time, what was not measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from watchbook.kit.formatting import day_text, local, number_text

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
    # 3 * 0.2 is 0.6000000000000001: the places of the step are enough.
    places = max(0, 1 - math.floor(math.log10(step)))
    return [round(index * step, places) for index in range(first, last + 1)]


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


CHARACTER = 7.2  # width of a figure at the size of the labels
FOOT = 24
HEAD = 12
FEW_PLACES = 6  # moments that each get a label

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
    size: str, low: float, high: float, *, ends: Sequence[str] = (), unit: str = "", below: float = 0, above: float = 0
) -> Frame:
    """A frame whose margins fit the labels. `below` keeps room under the plot for a second one, `above` for names."""
    width, height = SIZES[size]
    steps = round_steps(low, high, wanted=3 if size == "s" else 4)
    labels = [axis_text(step) for step in steps]
    left = max(len(label) for label in labels) * CHARACTER + 12
    right = width - (max(text_width(end) for end in ends) + 16 if any(ends) else 6)
    top = HEAD + above + (12 if unit else 0)
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
        text = place_tick(places[index], with_day=_spans_days(places))
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
        if len(places) <= FEW_PLACES:
            choices.insert(0, list(range(len(places))))
    else:
        days = [place for place in places if not isinstance(place, datetime)]
        if len(days) <= 10:
            choices = [list(range(0, len(days), every)) for every in (1, 2, 3)]
        mondays = [index for index, day in enumerate(days) if day.weekday() == 0]
        firsts = [index for index, day in enumerate(days) if day.day == 1]
        choices += [mondays, mondays[::2], firsts, firsts[::3], firsts[::12]]
    fitting = [choice for choice in choices if 0 < len(choice) <= max(1, room)]
    return fitting[0] if fitting else [0]


def _spans_days(places: Sequence[Place]) -> bool:
    """Whether hours alone would not say when it was."""
    first, last = places[0], places[-1]
    return isinstance(first, datetime) and isinstance(last, datetime) and last - first > timedelta(days=1)


def place_tick(place: Place, *, with_day: bool = False) -> str:
    if not isinstance(place, datetime):
        return day_text(place)
    there = local(place)
    if with_day:
        return day_text(there.date())
    return f"{there:%H:%M}" if there.minute else f"{there:%H}"


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
