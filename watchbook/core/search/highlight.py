"""Marks in the text as it was written, for words that were found in its folded form.

The result is a list of plain segments; `{% marked parts %}` escapes and shows them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from watchbook.core.search.tokens import fold

BEFORE = 40
EXCERPT = 200
# Folded in steps of this size when looking for the place of a match in a long text.
STEP = 400
# Characters that fold to exactly one character each: nearly all of what is written. Measured: twenty times faster than
# going through a text cluster by cluster.
_PLAIN = re.compile(
    "[\t\n\r -~\u00b7\u00c0-\u00d6\u00d8-\u00de\u00e0-\u00f6\u00f8-\u00ff\u2013\u2014\u2018-\u201d"
    "\u3000-\u3029\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uff01-\uff5e]+"
)


@dataclass(frozen=True)
class Segment:
    """A piece of text; marked when it is what was looked for."""

    text: str
    is_match: bool = False


def mark(text: str, pattern: re.Pattern[str]) -> tuple[Segment, ...]:
    """The whole text in segments."""
    folded, starts = _folded_with_places(text)
    segments: list[Segment] = []
    done = 0
    for match in pattern.finditer(folded):
        if match.start() == match.end():
            continue
        begin, end = starts[match.start()], starts[match.end()]
        if begin > done:
            segments.append(Segment(text[done:begin]))
        if end > max(begin, done):
            segments.append(Segment(text[max(begin, done) : end], is_match=True))
            done = end
    if done < len(text):
        segments.append(Segment(text[done:]))
    return tuple(segments)


def excerpt(text: str, pattern: re.Pattern[str]) -> tuple[Segment, ...]:
    """A few lines around the first match; the beginning when there is none."""
    begin = max(0, _first_match(text, pattern) - BEFORE)
    begin = _after_space(text, begin)
    end = min(len(text), begin + EXCERPT)
    cut = " ".join(text[begin:end].split())
    segments = list(mark(cut, pattern))
    if begin > 0:
        segments.insert(0, Segment("… "))
    if end < len(text):
        segments.append(Segment(" …"))
    return tuple(segments)


def _first_match(text: str, pattern: re.Pattern[str]) -> int:
    """Where the first match begins in the text as written, to within one cluster of characters."""
    match = pattern.search(fold(text))
    if match is None:
        return 0
    passed = 0
    for begin, end in _steps(text):
        length = len(fold(text[begin:end]))
        if passed + length > match.start():
            _folded, starts = _folded_with_places(text[begin:end])
            return begin + starts[min(match.start() - passed, len(starts) - 1)]
        passed += length
    return 0


def _steps(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    while begin < len(text):
        end = min(begin + STEP, len(text))
        while end < len(text) and _joins(text[end - 1], text[end]):
            end += 1
        yield begin, end
        begin = end


def _folded_with_places(text: str) -> tuple[str, list[int]]:
    """The folded text, and for each of its characters where it comes from; one place more for the end."""
    folded: list[str] = []
    places: list[int] = []
    begin = 0
    while begin < len(text):
        plain = _PLAIN.match(text, begin)
        # The last plain character may carry an accent that follows it.
        end = plain.end() - (plain.end() < len(text)) if plain else begin
        if end > begin:
            places += range(begin, end)
            folded.append(fold(text[begin:end]))
        else:
            end = _cluster_end(text, begin)
            folded.append(piece := fold(text[begin:end]))
            places += [begin] * len(piece)
        begin = end
    return "".join(folded), [*places, len(text)]


def _cluster_end(text: str, begin: int) -> int:
    end = begin + 1
    while end < len(text) and _joins(text[end - 1], text[end]):
        end += 1
    return end


def _joins(first: str, second: str) -> bool:
    """Would folding melt the two together, like a letter and its accent?"""
    if second < "\u0300" or "\u3400" <= second <= "\u9fff":
        return False
    return fold(first + second) != fold(first) + fold(second)


def _after_space(text: str, begin: int) -> int:
    """Begin at a word when one begins nearby, never inside a cluster."""
    if begin == 0:
        return 0
    space = re.compile(r"\s").search(text, begin, begin + BEFORE // 2)
    begin = space.end() if space else begin
    while 0 < begin < len(text) and _joins(text[begin - 1], text[begin]):
        begin += 1
    return begin


register = template.Library()


@register.simple_tag
def marked(parts: Iterable[Segment]) -> SafeString:
    pieces = (
        format_html("<mark>{}</mark>", part.text) if part.is_match else conditional_escape(part.text) for part in parts
    )
    return mark_safe("".join(pieces))  # noqa: S308 - every piece was escaped
