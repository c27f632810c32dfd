"""JSON of a response: prefix, repairs, and error messages of the site."""

from __future__ import annotations

import json
import re
from typing import Any

import orjson

from watchbook.systems.nga.parse import values
from watchbook.systems.nga.parse.errors import Damaged, LayoutChanged, Notes, Refused
from watchbook.systems.nga.parse.values import lines

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
    they are given as floats, and code that needs it must read again.
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


# `window.script_muti_get_var_store=` and its kind; `noprefix` is not always obeyed.
_PREFIX = re.compile(r"(?:[\s\ufeff;]+|/\*.*?\*/|(?:var\s+|window\.)?[\w$.]{1,60}\s*=(?!=))*+", re.DOTALL)
_CODED = re.compile(r"\s*(\d{1,9})\s*[:：]\s*(.*)", re.DOTALL)
_MARKUP = re.compile(r"<[^<>]{0,500}>")


def is_json(text: str) -> bool:
    """Does the text, past its prefix, begin like an object?"""
    return text.startswith("{", _start(text))


def read_payload(text: str, notes: Notes, *, keeps_spelling: bool = True) -> dict[str, Any]:
    """The `data` of an answer. Raises Refused with the site's own words when there is a message instead.

    Without `keeps_spelling` it is read faster, and values.raw_text raises SpellingLost where it would be needed.
    """
    document = _document(text[_start(text) :], notes, keeps_spelling=keeps_spelling)
    data = values.mapping(document.get("data") or document.get("result"))
    if has_rows(data):
        return data
    if (refusal := _refusal(document, data)) is not None:
        raise refusal
    if "currentPage" in document or "perPage" in document:
        raise LayoutChanged("app_answer")
    # A body that was cut and closed again by a repair on the way has its first keys only.
    raise LayoutChanged("missing_part" if "__GLOBAL" in data or "__CU" in data else "not_nga")


def has_rows(data: dict[str, Any]) -> bool:
    return "__R" in data or "__T" in data


def _start(text: str) -> int:
    found = _PREFIX.match(text)
    return found.end() if found else 0


def _document(text: str, notes: Notes, *, keeps_spelling: bool) -> dict[str, Any]:
    if not keeps_spelling:
        try:
            if isinstance(document := read_json_fast(text), dict):
                return document
        except ValueError:
            pass
    try:
        document, rest = read_json(text)
    except (ValueError, RecursionError):
        document, end = read_literal(text)
        rest = text[end:]
        notes.add("literal_repairs")
    if rest.strip(" \r\n\t;\0"):
        notes.add("text_after_end")
    if not isinstance(document, dict):
        raise Damaged("broken")
    return document


def _refusal(document: dict[str, Any], data: dict[str, Any]) -> Refused | None:
    """The site's words are in one of three places: data.__MESSAGE, error, or msg."""
    message = values.mapping(data.get("__MESSAGE"))
    if message:
        return Refused(
            _said(message.get("1")) or _first(document.get("error"))[1], values.whole(message.get("0")) or None
        )
    if document.get("error"):
        code, said = _first(document["error"])
        return Refused(said, code)
    if document.get("msg") or document.get("code"):
        return Refused(_said(document.get("msg")), values.whole(document.get("code")) or None)
    return None


def _first(error: Any) -> tuple[int | None, str]:
    said = _said(values.mapping(error).get("0") if isinstance(error, (dict, list)) else error)
    coded = _CODED.fullmatch(said)
    return (int(coded[1]), coded[2]) if coded else (None, said)


def _said(value: Any) -> str:
    return values.text(_MARKUP.sub(" ", lines(values.raw_text(value))))[:500]
