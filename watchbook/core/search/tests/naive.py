"""The search as one would write it without an index: every document folded and read, every time."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

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


Tree = tuple[Any, ...]
"""("words", words, in_title), ("author", name) and the other attributes, ("and", …), ("or", …), ("not", tree)."""


def search(documents: Sequence[Document], tree: Tree, scopes: set[str], types: Mapping[str, set[str]]) -> list[str]:
    """Ids of what matches the tree: title hits first, then newest, then the one that came last."""
    found = []
    has_words = asks_for_words(tree)
    for number, document in enumerate(documents):
        if document.scope in scopes and matches(document, tree, types, titled=False):
            in_title = has_words and matches(document, tree, types, titled=True)
            found.append((in_title, document.occurred_at, number, document.object_id))
    return [row[-1] for row in sorted(found, reverse=True)]


def asks_for_words(tree: Tree) -> bool:
    if tree[0] in ("and", "or"):
        return any(asks_for_words(child) for child in tree[1:])
    return bool(tree[0] == "words")


def matches(document: Document, tree: Tree, types: Mapping[str, set[str]], *, titled: bool) -> bool:
    kind, *rest = tree
    if kind == "and":
        return all(matches(document, child, types, titled=titled) for child in rest)
    if kind == "or":
        return any(matches(document, child, types, titled=titled) for child in rest)
    if kind == "not":
        return not matches(document, rest[0], types, titled=False)
    if kind == "words":
        words, in_title = rest
        return holds(fold(document.title), words) or (not titled and not in_title and holds(fold(document.body), words))
    return has(document, kind, *rest, types=types)


def has(document: Document, name: str, value: Any, sign: str = "", *, types: Mapping[str, set[str]]) -> bool:
    """Attributes, spelt out one by one."""
    if name == "author":
        return fold(document.attributes.author).split() == fold(value).split()
    if name == "in":
        steps, asked = [document.source, *document.attributes.place.split("/")], value.lower().split("/")
        return [step.lower() for step in steps[: len(asked)]] == asked
    if name == "site":
        labels, asked = document.attributes.site.removeprefix("https://").split("/")[0].split("."), value.split(".")
        return labels[-len(asked) :] == asked
    if name == "type":
        return value in types[document.kind]
    if name in ("before", "after"):
        return (document.occurred_at < value) == (name == "before")
    score = document.attributes.score
    return score is not None and {">=": score >= value, "<": score < value, "=": score == value}[sign]
