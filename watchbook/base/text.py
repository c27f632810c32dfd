"""Text from outside made fit to keep: one choke point for NUL, lone surrogates, control characters and lengths."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["clean_text", "cut", "fold"]


# C0 and C1 controls except tab, line feed and carriage return, the two non-characters, and lone surrogates.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")

# Punctuation of Chinese prose, and what NFKC makes of it: by itself it takes thirty times as long for a text that has
# any of it as for one that has none.
_WIDE = [(wide, unicodedata.normalize("NFKC", wide)) for wide in "，！？：；（）～…"]


def clean_text(value: str) -> str:
    """Text that every database stores and every parser reads: no NUL, no controls, no lone surrogates."""
    if value.isprintable():
        return value  # most texts, and found out far faster than by looking for each kind
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
