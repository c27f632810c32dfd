"""BBCode to tokens, in one pass over text whose entities are still in place: an escaped bracket opens no tag."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

TEXT, OPEN, CLOSE, SMILEY, MENTION, ITEM, RAW = "text", "open", "close", "smiley", "mention", "item", "raw"

# Tags whose body is taken as it stands, up to their own end.
RAW_TAGS = frozenset({"code", "img", "noimg", "flash", "attach", "iframe", "dice", "urlreplace"})
# Tags whose body is an address or an id when they carry no attribute.
RAW_WITHOUT_ATTRIBUTE = frozenset({"url", "tid", "pid", "stid"})
# An address that is longer is none; the end that was found belongs to another tag.
LONGEST_BODY = 2100

_BRACKETS = (
    r"\[s:(?P<smiley>[^\[\]\s]{1,20})\]"
    r"|\[@(?P<mention>[^\[\]\n]{1,40})\]"
    r"|(?P<item>\[\*\])"
    r"|\[(?P<end>/)?(?P<name>[a-zA-Z]{1,16})(?P<number>-?\d{1,3})?(?P<rest>(?:=|[ ])[^\[\]\n]{0,2100})?\]"
)
# All its branches begin with the same character, which is looked for quickly. Headings are rare and looked for slowly.
_TAG = re.compile(_BRACKETS)
# A line between marks is a heading.
_TAG_OR_HEADING = re.compile(
    rf"{_BRACKETS}|(?m:^)(?P<mark>={{3,50}}|-{{3,50}})(?P<title>[^\n=\-](?:[^\n]{{0,98}}?[^\n=\-])?)"
    r"(?:={3,50}|-{3,50})[ \t]{0,20}$",
    re.MULTILINE,
)
# People repeat the number of `[img50]` in its end.
_END = re.compile(rf"\[/({'|'.join(sorted(RAW_TAGS | RAW_WITHOUT_ATTRIBUTE))})(?:-?\d{{1,3}})?\]", re.IGNORECASE)


class Token(NamedTuple):
    """`text` is the source text; `body` is the content of a raw tag."""

    kind: str
    text: str
    name: str = ""
    number: str = ""
    attribute: str = ""
    body: str = ""


def tokens(source: str, known: frozenset[str]) -> Iterator[Token]:
    """Tokens in order; joined, their texts are the source."""
    ends = _Ends(source)
    has_marks = "===" in source or "---" in source
    search = (_TAG_OR_HEADING if has_marks else _TAG).search
    last = at = 0
    while (hit := search(source, at)) is not None:
        found, end = _token(hit, source, ends, known)
        if not found:
            # A line of marks may hide a tag behind its first character, so that the search continues right there.
            at = hit.start() + 1 if has_marks and hit["mark"] else hit.end()
            continue
        if hit.start() > last:
            yield Token(TEXT, source[last : hit.start()])
        yield from found
        last = at = end
    if last < len(source):
        yield Token(TEXT, source[last:])


def _token(hit: re.Match[str], source: str, ends: _Ends, known: frozenset[str]) -> tuple[list[Token], int]:
    whole, given = hit[0], hit["name"]
    if given is None:
        return _nameless(hit, known), hit.end()
    name = given.lower()
    if name not in known:
        return [], hit.end()
    if hit["end"]:
        return [Token(CLOSE, whole, name)], hit.end()
    attribute = (hit["rest"] or "")[1:]
    made = Token(OPEN, whole, name, hit["number"] or "", attribute)
    if name in RAW_TAGS or (name in RAW_WITHOUT_ATTRIBUTE and not attribute):
        closing = ends.after(name, hit.end())
        if not closing or (name != "code" and closing[0] - hit.end() > LONGEST_BODY):
            return [], hit.end()
        start, end = closing
        raw = Token(RAW, source[hit.start() : end], name, made.number, attribute, source[hit.end() : start])
        return [raw], end
    return [made], hit.end()


def _nameless(hit: re.Match[str], known: frozenset[str]) -> list[Token]:
    if hit["smiley"]:
        return [Token(SMILEY, hit[0], attribute=hit["smiley"])]
    if hit["mention"]:
        return [Token(MENTION, hit[0], attribute=hit["mention"])]
    return [Token(ITEM, hit[0], name="*")] if hit["item"] else _heading(hit, known)


def _heading(hit: re.Match[str], known: frozenset[str]) -> list[Token]:
    marks = hit[0].split(hit["title"], 1) if hit["title"] else [hit[0], ""]
    if not marks[1].strip().startswith(hit["mark"][0]):
        return []
    inner = list(tokens(hit["title"], known))
    return [Token(OPEN, marks[0], "h"), *inner, Token(CLOSE, marks[1], "h")]


class _Ends:
    """Positions of closing raw tags, searched once: many open tags without an end stay cheap."""

    def __init__(self, source: str) -> None:
        self.source = source

    @cached_property
    def places(self) -> dict[str, list[tuple[int, int]]]:
        found: dict[str, list[tuple[int, int]]] = {}
        for hit in _END.finditer(self.source):
            found.setdefault(hit[1].lower(), []).append((hit.start(), hit.end()))
        return found

    def after(self, name: str, position: int) -> tuple[int, int] | None:
        places = self.places.get(name, [])
        index = bisect_left(places, (position, 0))
        return places[index] if index < len(places) else None
