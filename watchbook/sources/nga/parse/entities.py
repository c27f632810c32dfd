"""Entities of the source's text: one round of all of them, then one of numbers, with emoji halves joined."""

from __future__ import annotations

import re
from html.entities import html5

from watchbook.base.text.clean import clean_text

_ANY = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z][a-zA-Z0-9]{1,31}));")
_NUMBER = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# What joining and cleaning look for; most texts have none of it.
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")
_BREAK = re.compile(r"<br\s{0,9}/?>", re.IGNORECASE)


def unescape(text: str) -> str:
    """Text as a reader sees it. The site escapes once, its own page then also turns `&amp;#NNN;` into a character."""
    if "&" in text:
        text = _NUMBER.sub(_character, _ANY.sub(_character, text))
    return whole_characters(text)


def whole_characters(text: str) -> str:
    """Halves of characters joined, and out with what no database stores."""
    # Printable text, which most of it is, has none of both and is recognised in no time.
    if text.isprintable() or not _ODD.search(text):
        return text
    return clean_text(_PAIR.sub(_joined, text))


def lines(text: str) -> str:
    """Line ends of any kind as line feeds: the source writes `<br/>`."""
    return _BREAK.sub("\n", text.replace("\r\n", "\n").replace("\r", "\n"))


def _character(hit: re.Match[str]) -> str:
    if hit[1] or hit[2]:
        code = int(hit[1]) if hit[1] else int(hit[2], 16)
        return chr(code) if code <= 0x10FFFF else hit[0]
    return html5.get(f"{hit[3]};", hit[0])


def _joined(hit: re.Match[str]) -> str:
    # The source writes an emoji as its two UTF-16 halves.
    return hit[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")
