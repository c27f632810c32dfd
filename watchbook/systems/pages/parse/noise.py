"""Noise of pages: lines that differ between two readings of the same page, and lines that most pages of a site share.

A mask is learned from two looks moments apart. What differs then is no change: a line of which most words stay
becomes a template, other lines become a slot between their two neighbours, and a field is ignored. A slot holds only
while both neighbours stand: as soon as one changes, the noise is seen again and learned again with the next two looks,
so that no real change beside it is lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import Any

from watchbook.kit.diff import ADDED, REMOVED, SAME, Budget, BudgetExceeded, edits

MOST_ENTRIES = 200
LONGEST_SLOT = 20
BUDGET = 300_000
# A template needs this share of characters that stay.
FIXED_SHARE = 0.5
WILDCARD = "…"
BOILERPLATE_SHARE, BOILERPLATE_PAGES, MOST_BOILERPLATE = 0.6, 5, 300
_WORDS = re.compile(r"[^\W\d_]+|\d+(?:[.,:/-]\d+)*|\S")


@dataclass(frozen=True)
class Slot:
    """Up to `most` lines between two lines, given by their digests; an empty digest is the edge of the text."""

    before: str
    after: str
    most: int
    example: str = ""


@dataclass(frozen=True)
class Mask:
    """What is ignored when two versions of a page are compared."""

    slots: tuple[Slot, ...] = ()
    templates: tuple[str, ...] = ()
    fields: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.slots or self.templates or self.fields)

    def as_json(self) -> dict[str, Any]:
        return {
            "slots": [[slot.before, slot.after, slot.most, slot.example] for slot in self.slots],
            "templates": list(self.templates),
            "fields": sorted(self.fields),
        }

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Mask:
        slots = tuple(Slot(*each) for each in stored.get("slots", ()))
        return cls(slots, tuple(stored.get("templates", ())), frozenset(stored.get("fields", ())))


@dataclass
class _Found:
    slots: list[Slot] = field(default_factory=list)
    templates: list[str] = field(default_factory=list)


def digest(line: str) -> str:
    return blake2b(line.encode("utf-8", "replace"), digest_size=6).hexdigest()


def learn(first: str, second: str, fields: tuple[Mapping[str, str], Mapping[str, str]], known: Mask) -> Mask:
    """Add what differs between two readings at the same moment to a mask."""
    old, new, found = first.split("\n"), second.split("\n"), _Found()
    differing = {name for name in {*fields[0], *fields[1]} if fields[0].get(name) != fields[1].get(name)}
    try:
        script = edits(old, new, Budget(BUDGET)) if first != second else []
    except BudgetExceeded:
        script = []
    for gone, come in _replaced(script):
        _learn_block(old, new, gone, come, found)
    slots = dict.fromkeys([*known.slots, *(slot for slot in found.slots if not _has(known.slots, slot))])
    templates = dict.fromkeys([*known.templates, *found.templates])
    return Mask(tuple(slots)[-MOST_ENTRIES:], tuple(templates)[-MOST_ENTRIES:], known.fields | differing)


def _has(slots: Sequence[Slot], wanted: Slot) -> bool:
    same = (slot for slot in slots if (slot.before, slot.after) == (wanted.before, wanted.after))
    return any(slot.most >= wanted.most for slot in same)


def _replaced(script: Sequence[tuple[str, int, int]]) -> list[tuple[range, range]]:
    """Blocks of lines that differ, as places in both texts."""
    found: list[tuple[range, range]] = []
    x = y = 0
    gone, come = range(0), range(0)
    for kind, start, end in [*script, (SAME, 0, 0)]:
        if kind == SAME:
            if gone or come:
                found.append((gone or range(x, x), come or range(y, y)))
            x, y = x + len(gone) + end - start, y + len(come) + end - start
            gone, come = range(0), range(0)
        elif kind == REMOVED:
            gone = range(gone.start if gone else start, end)
        elif kind == ADDED:
            come = range(come.start if come else start, end)
    return found


def _learn_block(old: list[str], new: list[str], gone: range, come: range, found: _Found) -> None:
    most = max(len(gone), len(come))
    if most > LONGEST_SLOT:
        return
    if len(gone) == len(come):
        made = [template(old[a], new[b]) for a, b in zip(gone, come, strict=True)]
        if all(made):
            found.templates += made
            return
    before = digest(old[gone.start - 1]) if gone.start else ""
    after = digest(old[gone.stop]) if gone.stop < len(old) else ""
    example = new[come.start] if come else old[gone.start]
    found.slots.append(Slot(before, after, most, example[:120]))


def template(one: str, other: str) -> str:
    """The words that two lines share, in their order, with a wildcard for the rest; empty if too few stay."""
    first, second = _WORDS.findall(one), _WORDS.findall(other)
    try:
        script = edits(first, second, Budget(20_000))
    except BudgetExceeded:
        return ""
    made: list[str] = []
    for kind, start, end in script:
        if kind == SAME:
            made += first[start:end]
        elif not made or made[-1] != WILDCARD:
            made.append(WILDCARD)
    kept = sum(len(word) for word in made if word != WILDCARD)
    enough = kept >= FIXED_SHARE * max(sum(map(len, first)), sum(map(len, second)), 1)
    # A line of figures alone has nothing that names it.
    return " ".join(made) if enough and any(word.isalpha() and len(word) > 1 for word in made) else ""


def _pattern(made: str) -> re.Pattern[str]:
    # One wildcard takes few words: a whole new sentence in its place is a change.
    parts = [r"\S{1,60}(?: \S{1,60}){0,3}" if word == WILDCARD else re.escape(word) for word in made.split(" ")]
    return re.compile(" ?".join(parts))


class Masking:
    """Applies a mask and the boilerplate of the site to texts and fields."""

    def __init__(self, mask: Mask, boilerplate: Iterable[str] = ()) -> None:
        self.mask = mask
        self._shared = frozenset(boilerplate)
        self._patterns = [(made, _pattern(made)) for made in mask.templates]
        self._slots: dict[str, list[Slot]] = {}
        for slot in mask.slots:
            self._slots.setdefault(slot.before, []).append(slot)

    def lines(self, text: str) -> list[str]:
        """Lines of a text without noise."""
        kept = self._outside_slots(text.split("\n")) if self._slots else text.split("\n")
        shown = [self._templated(line) for line in kept] if self._patterns else kept
        return [line for line in shown if line and line not in self._shared]

    def text(self, text: str) -> str:
        return "\n".join(self.lines(text))

    def fields(self, fields: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in fields.items() if name not in self.mask.fields}

    def _templated(self, line: str) -> str:
        words = " ".join(_WORDS.findall(line))
        return next((made for made, pattern in self._patterns if pattern.fullmatch(words)), line)

    def _outside_slots(self, lines: list[str]) -> list[str]:
        digests = [digest(line) for line in lines]
        kept: list[str] = []
        skip_to = self._end_of_slot("", digests, 0)
        for at, line in enumerate(lines):
            if at < skip_to:
                continue
            kept.append(line)
            skip_to = self._end_of_slot(digests[at], digests, at + 1)
        return kept

    def _end_of_slot(self, before: str, digests: list[str], start: int) -> int:
        """The place after a slot that begins here; `start` if there is none."""
        for slot in self._slots.get(before, ()):
            window = digests[start : start + slot.most + 1]
            if slot.after in window:
                return start + window.index(slot.after)
            if not slot.after and len(digests) - start <= slot.most:
                return len(digests)
        return start


def shared_lines(texts: Sequence[str]) -> list[str]:
    """Lines that are on most of these pages of a site: menus, footers, banners."""
    if len(texts) < BOILERPLATE_PAGES:
        return []
    counts = Counter(line for text in texts for line in set(text.split("\n")) if line)
    enough = BOILERPLATE_SHARE * len(texts)
    return sorted(line for line, count in counts.most_common(5_000) if count >= enough)[:MOST_BOILERPLATE]


def similarity(one: str, other: str) -> float:
    """The share of word pairs that two texts have in common, from 0 to 1."""
    first, second = (_pairs(text) for text in (one, other))
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 0.0


def _pairs(text: str) -> Counter[tuple[str, str]]:
    words = [letter for word in _WORDS.findall(text) for letter in (word if _is_cjk(word) else (word,))]
    return Counter(pairwise(words))


def _is_cjk(word: str) -> bool:
    return "\u2e80" <= word[0] <= "\u9fff"


_COUNTED = re.compile(r"[\u2e80-\u9fff]|[^\W\u2e80-\u9fff]+")


def count_words(text: str) -> int:
    return len(_COUNTED.findall(text))
