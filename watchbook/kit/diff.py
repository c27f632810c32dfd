"""What changed between two versions of a text, by a shortest edit script (Myers) within a budget of steps.

`compare(old, new)` gives paragraphs of segments for "kit/_diff.html"; `segments(old, new)` a single line, for titles.
The work is counted in steps, not in seconds: the same two texts always give the same result. What costs more than the
budget is shown as one replacement; a text that is far too long is only reported as too large.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

SAME, REMOVED, ADDED = "same", "del", "ins"
FARTHEST = 1_000  # changes followed in one place: the trail of more would need too much memory

Edit = tuple[str, int, int]


class BudgetExceeded(Exception):
    """The budget is used up; show the place as one whole replacement."""


class Budget:
    """Steps that may still be made. Counted, not timed, so that the same texts always give the same answer."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.was_short = False

    def pay(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise BudgetExceeded


def edits(old: Sequence[str], new: Sequence[str], purse: Budget) -> list[Edit]:
    """(same, from, to) and (del, from, to) count in old, (ins, from, to) counts in new."""
    head, shorter = 0, min(len(old), len(new))
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    purse.pay(head + tail)
    found: list[Edit] = [(SAME, 0, head)] if head else []
    x = y = head
    for kind, count in _runs(_moves(old[head : len(old) - tail], new[head : len(new) - tail], purse)):
        start = y if kind == ADDED else x
        found.append((kind, start, start + count))
        x += count if kind != ADDED else 0
        y += count if kind != REMOVED else 0
    if tail:
        found.append((SAME, len(old) - tail, len(old)))
    return found


def _moves(old: Sequence[str], new: Sequence[str], purse: Budget) -> list[str]:
    if not old or not new:
        return [REMOVED] * len(old) + [ADDED] * len(new)
    backwards = _walk_back(_search(old, new, purse), len(old), len(new))
    return list(backwards)[::-1]


def _search(old: Sequence[str], new: Sequence[str], purse: Budget) -> list[dict[int, int]]:
    """How far each diagonal reaches before the first change, the second, and so on until both texts end."""
    reach = {1: 0}
    trail: list[dict[int, int]] = []
    for depth in range(min(len(old) + len(new), FARTHEST) + 1):
        trail.append(dict(reach))
        purse.pay(depth + 1)
        for k in range(-depth, depth + 1, 2):
            x = reach[k + 1] if _came_from_above(reach, k, depth) else reach[k - 1] + 1
            start = x
            while x < len(old) and x - k < len(new) and old[x] == new[x - k]:
                x += 1
            purse.pay(x - start)
            reach[k] = x
            if x >= len(old) and x - k >= len(new):
                return trail
    raise BudgetExceeded


def _came_from_above(reach: dict[int, int], k: int, depth: int) -> bool:
    """Is the better way to this diagonal an addition?"""
    return k == -depth or (k != depth and reach[k - 1] < reach[k + 1])


def _walk_back(trail: list[dict[int, int]], x: int, y: int) -> Iterator[str]:
    for depth in range(len(trail) - 1, -1, -1):
        reach, k = trail[depth], x - y
        before = k + 1 if _came_from_above(reach, k, depth) else k - 1
        start_x = reach[before]
        start_y = start_x - before
        while x > start_x and y > start_y:
            yield SAME
            x, y = x - 1, y - 1
        if depth:
            yield ADDED if x == start_x else REMOVED
            x, y = start_x, start_y


def _runs(moves: Iterable[str]) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for move in moves:
        if found and found[-1][0] == move:
            found[-1] = (move, found[-1][1] + 1)
        else:
            found.append((move, 1))
    return found


LONGEST = 2_000_000  # characters of both texts together
BUDGET = 1_500_000  # steps; about a second on a small machine
JOIN_BELOW = 2  # equal characters that are too few to stand between two changes

# A line break, blanks, a figure with its separators, one ideograph or kana, a word, or any other single character.
_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_TOKENS = re.compile(rf"\n|[^\S\n]+|\d+(?:[.,]\d+)+|[{_CJK}]|[^\W{_CJK}]+|.", re.DOTALL)


@dataclass(frozen=True)
class Segment:
    """A piece of text that stayed, went or came. `kind` is same, del or ins."""

    kind: str
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Segments of a changed paragraph, or the number of unchanged ones in a row."""

    segments: tuple[Segment, ...] = ()
    unchanged: int = 0


@dataclass(frozen=True)
class Pair:
    """A paragraph in both versions, or the number of unchanged ones."""

    old: tuple[Segment, ...] = ()
    new: tuple[Segment, ...] = ()
    unchanged: int = 0


@dataclass(frozen=True)
class Difference:
    """`added` and `removed` count characters. `is_coarse`: some places are shown as whole replacements."""

    paragraphs: tuple[Paragraph, ...] = ()
    added: int = 0
    removed: int = 0
    is_coarse: bool = False
    is_too_large: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.is_too_large and not self.added and not self.removed

    @property
    def pairs(self) -> list[Pair]:
        """The paragraphs side by side."""
        return [_pair(paragraph) for paragraph in self.paragraphs]


def _pair(paragraph: Paragraph) -> Pair:
    old = tuple(piece for piece in paragraph.segments if piece.kind != ADDED)
    new = tuple(piece for piece in paragraph.segments if piece.kind != REMOVED)
    return Pair(old, new, paragraph.unchanged)


def compare(old: str, new: str, *, budget: int = BUDGET) -> Difference:
    if len(old) + len(new) > LONGEST:
        return Difference(added=len(new), removed=len(old), is_too_large=True)
    purse = Budget(budget)
    paragraphs: list[Paragraph] = []
    added = removed = 0
    for kind, gone, come in _blocks(_lines(old), _lines(new), purse):
        if kind == SAME:
            paragraphs.append(Paragraph(unchanged=sum(1 for line in gone if line.strip())))
            continue
        pieces = _words("\n".join(gone), "\n".join(come), purse)
        removed += sum(len(piece.text) for piece in pieces if piece.kind == REMOVED)
        added += sum(len(piece.text) for piece in pieces if piece.kind == ADDED)
        paragraphs += [Paragraph(segments=tuple(part)) for part in _split(join(pieces))]
    kept = tuple(paragraph for paragraph in paragraphs if paragraph.segments or paragraph.unchanged)
    return Difference(kept, added, removed, is_coarse=purse.was_short)


def segments(old: str, new: str, *, budget: int = BUDGET) -> tuple[Segment, ...]:
    """The difference of two short texts in one line."""
    if len(old) + len(new) > LONGEST:
        return (Segment(REMOVED, old), Segment(ADDED, new))
    return tuple(join(_words(old, new, Budget(budget))))


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _blocks(old: list[str], new: list[str], purse: Budget) -> Iterator[tuple[str, list[str], list[str]]]:
    """Runs of equal and of changed paragraphs."""
    try:
        script = edits(old, new, purse)
    except BudgetExceeded:
        purse.was_short = True
        script = [(REMOVED, 0, len(old)), (ADDED, 0, len(new))]
    gone: list[str] = []
    come: list[str] = []
    for kind, first, last in script:
        if kind == SAME:
            if gone or come:
                yield ("changed", gone, come)
                gone, come = [], []
            yield (SAME, old[first:last], [])
        elif kind == REMOVED:
            gone = gone + old[first:last]
        else:
            come = come + new[first:last]
    if gone or come:
        yield ("changed", gone, come)


def _words(old: str, new: str, purse: Budget) -> list[Segment]:
    before, after = _TOKENS.findall(old), _TOKENS.findall(new)
    try:
        script = edits(before, after, purse)
    except BudgetExceeded:
        purse.was_short = True
        return [Segment(kind, text) for kind, text in ((REMOVED, old), (ADDED, new)) if text]
    source = {SAME: before, REMOVED: before, ADDED: after}
    return [Segment(kind, "".join(source[kind][first:last])) for kind, first, last in script]


def join(pieces: Sequence[Segment]) -> list[Segment]:
    """Removed before added, and no island of fewer than two equal characters between two changes."""
    joined: list[Segment] = []
    gone = come = ""
    for index, piece in enumerate(pieces):
        if piece.kind == REMOVED:
            gone += piece.text
        elif piece.kind == ADDED:
            come += piece.text
        elif (gone or come) and index + 1 < len(pieces) and len(piece.text) < JOIN_BELOW and "\n" not in piece.text:
            gone += piece.text
            come += piece.text
        else:
            joined += _changed(gone, come)
            gone = come = ""
            joined.append(piece)
    return joined + _changed(gone, come)


def _changed(gone: str, come: str) -> list[Segment]:
    return [Segment(kind, text) for kind, text in ((REMOVED, gone), (ADDED, come)) if text]


def _split(pieces: Sequence[Segment]) -> Iterator[list[Segment]]:
    """A new paragraph at each line break that both texts have."""
    paragraph: list[Segment] = []
    for piece in pieces:
        if piece.kind != SAME:
            paragraph.append(piece)
            continue
        for index, text in enumerate(piece.text.split("\n")):
            if index:
                yield paragraph
                paragraph = []
            if text:
                paragraph.append(Segment(SAME, text))
    yield paragraph


__all__ = ["Difference", "Pair", "Paragraph", "Segment", "compare", "segments"]
