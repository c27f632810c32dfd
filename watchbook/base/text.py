"""Text from outside, made safe to store; and sentences that are translated when they are read."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

# C0 and C1 controls except tab, line feed and carriage return, the two non-characters, and lone surrogates.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")

# Characters that no address of a link has.
_UNFIT_IN_LINK = re.compile(r"[\x00-\x20\x7f-\x9f\\\"<>^`{|}]")
# Punctuation of Chinese prose, and what NFKC makes of it: NFKC alone takes thirty times as long for a text that has
# any of it.
_WIDE = [(wide, unicodedata.normalize("NFKC", wide)) for wide in "，！？：；（）～…"]


def clean_text(value: str) -> str:
    """Text that every database stores and every parser reads: no NUL, no controls, no lone surrogates."""
    if value.isprintable():
        return value  # most texts; this check is much faster than the expressions below
    return _UNFIT.sub("", _SURROGATE.sub("\ufffd", value))


def cut(value: str, length: int) -> str:
    """At most `length` characters, with an ellipsis when something was cut. PostgreSQL refuses what SQLite takes."""
    value = clean_text(value)
    if len(value) <= length:
        return value
    end = length - 1
    while end > 0 and unicodedata.combining(value[end]):
        end -= 1
    return value[:end] + "…"


def fold(value: str) -> str:
    """The form in which two texts are compared, instead of leaving it to a database's collation."""
    if not value.isascii():
        for wide, narrow in _WIDE:
            value = value.replace(wide, narrow)
    return unicodedata.normalize("NFKC", value).casefold()


def short_id(value: str, length: int = 200) -> str:
    """At most `length` characters; a longer id ends in its own hash, so that two never become one."""
    value = clean_text(value)
    if len(value) <= length:
        return value
    return f"{value[: length - 65]}~{hashlib.sha256(value.encode()).hexdigest()}"


def safe_link(address: str) -> str:
    """The address when it is a path of ours or an http(s) address, else nothing."""
    address = address.strip()
    if not address or _UNFIT_IN_LINK.search(address):
        return ""
    if address.startswith("/"):
        return "" if address.startswith("//") else address
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return address if parts.scheme in {"http", "https"} and parts.hostname else ""


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
    """Return the sentence in the current language; plain text as it was written."""
    if not isinstance(sentence, dict) or not sentence.get("text"):
        return english
    from django.utils.translation import gettext  # parsers need this module without Django

    text, values = gettext(sentence["text"]), sentence.get("values")
    try:
        return text % values if values else text
    except (KeyError, TypeError, ValueError):
        return english  # its words have changed since it was kept
