"""What somebody typed, as words that must all be there. Any text is a valid query; hostile ones are merely cut.

Words are separated by anything that is not a letter, digit or ideograph. "Quoted words" must stand side by side. A star
after a word of letters finds what begins with it. A word of letters is found whole, one of ideographs anywhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from watchbook.base.text import clean_text
from watchbook.core.search.tokens import DENSE, LETTER, MARKS, PIECE, fold, pairs, word_key

MAX_QUERY = 400
MAX_TERMS = 16
# Index lookups per query; longer queries are narrowed by the text itself.
MAX_LOOKUPS = 24

_CHUNK = re.compile(r'"([^"]*)"?|([^\s"]+)')
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "＂": '"'})
_WORD = re.compile(rf"((?:{LETTER}|[{MARKS}{DENSE}])+)(\*?)")
_BEFORE = rf"(?<!{LETTER})(?<![{MARKS}])"
_AFTER = rf"(?!{LETTER})(?![{MARKS}])"
# Between the words of a phrase: a few characters that belong to no word.
_BETWEEN = rf"(?:(?![{DENSE}{MARKS}])[\W_]){{0,20}}"


@dataclass(frozen=True)
class Lookup:
    """One token to ask the index for."""

    token: str
    is_prefix: bool = False


@dataclass(frozen=True)
class Term:
    """A word or a phrase."""

    text: str
    pattern: re.Pattern[str]
    lookups: tuple[Lookup, ...]
    # Whether holding the tokens is the same as holding the term.
    is_exact: bool


@dataclass(frozen=True)
class Query:
    """All terms must match, each in the title or in the body."""

    text: str
    terms: tuple[Term, ...]
    is_cut: bool = False

    def __bool__(self) -> bool:
        return bool(self.terms)

    @cached_property
    def lookups(self) -> tuple[Lookup, ...]:
        found = dict.fromkeys(lookup for term in self.terms for lookup in term.lookups)
        return tuple(found)[:MAX_LOOKUPS]

    @property
    def is_exact(self) -> bool:
        return all(term.is_exact for term in self.terms)

    @cached_property
    def marks(self) -> re.Pattern[str]:
        """Finds any of the terms, longest first."""
        terms = sorted(self.terms, key=lambda term: -len(term.text))
        return re.compile("|".join(term.pattern.pattern for term in terms))

    def is_in(self, folded: str) -> bool:
        return all(term.pattern.search(folded) for term in self.terms)

    def is_found(self, title: str, body: str) -> bool:
        return all(term.pattern.search(title) or term.pattern.search(body) for term in self.terms)


def read(text: str) -> Query:
    """The query in a text. A text without any word gives a query that is false and finds nothing."""
    kept = clean_text(text[:MAX_QUERY]).translate(_QUOTES)
    terms: dict[str, Term] = {}
    for phrase, chunk in _CHUNK.findall(kept):
        words = _WORD.findall(fold(phrase or chunk))
        groups = [words] if phrase else [[word] for word in words]
        for group in groups:
            if group and (term := _term(group)).pattern.pattern not in terms:
                terms[term.pattern.pattern] = term
    chosen = tuple(terms.values())[:MAX_TERMS]
    return Query(kept.strip(), chosen, is_cut=len(text) > MAX_QUERY or len(terms) > MAX_TERMS)


def _term(words: list[tuple[str, str]]) -> Term:
    patterns: list[str] = []
    lookups: list[Lookup] = []
    for word, star in words:
        pieces = PIECE.findall(word)
        is_open = bool(star) and not pieces[-1][0]
        patterns.append(_pattern(word, opens=not pieces[0][0], closes=not pieces[-1][0] and not is_open))
        for position, (dense, letters) in enumerate(pieces):
            if dense:
                lookups += _dense_lookups(dense)
            else:
                lookups.append(Lookup(word_key(letters), is_open and position == len(pieces) - 1))
    text = " ".join(word for word, _star in words)
    is_exact = len(lookups) == 1 and lookups[0].token == text
    return Term(text, re.compile(_BETWEEN.join(patterns)), tuple(lookups), is_exact)


def _pattern(word: str, *, opens: bool, closes: bool) -> str:
    return (_BEFORE if opens else "") + re.escape(word) + (_AFTER if closes else "")


def _dense_lookups(run: str) -> list[Lookup]:
    if len(run) == 1:
        return [Lookup(run, is_prefix=True)]
    # Without the single last character that a text has as well: there the run may go on.
    return [Lookup(pair) for pair in pairs(run)]
