"""Differences between two texts, word by word: Latin by word, Chinese by character.

`compare(old, new)` gives paragraphs of segments for "ui/_diff.html"; `segments(old, new)` a single line, for titles.
The work is counted in steps, not in seconds: the same two texts always give the same answer. What costs more than the
budget is shown as one whole replacement, and a text beyond all measure is only said to be too large.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from watchbook.core.ui.diff.script import ADDED, REMOVED, SAME, Purse, Spent, edits

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


def compare(old: str, new: str, *, budget: int = BUDGET) -> Difference:
    if len(old) + len(new) > LONGEST:
        return Difference(added=len(new), removed=len(old), is_too_large=True)
    purse = Purse(budget)
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
    return tuple(join(_words(old, new, Purse(budget))))


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _blocks(old: list[str], new: list[str], purse: Purse) -> Iterator[tuple[str, list[str], list[str]]]:
    """Runs of equal and of changed paragraphs."""
    try:
        script = edits(old, new, purse)
    except Spent:
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


def _words(old: str, new: str, purse: Purse) -> list[Segment]:
    before, after = _TOKENS.findall(old), _TOKENS.findall(new)
    try:
        script = edits(before, after, purse)
    except Spent:
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
