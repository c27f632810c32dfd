"""What a text is made of for the search: the same pieces on every database, because the databases are given tokens.

Scripts written without spaces become pairs of characters plus the last one alone ("世界地" gives 世界 界地 地), so one
character is found by prefix and two by equality. Everything else becomes whole words. `fold` comes first, always.
"""

from __future__ import annotations

import re
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
# Accents and vowel points that stay separate after NFKC belong to the word they stand in.
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
    room = MAX_WORD
    for position, character in enumerate(word):
        room -= 1 if character.isascii() else SPELT
        if room < 0:
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
