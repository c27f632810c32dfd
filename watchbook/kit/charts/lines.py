"""Lines for rates and delays, with dashed limits that bear their names.

A step line of a count, and below it what was added and removed, on one scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext

from watchbook.kit.charts.bars import bar_table
from watchbook.kit.charts.svg import (
    PLACES,
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
    short,
    shown,
    spread,
    text_width,
    time_axis,
    unmeasured,
    value_text,
    words,
)
from watchbook.kit.formatting import number_text


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


LOWER = 104  # height of the second plot, with the room above it
FEWEST = 4  # values between the ends of the axis: half a page is nothing to count


@dataclass(frozen=True)
class Note:
    """A few words at one place of the line."""

    index: int
    text: str


def steps(
    places: Sequence[Place],
    values: Sequence[Value],
    *,
    added: Sequence[int],
    removed: Sequence[int],
    label: str,
    title: str,
    notes: Sequence[Note] = (),
    place: str = "full",
) -> Chart:
    """`title` names what is counted. The axis of the line need not start at zero: it shows a level, not a share."""
    data = _Data(places, values, added, removed, notes)
    drawings = tuple(Drawing(size, _draw_steps(size, data, label)) for size in PLACES[place])
    keys = [Key(title, "c-accent", "line"), Key(gettext("added"), "c-add"), Key(gettext("removed"), "c-del")]
    if any(value is None for value in values):
        keys.append(Key(gettext("no data"), mark="hatch"))
    return Chart(drawings, _table(data, title), tuple(keys))


@dataclass(frozen=True)
class _Data:
    places: Sequence[Place]
    values: Sequence[Value]
    added: Sequence[int]
    removed: Sequence[int]
    notes: Sequence[Note] = ()

    def last(self, count: int) -> _Data:
        cut = len(self.places) - count
        kept = [Note(note.index - cut, note.text) for note in self.notes if note.index >= cut]
        return _Data(self.places[cut:], self.values[cut:], self.added[cut:], self.removed[cut:], kept)


def _draw_steps(size: str, whole: _Data, label: str) -> SafeString:
    data = whole.last(shown(size, len(whole.places)))
    known = [value for value in data.values if value is not None] or [0, 1]
    low = max(0, min(known) - max((max(known) - min(known)) * 0.1, FEWEST / 2))
    frame = make_frame(size, low, max(*known, low + FEWEST), below=LOWER)
    parts = [*grid(frame), *unmeasured(frame, data.places, [value is None for value in data.values], is_band=True)]
    parts += _level(frame, data)
    parts += _changes(frame, data)
    parts += time_axis(frame, data.places, frame.height - 6, is_band=True)
    return drawing(frame.width, frame.height, label, parts, f"d-{size}")


def _middle(frame: Frame, index: int, count: int) -> float:
    start, width = frame.band(index, count)
    return start + width / 2


def _level(frame: Frame, data: _Data) -> list[str]:
    parts, count = [], len(data.places)
    for first, last in runs([value is not None for value in data.values]):
        path = ""
        for index in range(first, last + 1):
            start, width = frame.band(index, count)
            y = frame.y(data.values[index] or 0)
            path += (
                f"V{short(y)}H{short(start + width)}" if path else f"M{short(start)} {short(y)}H{short(start + width)}"
            )
        parts.append(element("path", css="c-line c-accent", d=path))
    if frame.size != "s":
        parts += [_note(frame, data, note) for note in data.notes if data.values[note.index] is not None]
    ends = [index for index, value in enumerate(data.values) if value is not None]
    if ends:
        x, y = _middle(frame, ends[-1], count), frame.y(data.values[ends[-1]] or 0)
        text = value_text(data.values[ends[-1]])
        parts.append(element("circle", title=text, css="c-dot c-accent", cx=x, cy=y, r=3.5))
        parts.append(words(x - 8, y - 7 if y > 24 else y + 16, text, "c-strong c-end"))
    return parts


def _note(frame: Frame, data: _Data, note: Note) -> str:
    x, y = _middle(frame, note.index, len(data.places)), frame.y(data.values[note.index] or 0)
    dot = element("circle", title=note.text, css="c-dot c-accent", cx=x, cy=y, r=3.5)
    half = text_width(note.text) / 2
    inside = min(max(x, frame.left + half), frame.right - half)
    return dot + words(inside, min(y + 20, frame.bottom - 4), note.text, "c-text c-mid")


def _changes(frame: Frame, data: _Data) -> list[str]:
    most = max([*data.added, *data.removed, 1])
    middle, reach, count = frame.bottom + LOWER / 2 + 8, LOWER / 2 - 20, len(data.places)
    parts = [
        element("path", css="c-axis", d=f"M{frame.left:.0f} {middle:.1f}H{frame.right:.0f}"),
        words(frame.left - 7, middle - reach + 8, f"+{number_text(most)}", "c-text c-end"),
        words(frame.left - 7, middle + reach, f"−{number_text(most)}", "c-text c-end"),
    ]
    up, down = [], []
    for index, spot in enumerate(data.places):
        start, width = frame.band(index, count)
        gap = min(width * 0.4, 7)
        plus = data.added[index] if index < len(data.added) else 0
        minus = data.removed[index] if index < len(data.removed) else 0
        if plus:
            height = max(plus / most * reach, 1.2)
            up.append(box(start + gap / 2, middle - height, width - gap, height))
        if minus:
            down.append(box(start + gap / 2, middle, width - gap, max(minus / most * reach, 1.2)))
        if index < len(data.values) and data.values[index] is not None:
            text = f"{place_text(spot)}: {value_text(data.values[index])}, +{number_text(plus)} −{number_text(minus)}"
            top = frame.scale.top
            parts.append(
                element("rect", title=text, css="c-target", x=start, y=top, width=width, height=middle + reach - top)
            )
    # The coloured bars come before the targets, so that the pointer always meets a title.
    bars = [element("path", css=f"c-fill {css}", d="".join(d)) for css, d in (("c-add", up), ("c-del", down)) if d]
    return bars + parts


def _table(data: _Data, title: str) -> Table:
    rows = [
        (
            place_text(data.places[index]),
            value_text(data.values[index]),
            number_text(data.added[index] if index < len(data.added) else 0),
            number_text(data.removed[index] if index < len(data.removed) else 0),
        )
        for index in range(min(len(data.places), len(data.values)) - 1, -1, -1)
    ]
    return Table((gettext("When"), title, gettext("added"), gettext("removed")), tuple(rows))
