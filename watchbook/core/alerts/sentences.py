"""What an alert says: kept as an English sentence and its values, worded when it is shown or told.

Whoever opens one gives `Sentence(gettext_noop("%(n)s candidates wait."), {"n": 7})`; readers of either language, and
each person who is told, then read it in their own. Plain text, such as the words of another program, stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext


@dataclass(frozen=True)
class Sentence:
    """`text` is the English sentence as the catalogues know it; `values` are plain numbers and words.

    As a string it is worded in the language of the moment.
    """

    text: str
    values: Mapping[str, str | int | float] = field(default_factory=dict)

    def __str__(self) -> str:
        return worded(self.as_json(), self.english)

    @property
    def english(self) -> str:
        return self.text % self.values if self.values else self.text

    def as_json(self) -> dict[str, Any]:
        return {"text": self.text, "values": dict(self.values)}


def kept(**said: str | Sentence) -> dict[str, Any]:
    """The sentences among these, by name, as an alert keeps them."""
    return {name: words.as_json() for name, words in said.items() if isinstance(words, Sentence) and words.text}


def in_english(said: str | Sentence) -> str:
    return said.english if isinstance(said, Sentence) else said


def worded(sentence: Any, english: str) -> str:
    """In the language of whoever reads now; rows from before, and plain text, as they were written."""
    if not isinstance(sentence, dict) or not sentence.get("text"):
        return english
    text, values = gettext(sentence["text"]), sentence.get("values")
    try:
        return text % values if values else text
    except (KeyError, TypeError, ValueError):
        return english  # its words have changed since it was kept
