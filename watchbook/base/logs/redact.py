"""Takes secrets out of text: by the name that stands before them, and by their value.

`remember(secret)` is called by whoever holds a secret in the clear; from then on that value, in the forms in which it
usually travels, is masked in everything this process logs. `text()` is for one string, `line()` for one log line,
`mapping()` for fields. Patterns are bounded on both sides, so that hostile text costs linear time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from watchbook.base.logs import known
from watchbook.base.logs.known import forget_all, remember
from watchbook.base.logs.names import HEADER, NAME, QUERY_NAME, hides

__all__ = ["MASK", "block", "forget_all", "hides", "line", "mapping", "remember", "text"]

MASK = "***"
LINE_LENGTH = 8_000
# More than this is not even looked at: a line is cut to LINE_LENGTH anyway.
LOOKED_AT = 64_000

_QUOTED = r"b?(?:\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
_LISTED = r"[\[(][^\[\]()\n]{0,4000}[\])]"
_BARE = r"[^\s,;&\"'<>)\]}]+"
_PATTERNS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        # scheme://user:password@host
        (r"(?<![\w+.-])([a-z][\w+.-]{1,20}://)[^\s/@\"'<>]{1,500}@", rf"\1{MASK}@"),
        # ?token=...&sig=... in anything that looks like an address
        (rf"([?&;#]{QUERY_NAME}=)[^&#\s\"'<>]+", rf"\1{MASK}"),
        # https://chat.example/api/webhooks/1/abc: the path is the secret
        (r"(https?://[^\s/\"']{1,255}/(?:[\w.-]{1,40}/){0,4}(?:web)?hooks?/)[^\s\"'<>]+", rf"\1{MASK}"),
        # 'Cookie': 'a=1'   (b'cookie', b'a=1')   Cookie: a=1; b=2
        (rf"(?<![\w-])({HEADER})([\"']?\s{{0,3}}[:=,]\s{{0,3}})({_QUOTED})", rf"\1\2{MASK}"),
        (rf"(?<![\w-])({HEADER})(\s{{0,3}}:\s{{0,3}})[^\n]+", rf"\1\2{MASK}"),
        (r"\b(bearer|basic|digest|negotiate)\s{1,3}[\w+/=.~-]{6,}", rf"\1 {MASK}"),
        # password=...   "token": "..."   'password': ['...']
        (rf"(?<![\w.-])({NAME})([\"']?\s{{0,3}}[:=]\s{{0,3}})({_QUOTED}|{_LISTED}|{_BARE})", rf"\1\2{MASK}"),
        # signing secrets, tokens with a prefix and web tokens are known by their shape
        (r"\bwhsec_[\w+/=-]{8,}", MASK),
        (r"\b([a-z]{2,8}_)(?=[\w-]{0,80}?\d)(?-i:(?=[\w-]{0,80}?[A-Z]))[\w-]{32,200}", rf"\1{MASK}"),
        (r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}", MASK),
    )
)
# Controls, line and paragraph separators, direction marks that reorder what is read, lone surrogates.
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff]"
)


def text(value: str) -> str:
    """The text with secrets masked; nothing else is changed."""
    value = known.mask(value, MASK)
    for pattern, replacement in _PATTERNS:
        value = pattern.sub(replacement, value)
    return value


def line(value: str, *, length: int = LINE_LENGTH) -> str:
    """One line that is safe to write to a log: masked, on one line, without control characters, not endless."""
    shown = escape(text(_part_looked_at(value)))
    return shown if len(shown) <= length else f"{shown[:length]}… [{len(shown) - length} more characters]"


def block(value: str, *, length: int = 4 * LINE_LENGTH) -> str:
    """Several lines, as of a traceback: masked, each one escaped."""
    shown = "\n".join(escape(part) for part in text(_part_looked_at(value)).split("\n"))
    return shown if len(shown) <= length else f"{shown[:length]}… [{len(shown) - length} more characters]"


def mapping(fields: Mapping[str, Any], *, depth: int = 3) -> dict[str, Any]:
    """Fields by name and by value, nested ones too."""
    return {str(name): MASK if hides(name) else _value(value, depth) for name, value in fields.items()}


def _value(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping) and depth:
        return mapping(value, depth=depth - 1)
    if isinstance(value, list | tuple | set | frozenset) and depth:
        return [_value(part, depth - 1) for part in list(value)[:100]]
    return line(value if isinstance(value, str) else repr(value))


def escape(value: str) -> str:
    return _UNPRINTABLE.sub(lambda found: _escaped(found.group()), value)


def _escaped(character: str) -> str:
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character) or (
        f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"
    )


def _part_looked_at(value: str) -> str:
    if len(value) <= LOOKED_AT:
        return value
    # A secret cut in two would be recognised by neither its name nor its value, so cut between words.
    start = value[:LOOKED_AT]
    ends = max(start.rfind(" "), start.rfind("\n"))
    return f"{start[: max(ends, 0)]} … [{len(value) - max(ends, 0)} characters not shown]"
