"""JavaScript literals: what the source prints where JSON or a list of arguments is expected.

Reads what JSON readers refuse: `\\x5C`, raw control characters, `+1`, `007`, single quotes, bare keys, comments,
missing values, function calls as opaque text. One pass, no recursion.
"""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from watchbook.sources.nga.parse.errors import Damaged

DEEPEST = 200

_SKIP = re.compile(r"(?:[\s\ufeff]+|/\*.*?\*/)*+", re.DOTALL)
_DOUBLE = re.compile(r'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_SINGLE = re.compile(r"'([^'\\]*+(?:\\.[^'\\]*+)*+)'", re.DOTALL)
_BARE = re.compile(r"[^\s,:;{}\[\]()\"'/]+")
_WHOLE = re.compile(r"-?(?:0|[1-9]\d{0,17})")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_SHORT = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": ""}
_WORDS = {"null": None, "undefined": None, "true": True, "false": False}
_MISSING = object()


# The one whole number whose spelling a reader changes.
_MINUS_ZERO = re.compile(r"-0(?![\d.eE])")


def read_json_fast(text: str) -> Any:
    """A document and nothing behind it, in a third of the time. Fractions and the longest numbers lose their spelling:
    they are given as floats, and whoever needs it must read again.
    """
    if _MINUS_ZERO.search(text):
        raise ValueError("a number that would lose its spelling unseen")
    return orjson.loads(text)


def read_json(text: str) -> tuple[Any, str]:
    """A document by the rules of JSON, keeping the spelling of numbers that a reader would change."""
    decoder = json.JSONDecoder(parse_float=str, parse_int=_whole, parse_constant=str, strict=False)
    value, end = decoder.raw_decode(text)
    return value, text[end:]


def read_literal(text: str, start: int = 0) -> tuple[Any, int]:
    """The value at `start` and where it ends. Raises Damaged("cut") when the text ends inside it."""
    reader = _Reader(text, start)
    try:
        return reader.read(), reader.at
    except IndexError:
        raise Damaged("cut") from None


def read_arguments(text: str, start: int) -> list[Any]:
    """The arguments of a call; `start` is just behind its opening bracket."""
    reader = _Reader(text, start)
    try:
        return reader.arguments()
    except IndexError:
        raise Damaged("cut") from None


def _whole(digits: str) -> int | str:
    # Longer ones are no ids; and the source prints texts made of digits as numbers.
    return int(digits) if len(digits) <= 18 and digits != "-0" else digits


class _Reader:
    """Holds open containers in a list of its own. An IndexError of `self.text[...]` means that the text ended."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.at = start

    def skip(self) -> str:
        found = _SKIP.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.text[self.at]

    def read(self) -> Any:
        stack: list[_Open] = []
        while True:
            value = self._next(stack)
            if value is _MISSING:
                continue
            if not stack:
                return value
            stack[-1].take(value)

    def _next(self, stack: list[_Open]) -> Any:
        """The next scalar or closed container; _MISSING after a mark that is no value."""
        mark = self.skip()
        if mark in "{[":
            if len(stack) >= DEEPEST:
                raise Damaged("too_deep")
            self.at += 1
            stack.append(_Open(mark))
            return _MISSING
        if stack and mark in "}]":
            self.at += 1
            return stack.pop().closed(mark)
        if stack and mark in ",:":
            self.at += 1
            stack[-1].mark(mark)
            return _MISSING
        return self.scalar(mark)

    def scalar(self, mark: str) -> Any:
        if mark in "\"'":
            return self._string(mark)
        found = _BARE.match(self.text, self.at)
        if not found:
            raise Damaged("cut" if self.text.startswith("/*", self.at) else "broken")
        self.at = found.end()
        if self.at == len(self.text):
            raise Damaged("cut")
        word = found[0]
        if word in _WORDS:
            return _WORDS[word]
        return int(word) if _WHOLE.fullmatch(word) and word != "-0" else word

    def _string(self, mark: str) -> str:
        found = (_DOUBLE if mark == '"' else _SINGLE).match(self.text, self.at)
        if not found:
            raise Damaged("cut")
        self.at = found.end()
        return _ESCAPE.sub(_unescaped, found[1]) if "\\" in found[1] else found[1]

    def arguments(self) -> list[Any]:
        found: list[Any] = []
        value: Any = _MISSING
        while (mark := self.skip()) != ")":
            if mark == ",":
                self.at += 1
                found.append(None if value is _MISSING else value)
                value = _MISSING
            elif mark == "(":
                # `$('name')`: an element, known by its name.
                self.at += 1
                inner = self._flat()
                value = f"{'' if value is _MISSING else value}({inner})"
            else:
                value = self.read() if mark in "{[" else self.scalar(mark)
        return found if value is _MISSING and not found else [*found, None if value is _MISSING else value]

    def _flat(self) -> str:
        end = self.text.index(")", self.at) if ")" in self.text[self.at : self.at + 500] else -1
        if end < 0:
            raise Damaged("broken")
        inner, self.at = self.text[self.at : end], end + 1
        return inner


class _Open:
    """A container whose end was not seen yet."""

    def __init__(self, mark: str) -> None:
        self.items: list[Any] | None = [] if mark == "[" else None
        self.pairs: dict[str, Any] = {}
        self.key: Any = _MISSING
        self.last: Any = _MISSING

    def take(self, value: Any) -> None:
        # Two values without a mark between them: a quote was not escaped, and guessing would invent text.
        if self.last is not _MISSING:
            raise Damaged("broken")
        self.last = value

    def mark(self, mark: str) -> None:
        if mark == ",":
            self._settle()
        elif self.items is None and self.key is _MISSING and isinstance(self.last, (str, int)):
            self.key, self.last = self.last, _MISSING
        else:
            raise Damaged("broken")

    def _settle(self) -> None:
        if self.items is not None:
            if self.last is not _MISSING:
                self.items.append(self.last)
        elif self.key is _MISSING and self.last is not _MISSING:
            raise Damaged("broken")
        elif self.key is not _MISSING:
            self.pairs[str(self.key)] = None if self.last is _MISSING else self.last
        self.key = self.last = _MISSING

    def closed(self, mark: str) -> Any:
        if (mark == "]") != (self.items is not None):
            raise Damaged("broken")
        self._settle()
        return self.pairs if self.items is None else self.items


def _unescaped(hit: re.Match[str]) -> str:
    code = hit[1] or hit[2]
    if code:
        return chr(int(code, 16))
    return _SHORT.get(hit[3], hit[3])
