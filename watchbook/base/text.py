"""Text from outside, made safe to store: control characters, lengths, links, ids."""

from __future__ import annotations

import hashlib
import re
import unicodedata
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
