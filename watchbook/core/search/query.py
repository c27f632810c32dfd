"""The query language, read into one tree: words, phrases, OR, -, brackets and attributes such as `author:`.

A text is never an error: what is no operator is a word. One pass finds the pieces, one pass builds the tree; length,
depth and number of terms have limits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from functools import cached_property
from typing import Protocol

from django.utils import timezone

from watchbook.base.text import clean_text
from watchbook.core.search.tokens import Term, author_key, fold, place_key, site_key, term_of, words_of

MAX_QUERY = 400
MAX_TERMS = 32
MAX_DEPTH = 8
LARGEST_SCORE = 2**53

# Full-width brackets and colons and all kinds of quotes mean the same as the plain ones.
_PLAIN = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "＂": '"', "（": "(", "）": ")", "：": ":"})
_PIECE = re.compile(
    r"\s*(?P<minus>(?<![^\s(])-(?=[^\s\-]))?"
    r'(?:(?P<name>[A-Za-z]+)(?P<sign>:|>=|<=|>|<|=)(?:"(?P<quoted>[^"]*)"|(?P<value>[^\s"()]+))'
    r'|"(?P<phrase>[^"]*)"|(?P<bracket>[()])|(?P<chunk>[^\s"()]+|"))|\s+'
)
_DAY = re.compile(r"([0-9]{4})(?:-([0-9]{1,2}))?(?:-([0-9]{1,2}))?")
YEARS = range(1970, 2200)
_NUMBER = re.compile(r"[+-]?[0-9]{1,16}")


class Fields(Protocol):
    """What a query is compared with. Texts are folded; `types` are the names of the document's kind."""

    @property
    def title(self) -> str: ...
    @property
    def body(self) -> str: ...
    @property
    def author(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def place(self) -> str: ...
    @property
    def site(self) -> str: ...
    @property
    def types(self) -> frozenset[str]: ...
    @property
    def score(self) -> int | None: ...
    @property
    def occurred_at(self) -> datetime: ...


@dataclass(frozen=True)
class Words:
    """A word or a phrase, in the title alone with `title:`."""

    term: Term
    in_title: bool = False

    def holds(self, fields: Fields, *, titled: bool) -> bool:
        search = self.term.pattern.search
        return bool(search(fields.title) or (not titled and not self.in_title and search(fields.body)))


@dataclass(frozen=True)
class Attribute:
    """A condition on who, where, what, when or how much. `value` is in the form in which documents keep it."""

    name: str
    sign: str
    value: str | int | datetime

    def holds(self, fields: Fields, *, titled: bool) -> bool:
        return ATTRIBUTES[self.name](self, fields)


@dataclass(frozen=True)
class All:
    children: tuple[Node, ...]

    def holds(self, fields: Fields, *, titled: bool) -> bool:
        return all(child.holds(fields, titled=titled) for child in self.children)


@dataclass(frozen=True)
class Either:
    children: tuple[Node, ...]

    def holds(self, fields: Fields, *, titled: bool) -> bool:
        return any(child.holds(fields, titled=titled) for child in self.children)


@dataclass(frozen=True)
class Not:
    child: Node

    def holds(self, fields: Fields, *, titled: bool) -> bool:
        # What must be missing must be missing everywhere.
        return not self.child.holds(fields, titled=False)


Node = Words | Attribute | All | Either | Not


def _is_in(asked: Attribute, fields: Fields) -> bool:
    return asked.value == fields.source or f"{fields.place}/".startswith(f"{asked.value}/")


def _is_of_site(asked: Attribute, fields: Fields) -> bool:
    return f".{fields.site}".endswith(f".{asked.value}") if fields.site else False


def _compares(asked: Attribute, fields: Fields) -> bool:
    return fields.score is not None and COMPARISONS[asked.sign](fields.score, int(str(asked.value)))


COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    ">=": lambda score, asked: score >= asked,
    "<=": lambda score, asked: score <= asked,
    ">": lambda score, asked: score > asked,
    "<": lambda score, asked: score < asked,
    "=": lambda score, asked: score == asked,
}
ATTRIBUTES: dict[str, Callable[[Attribute, Fields], bool]] = {
    "author": lambda asked, fields: asked.value == fields.author,
    "in": _is_in,
    "site": _is_of_site,
    "type": lambda asked, fields: asked.value in fields.types,
    "before": lambda asked, fields: isinstance(asked.value, datetime) and fields.occurred_at < asked.value,
    "after": lambda asked, fields: isinstance(asked.value, datetime) and fields.occurred_at >= asked.value,
    "score": _compares,
}


@dataclass(frozen=True)
class Query:
    """What was asked, as typed and as a tree; false when there is nothing to look for."""

    text: str
    root: Node | None = None
    is_cut: bool = False

    def __bool__(self) -> bool:
        return self.root is not None

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The words that are looked for, without those that must be missing."""
        found = (node.term for node in _asked(self.root) if isinstance(node, Words))
        return tuple({term.pattern.pattern: term for term in found}.values())

    @cached_property
    def has_numbers(self) -> bool:
        """Does it ask for a score, which may change?"""
        return any(isinstance(node, Attribute) and node.name == "score" for node in _every(self.root))

    @property
    def is_exact(self) -> bool:
        """Does the index alone answer nearly right?"""
        return not any(isinstance(node, Not) for node in _every(self.root)) and all(
            term.is_exact for term in self.terms
        )

    @cached_property
    def marks(self) -> re.Pattern[str]:
        """Finds any of the terms, longest first; nothing when there is none."""
        terms = sorted(self.terms, key=lambda term: -len(term.text))
        return re.compile("|".join(term.pattern.pattern for term in terms) or "(?!)")

    def is_found(self, fields: Fields) -> bool:
        return self.root is not None and self.root.holds(fields, titled=False)

    def is_title_hit(self, fields: Fields) -> bool:
        """Found by the words of the title alone; a query without words finds nothing by its title."""
        return bool(self.terms) and self.root is not None and self.root.holds(fields, titled=True)


def _asked(node: Node | None) -> Iterator[Node]:
    """The leaves that are not below a minus."""
    if isinstance(node, All | Either):
        for child in node.children:
            yield from _asked(child)
    elif node is not None and not isinstance(node, Not):
        yield node


def _every(node: Node | None) -> Iterator[Node]:
    if node is not None:
        yield node
    children = node.children if isinstance(node, All | Either) else (node.child,) if isinstance(node, Not) else ()
    for child in children:
        yield from _every(child)


def read(text: str) -> Query:
    """The query in a text. A text without any word gives a query that is false and finds nothing."""
    kept = clean_text(text[:MAX_QUERY]).translate(_PLAIN)
    reader = _Reader(kept)
    root = reader.group(0)
    return Query(kept.strip(), root, is_cut=len(text) > MAX_QUERY or reader.is_cut)


class _Reader:
    """Pieces from left to right. Brackets are known to be pairs before the tree is built."""

    def __init__(self, text: str) -> None:
        self.pieces = [piece for piece in _PIECE.finditer(text) if piece.group().strip()]
        self.closing = self._pairs()
        self.at = 0
        self.terms = 0
        self.is_cut = False

    def _pairs(self) -> dict[int, int]:
        """Places of opening brackets that have a partner, and of the partner."""
        open_at: list[int] = []
        pairs: dict[int, int] = {}
        for place, piece in enumerate(self.pieces):
            if piece["bracket"] == "(":
                open_at.append(place)
            elif piece["bracket"] == ")" and open_at:
                pairs[open_at.pop()] = place
        return pairs

    def group(self, depth: int, end: int | None = None) -> Node | None:
        """All pieces up to a place. OR joins its two neighbours, so that `a b OR c` is a and one of b, c."""
        end = len(self.pieces) if end is None else end
        parts: list[list[Node]] = []
        is_joined = False
        while self.at < end:
            if self._is_or(end, bool(parts)) and not is_joined:
                is_joined = True
                self.at += 1
                continue
            node = self._next(depth)
            if node is None:
                continue
            if is_joined:
                parts[-1].append(node)
            else:
                parts.append([node])
            is_joined = False
        if is_joined:
            # What followed OR held no word.
            parts += [[node] for node in [self._words("or")] if node]
        return _joined(All, tuple(_joined(Either, tuple(part)) for part in parts))

    def _is_or(self, end: int, has_left: bool) -> bool:
        return has_left and self.pieces[self.at]["chunk"] == "OR" and self.at + 1 < end and not self._minus()

    def _minus(self) -> bool:
        return bool(self.pieces[self.at]["minus"])

    def _next(self, depth: int) -> Node | None:
        piece, place, minus = self.pieces[self.at], self.at, self._minus()
        self.at += 1
        node: Node | None
        if piece["bracket"]:
            if place not in self.closing or depth >= MAX_DEPTH:
                self.is_cut = self.is_cut or place in self.closing
                return None
            node = self.group(depth + 1, self.closing[place])
            self.at = self.closing[place] + 1
        elif piece["phrase"] is not None:
            node = self._phrase(piece["phrase"])
        elif piece["name"]:
            node = self._attribute(piece)
        else:
            node = self._words(piece["chunk"])
        return Not(node) if minus and node else node

    def _attribute(self, piece: re.Match[str]) -> Node | None:
        name, sign = piece["name"].lower(), piece["sign"]
        value = piece["quoted"] if piece["value"] is None else piece["value"]
        if name == "title" and sign == ":":
            node = self._phrase(value) if piece["value"] is None else self._words(value)
            if node:
                return _in_title(node)
        elif (made := attribute(name, sign, value)) and self._counts():
            return made
        # No such operator, or a value that cannot be read: words.
        if piece["value"] is None:
            return _joined(All, (self._words(piece["name"]), self._phrase(value)))
        return self._words(f"{piece['name']}{sign}{value}")

    def _phrase(self, text: str) -> Node | None:
        words = words_of(text)
        return Words(term_of(words)) if words and self._counts() else None

    def _words(self, chunk: str) -> Node | None:
        found = tuple(Words(term_of([word])) for word in words_of(chunk) if self._counts())
        return _joined(All, found)

    def _counts(self) -> bool:
        self.terms += 1
        self.is_cut = self.is_cut or self.terms > MAX_TERMS
        return self.terms <= MAX_TERMS


def _joined(kind: type[All] | type[Either], children: tuple[Node | None, ...]) -> Node | None:
    kept = tuple(dict.fromkeys(child for child in children if child is not None))
    return kind(kept) if len(kept) > 1 else kept[0] if kept else None


def _in_title(node: Node) -> Node:
    if isinstance(node, All):
        return All(tuple(_in_title(child) for child in node.children))
    return replace(node, in_title=True) if isinstance(node, Words) else node


def attribute(name: str, sign: str, value: str) -> Attribute | None:
    """The condition that an operator states; None when there is no such operator or its value cannot be read."""
    if name == "score":
        return _score(sign, value)
    if sign != ":" or name not in ATTRIBUTES:
        return None
    if name in ("before", "after"):
        moment = _moment(value)
        return Attribute(name, sign, moment) if moment else None
    kept = NORMAL[name](value)
    return Attribute(name, sign, kept) if kept else None


NORMAL: dict[str, Callable[[str], str]] = {
    "author": author_key, "in": place_key, "site": site_key, "type": lambda value: fold(value).strip(),
}  # fmt: skip


def _score(sign: str, value: str) -> Attribute | None:
    sign = "=" if sign == ":" else sign
    if not _NUMBER.fullmatch(value) or abs(int(value)) > LARGEST_SCORE:
        return None
    return Attribute("score", sign, int(value))


def _moment(value: str) -> datetime | None:
    """The beginning of a day, a month or a year in the zone of this server."""
    found = _DAY.fullmatch(value)
    if not found:
        return None
    year, month, day = (int(part or 1) for part in found.groups())
    try:
        begin = date(year, month, day)
    except ValueError:
        return None
    return datetime.combine(begin, time(), tzinfo=timezone.get_current_timezone()) if year in YEARS else None
