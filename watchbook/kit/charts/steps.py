"""A step line of a count, and below it what was added and removed, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext

from watchbook.kit.charts.frame import (
    Frame,
    Place,
    grid,
    make_frame,
    place_text,
    runs,
    text_width,
    time_axis,
    unmeasured,
    value_text,
)
from watchbook.kit.charts.svg import (
    PLACES,
    Chart,
    Drawing,
    Key,
    Table,
    Value,
    box,
    drawing,
    element,
    short,
    shown,
    words,
)
from watchbook.kit.formatting import number_text

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
    drawings = tuple(Drawing(size, _draw(size, data, label)) for size in PLACES[place])
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


def _draw(size: str, whole: _Data, label: str) -> SafeString:
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
