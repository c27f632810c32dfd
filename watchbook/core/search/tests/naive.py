"""The search as one would write it without an index: every document folded and read, every time."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from watchbook.core.search.index import Document


def is_dense(character: str) -> bool:
    """Written without spaces, as far as the test's alphabet goes."""
    return "\u3040" <= character <= "\u9fff" or "\uac00" <= character <= "\ud7a3" or ord(character) >= 0x1F300


def is_letter(character: str) -> bool:
    known = character.isalnum() or "\u0300" <= character <= "\u036f"
    return known and not is_dense(character)


def fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text.replace("\u200b", "").replace("\u00ad", "")).casefold()


def words_of(text: str) -> list[str]:
    """Stretches of letters and dense characters; a trailing star stays on a word of letters."""
    words: list[str] = []
    word = ""
    for character in fold(text) + " ":
        if is_letter(character) or is_dense(character):
            word += character
            continue
        if word:
            words.append(word + ("*" if character == "*" and is_letter(word[-1]) else ""))
        word = ""
    return words


def begins_at(text: str, position: int, word: str) -> int:
    """Where the word ends when it stands here, else -1."""
    is_open = word.endswith("*")
    word = word.removesuffix("*")
    end = position + len(word)
    if text[position:end] != word:
        return -1
    if is_letter(word[0]) and position and is_letter(text[position - 1]):
        return -1
    if is_letter(word[-1]) and not is_open and end < len(text) and is_letter(text[end]):
        return -1
    return end


def holds(text: str, words: Sequence[str]) -> bool:
    """Do the words stand side by side somewhere, with at most 20 other characters that belong to no word between?"""
    for start in range(len(text)):
        end = begins_at(text, start, words[0])
        for word in words[1:]:
            if end < 0:
                break
            end = _next(text, end, word)
        if end >= 0:
            return True
    return False


def _next(text: str, end: int, word: str) -> int:
    for gap in range(21):
        if end + gap > len(text):
            return -1
        if (found := begins_at(text, end + gap, word)) >= 0:
            return found
        if end + gap < len(text) and (is_letter(text[end + gap]) or is_dense(text[end + gap])):
            return -1
    return -1


def search(documents: Sequence[Document], terms: Sequence[Sequence[str]], scopes: set[str]) -> list[str]:
    """Ids of what holds all terms: title hits first, then newest, then the one that came last."""
    found = []
    for number, document in enumerate(documents):
        title, body = fold(document.title), fold(document.body)
        if document.scope in scopes and all(holds(title, term) or holds(body, term) for term in terms):
            in_title = all(holds(title, term) for term in terms)
            found.append((in_title, document.occurred_at, number, document.object_id))
    return [row[-1] for row in sorted(found, reverse=True)]
