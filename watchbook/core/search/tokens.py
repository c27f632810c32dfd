"""What a text is made of for the search: the same pieces on every database, because the databases are given tokens.

Scripts written without spaces become pairs of characters plus the last one alone ("世界地" gives 世界 界地 地), so one
character is found by prefix and two by equality. Everything else becomes whole words. `fold` comes first, always."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from operator import add

from watchbook.base.text import fold as fold_case

# Beyond this a text is not searched. 100,000 pairs of four-byte characters stay under PostgreSQL's 1 MB per tsvector.
MAX_TEXT = 100_000
# The budget of one word, counted as MariaDB's ASCII column spells it; its index drops tokens over 84 characters.
MAX_WORD = 78
SPELT = 5

# Indic, Thai, Lao, Tibetan, Burmese, Khmer; kana, bopomofo, hangul; ideographs; symbols and emoji.
DENSE = (
    "\u0900-\u0963\u0966-\u109f\u1100-\u11ff\u1780-\u17d3\u2600-\u27bf\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029"
    "\u3031-\u3035\u303b\u3041-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48c\ua960-\ua97f\uac00-\ud7fb\uf900-\ufaff\uff66-\uff9f"
    "\U0001aff0-\U0001b16f\U0001f000-\U0001faff\U00020000-\U0002fa1f\U00030000-\U000323af"
)
# Accents and vowel points that stay separate after NFKC belong to the word around them.
MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
LETTER = rf"[^\W_{DENSE}{MARKS}]"
PIECE = re.compile(rf"([{DENSE}]+)|((?:{LETTER}|[{MARKS}])+)")
# Soft hyphens, zero-width characters, direction marks and variation selectors: invisible, so they part no word.
_IGNORED = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]"
)


def fold(text: str) -> str:
    """The form in which texts are searched: width, case and invisible characters do not matter."""
    return fold_case(_IGNORED.sub("", text))


def searchable(text: str) -> str:
    """A document's text as the search sees it, folded and bounded."""
    return fold(text[:MAX_TEXT])[:MAX_TEXT]


def word_key(word: str) -> str:
    """The indexed part of a word: nearly always all of it."""
    if len(word) * SPELT <= MAX_WORD or (len(word) <= MAX_WORD and word.isascii()):
        return word
    rest = MAX_WORD
    for position, character in enumerate(word):
        rest -= 1 if character.isascii() else SPELT
        if rest < 0:
            return word[:position]
    return word


def pairs(run: str) -> list[str]:
    """The pairs of neighbours in a stretch of dense characters, in order."""
    return list(map(add, run, run[1:]))


def tokens(folded: str) -> set[str]:
    """The distinct tokens of a folded text."""
    found: set[str] = set()
    for dense, word in PIECE.findall(folded):
        if dense:
            found.update(map(add, dense, dense[1:]))
            found.add(dense[-1])
        else:
            found.add(word_key(word))
    return found


def document_tokens(title: str, body: str) -> tuple[set[str], set[str]]:
    """Tokens of the title alone, and of title and body together. Both texts are folded already."""
    in_title = tokens(title)
    return in_title, in_title | tokens(body)


# Pairs that one long stretch of characters is looked up by; the text of each hit decides about the rest.
MAX_PAIRS = 12
# Prefix of the tokens of authors, places and websites. No word of a text begins with it.
ATTRIBUTE = "§"

_SCHEME = re.compile(r"^https?://")
_WORD = re.compile(rf"((?:{LETTER}|[{MARKS}{DENSE}])+)(\*?)")
_BEFORE = rf"(?<!{LETTER})(?<![{MARKS}])"
_AFTER = rf"(?!{LETTER})(?![{MARKS}])"
# Between the words of a phrase: a few characters that belong to no word.
_BETWEEN = rf"(?:(?![{DENSE}{MARKS}])[\W_]){{0,20}}"

Word = tuple[str, str]
"""A word and its star, if it has one."""


@dataclass(frozen=True)
class Lookup:
    """One token to ask the index for; `in_title`: among those of the title."""

    token: str
    is_prefix: bool = False
    in_title: bool = False


@dataclass(frozen=True)
class Term:
    """A word or a phrase."""

    text: str
    pattern: re.Pattern[str]
    lookups: tuple[Lookup, ...]
    # Whether holding the tokens is the same as holding the term.
    is_exact: bool


def words_of(text: str) -> list[Word]:
    """The words of a query's text, folded."""
    return _WORD.findall(fold(text))


def term_of(words: list[Word]) -> Term:
    """The words side by side, as one term."""
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
    return Term(text, re.compile(_BETWEEN.join(patterns)), tuple(dict.fromkeys(lookups)), is_exact)


def author_key(name: str) -> str:
    """The form in which authors are compared."""
    return " ".join(fold(name).split())[:200]


def place_key(place: str) -> str:
    return "/".join(step for step in fold(place).replace(" ", "").split("/") if step)[:200]


def site_key(address: str) -> str:
    return _SCHEME.sub("", fold(address).strip()).split("/")[0].strip(".")[:200]


def attribute_token(name: str, value: str) -> str:
    """What the index keeps of an attribute: a digest, because values have characters that part words."""
    return ATTRIBUTE + hashlib.blake2b(f"{name}={value}".encode(), digest_size=8).hexdigest()


def attribute_tokens(author: str, place: str, site: str) -> set[str]:
    """Tokens of a document's author, of its place and those above it, and of its website and the domains above it."""
    steps, labels = place.split("/"), site.split(".")
    places = ["/".join(steps[:end]) for end in range(2, len(steps) + 1)]
    sites = [".".join(labels[begin:]) for begin in range(len(labels))] if site else []
    named = [("author", author)] if author else []
    named += [("in", each) for each in places] + [("site", each) for each in sites]
    return {attribute_token(name, value) for name, value in named}


def _pattern(word: str, *, opens: bool, closes: bool) -> str:
    return (_BEFORE if opens else "") + re.escape(word) + (_AFTER if closes else "")


def _dense_lookups(run: str) -> list[Lookup]:
    if len(run) == 1:
        return [Lookup(run, is_prefix=True)]
    # Without the single last character that a text has as well: there the run may continue.
    return [Lookup(pair) for pair in pairs(run)[:MAX_PAIRS]]
