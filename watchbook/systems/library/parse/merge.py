"""Three-way merge of a page by blocks, then by words.

Both texts are compared with the version that both writers started from. A block is an outermost element of a cleaned
text. What only one writer changed is taken from that writer. What both changed in the same way is taken once. A block
that both changed is merged by its words and tags; words that both changed are a conflict with a choice.

`is_again`: the writer of `yours` has saved since, and may send words once more whose answer was lost. Such words come
once. Of two different writers both keep all words, also where they wrote the same one: "the cat", "the dog".
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html.parser import HTMLParser

from watchbook.systems.library.parse.html import TooComplex, clean

VOID = {"br", "hr", "img"}
THEIRS, YOURS, BOTH = "theirs", "yours", "both"
# The comparison needs the cube of this many blocks at worst. Longer texts are cut at blocks that occur once in both.
COMPARED = 200
# A tag, an entity, one Chinese character, a word, blanks, or one other sign.
_TOKEN = re.compile("<[^>]*>|&[^;\\s]{1,32};|[\u3400-\u9fff]|[^\\W\u3400-\u9fff]+|\\s+|.", re.DOTALL)
_TAG = re.compile("<(/?)([a-z0-9]+)")
# Two letters of one word, not of Chinese.
_WORD = re.compile("[^\\W\u3400-\u9fff]{2}")


@dataclass(frozen=True)
class Part:
    """A stretch of the merged text, or a conflict between two readings of it."""

    theirs: tuple[str, ...]
    yours: tuple[str, ...]
    is_conflict: bool = False
    base: tuple[str, ...] = ()

    def chosen(self, choice: str) -> list[str]:
        """Return the blocks of a choice. Both: blocks that are equal in both readings come once."""
        if not self.is_conflict or choice == THEIRS:
            return list(self.theirs)
        return list(self.yours) if choice == YOURS else union(self.theirs, self.yours)


@dataclass(frozen=True)
class _Edit:
    """Blocks `low` to `high` of the base are replaced by `blocks`."""

    low: int
    high: int
    blocks: tuple[str, ...]


def merge(base: str | None, theirs: str, yours: str, *, is_again: bool = False) -> list[Part]:
    """Return the parts of the merged text in order. Without a base every difference is a conflict."""
    if base is None:
        return list(_two_way(blocks(theirs), blocks(yours)))
    return list(_three_way(blocks(base), blocks(theirs), blocks(yours), is_again))


def merged_text(parts: Sequence[Part], choices: dict[str, str]) -> str:
    """Return the text of the choices, by number of the part. A conflict without a choice keeps both."""
    return "".join(block for number, part in enumerate(parts) for block in part.chosen(choices.get(str(number), BOTH)))


def merge_title(base: str | None, theirs: str, yours: str, *, is_again: bool = False) -> tuple[str, bool]:
    """Return the merged title, and whether both changed the same words of it. Then the title is yours."""
    if yours in (base, theirs):
        return theirs, False
    if theirs == base:
        return yours, False
    merged = merge_words(base, theirs, yours, is_again=is_again) if base is not None else None
    return (yours, True) if merged is None else (merged, False)


def merge_words(base: str, theirs: str, yours: str, *, is_again: bool = False) -> str | None:
    """Return the text with the changes of both, or None where both changed the same words.

    Two insertions at one point are both kept, first theirs, then yours; equal ones come once. With `is_again` words
    that both begin or end with come once, too.
    """
    joined = _once if is_again else _both
    tokens = _TOKEN.findall(base)
    left, right = _edits(tokens, _TOKEN.findall(theirs)), _edits(tokens, _TOKEN.findall(yours))
    found: list[str] = []
    place = 0
    while left or right:
        low, high, mine, others = _group(left, right)
        first, second = _applied(tokens, low, high, mine), _applied(tokens, low, high, others)
        if mine and others and first != second and low != high:
            return None
        found += tokens[place:low]
        found += joined(first, second) if mine and others else first if mine else second
        place = high
    return "".join([*found, *tokens[place:]])


def _both(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Return two insertions at one point, one after the other; equal ones once."""
    if first == second:
        return list(first)
    is_one_word = _WORD.fullmatch("".join(first)[-1:] + "".join(second)[:1])
    return [*first, " ", *second] if is_one_word else [*first, *second]


def _once(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Return two insertions at one point, one after the other; what both begin or end with comes once.

    A writer whose answer was lost sends words again that were saved before, with new words behind or before them.
    """
    ours, others = _spaced(first), _spaced(second)
    most = min(len(ours), len(others))
    head = next((n for n in range(most) if ours[n] != others[n]), most)
    while not _is_closed(ours[:head]):
        head -= 1
    most -= head
    tail = next((n for n in range(most) if ours[-1 - n] != others[-1 - n]), most)
    while not _is_closed(ours[len(ours) - tail :]):
        tail -= 1
    before, between = "".join(ours[: len(ours) - tail]), "".join(others[head : len(others) - tail])
    if _WORD.fullmatch(before[-1:] + between[:1]):
        return _both(first, second)  # else two words would become one
    return [before, between, *ours[len(ours) - tail :]]


def _spaced(tokens: Sequence[str]) -> list[str]:
    """Join each token with the blanks before it; with those behind it if the first token is none."""
    is_before = bool(tokens) and _is_blank(tokens[0])
    found: list[str] = []
    for number, token in enumerate(tokens):
        if number and _is_blank(tokens[number - 1] if is_before else token):
            found[-1] += token
        else:
            found.append(token)
    return found


def _is_blank(sign: str) -> bool:
    return sign.isspace() or sign == "<br>"


def _is_closed(tokens: Sequence[str]) -> bool:
    """Whether every element that begins in the tokens ends there, and the other way round."""
    depth = 0
    for end, name in _TAG.findall("".join(tokens)):
        depth += 0 if name in VOID else -1 if end else 1
        if depth < 0:
            return False
    return depth == 0


def union(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Return the blocks of both in order; equal ones once."""
    found: list[str] = []
    place = 0
    for edit in _edits(first, second):
        found += first[place : edit.high]
        found += edit.blocks
        place = edit.high
    return [*found, *first[place:]]


def _two_way(theirs: list[str], yours: list[str]) -> Iterator[Part]:
    place = 0
    for edit in _edits(theirs, yours):
        if same := tuple(theirs[place : edit.low]):
            yield Part(same, same)
        yield Part(tuple(theirs[edit.low : edit.high]), edit.blocks, is_conflict=True)
        place = edit.high
    if rest := tuple(theirs[place:]):
        yield Part(rest, rest)


def _three_way(base: list[str], theirs: list[str], yours: list[str], is_again: bool) -> Iterator[Part]:
    left, right = _edits(base, theirs), _edits(base, yours)
    place = 0
    while left or right:
        low, high, mine, others = _group(left, right)
        if same := tuple(base[place:low]):
            yield Part(same, same)
        yield from _resolved(
            base[low:high], _applied(base, low, high, mine), _applied(base, low, high, others), is_again
        )
        place = high
    if rest := tuple(base[place:]):
        yield Part(rest, rest)


def _group(left: list[_Edit], right: list[_Edit]) -> tuple[int, int, list[_Edit], list[_Edit]]:
    """Take the next edits that touch the same blocks of the base, from both lists."""
    first = left if not right or (left and (left[0].low, left[0].high) <= (right[0].low, right[0].high)) else right
    edit = first.pop(0)
    low, high = edit.low, edit.high
    taken: dict[int, list[_Edit]] = {id(left): [], id(right): []}
    taken[id(first)].append(edit)
    is_grown = True
    while is_grown:
        is_grown = False
        for side in (left, right):
            while side and _touches(side[0], low, high):
                edit = side.pop(0)
                taken[id(side)].append(edit)
                high = max(high, edit.high)
                is_grown = True
    return low, high, taken[id(left)], taken[id(right)]


def _touches(edit: _Edit, low: int, high: int) -> bool:
    """Neighbouring blocks are not the same blocks; two insertions at one point are."""
    if edit.low == edit.high and low == high:
        return edit.low == low
    return edit.low < high and edit.high > low


def _resolved(base: list[str], theirs: tuple[str, ...], yours: tuple[str, ...], is_again: bool) -> Iterator[Part]:
    """Yield the parts of blocks that at least one writer changed."""
    if theirs == yours or yours == tuple(base):
        yield Part(theirs, theirs)
    elif theirs == tuple(base):
        yield Part(yours, yours)
    elif not base:
        both = tuple(union(theirs, yours))  # two new paragraphs at one point: none replaces the other
        yield Part(both, both)
    elif len(base) == len(theirs) == len(yours):
        for triple in zip(base, theirs, yours, strict=True):
            yield _by_words(*((block,) for block in triple), is_again=is_again)
    else:
        yield _by_words(tuple(base), theirs, yours, is_again=is_again)


def _by_words(base: tuple[str, ...], theirs: tuple[str, ...], yours: tuple[str, ...], *, is_again: bool) -> Part:
    """Merge inside blocks. Tags that would no longer fit into each other are a conflict as well."""
    if theirs == yours or yours == base:
        return Part(theirs, theirs)
    if theirs == base:
        return Part(yours, yours)
    given = ("".join(side) for side in (base, theirs, yours))
    merged = merge_words(*given, is_again=is_again) if theirs and yours else None
    if merged is None or not _is_whole(merged):
        return Part(theirs, yours, is_conflict=True, base=base)
    kept = tuple(blocks(merged))
    return Part(kept, kept)


def _is_whole(html: str) -> bool:
    try:
        return clean(html) == html
    except TooComplex:
        return False


def _applied(base: list[str], low: int, high: int, edits: list[_Edit]) -> tuple[str, ...]:
    found: list[str] = []
    for edit in edits:
        found += base[low : edit.low]
        found += edit.blocks
        low = edit.high
    return (*found, *base[low:high])


def _edits(old: Sequence[str], new: Sequence[str]) -> list[_Edit]:
    """Return the edits that make `new` of `old`, in order."""
    found = []
    for low, high, start, end in _differing(old, new):
        for tag, a, b, c, d in SequenceMatcher(None, old[low:high], new[start:end], autojunk=False).get_opcodes():
            if tag != "equal":
                found.append(_Edit(low + a, low + b, tuple(new[start + c : start + d])))
    return found


def _differing(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield stretches that differ, cut at common blocks, each small enough to compare or without common blocks."""
    low, start, high, end = 0, 0, len(old), len(new)
    while low < high and start < end and old[low] == new[start]:
        low, start = low + 1, start + 1
    while high > low and end > start and old[high - 1] == new[end - 1]:
        high, end = high - 1, end - 1
    if max(high - low, end - start) <= COMPARED:
        yield low, high, start, end
        return
    for anchor, twin in [*_anchors(old, new, (low, high), (start, end)), (high, end)]:
        if max(anchor - low, twin - start) <= COMPARED:
            yield low, anchor, start, twin
        else:
            yield from ((low, anchor, start, start), (anchor, anchor, start, twin))
        low, start = anchor + 1, twin + 1


def _anchors(
    old: Sequence[str], new: Sequence[str], within: tuple[int, int], twins: tuple[int, int]
) -> list[tuple[int, int]]:
    """Return pairs of positions of blocks that occur once in both, in an order that is increasing in both."""
    counts, others = Counter(old[slice(*within)]), Counter(new[slice(*twins)])
    place = {new[n]: n for n in range(*twins)}
    pairs = [(n, place[old[n]]) for n in range(*within) if counts[old[n]] == 1 == others.get(old[n], 0)]
    # The longest increasing subsequence: `ends` are the smallest last positions of each length.
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for number, (_n, twin) in enumerate(pairs):
        length = bisect_left(ends, twin)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1], last[length : length + 1] = [twin], [number]
    found = []
    number = last[-1] if last else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


class _Blocks(HTMLParser):
    """Cuts cleaned markup between its outermost elements."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[str] = []
        self.open: list[str] = []
        self.depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(self.get_starttag_text() or "")
        self.depth += 0 if tag in VOID else 1
        self.cut()

    def handle_endtag(self, tag: str) -> None:
        self.open.append(f"</{tag}>")
        self.depth = max(0, self.depth - 1)
        self.cut()

    def handle_data(self, data: str) -> None:
        self.open.append(data)
        if self.depth == 0 and not data.strip():
            self.cut()

    def handle_entityref(self, name: str) -> None:
        self.open.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self.open.append(f"&#{name};")

    def cut(self) -> None:
        if self.depth == 0 and self.open:
            self.found.append("".join(self.open))
            self.open = []


def blocks(content: str) -> list[str]:
    """Return the outermost elements of a cleaned text in order; joined they are the text again."""
    reader = _Blocks()
    reader.feed(content)
    reader.close()
    reader.depth = 0
    reader.cut()
    return reader.found
