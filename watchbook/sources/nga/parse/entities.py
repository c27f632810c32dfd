"""Entities of the source's text: one round of all of them, then one of numbers, with emoji halves joined."""

from __future__ import annotations

import re
from html.entities import html5

from watchbook.base.text.clean import clean_text

_ANY = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z][a-zA-Z0-9]{1,31}));")
_NUMBER = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}));")
# An emoji as the source writes it: the two halves of UTF-16, D800 to DBFF and DC00 to DFFF.
_HALVES = re.compile(
    r"&#(5529[6-9]|55[3-9]\d\d|56[0-2]\d\d|563[01]\d);&#(563[2-9]\d|56[4-9]\d\d|57[0-2]\d\d|573[0-3]\d|5734[0-3]);"
)
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# What joining and cleaning look for; most texts have none of it.
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")
_BREAK = re.compile(r"<br\s{0,9}/?>", re.IGNORECASE)


def unescape(text: str) -> str:
    """Text as a reader sees it. The site escapes once, its own page then also turns `&amp;#NNN;` into a character."""
    if "&" in text:
        text = _NUMBER.sub(_character, _ANY.sub(_character, text))
    return whole_characters(text)


def unescape_whole(text: str) -> str:
    """The same of a text that is whole. Only numbers can stand for what has to be joined or taken out."""
    if "&" not in text:
        return text
    if "&#5" in text:
        text = _HALVES.sub(_whole, text)
    has_numbers = "&#" in text
    text = _ANY.sub(_character, text)
    if "&#" in text:
        return whole_characters(_NUMBER.sub(_character, text))
    return whole_characters(text) if has_numbers else text


def whole_characters(text: str) -> str:
    """Halves of characters joined, and out with what no database stores."""
    # Printable text, which most of it is, has none of both and is recognised in no time.
    if text.isprintable() or not _ODD.search(text):
        return text
    return clean_text(_PAIR.sub(_joined, text))


def lines(text: str) -> str:
    """Line ends of any kind as line feeds: the source writes `<br/>`."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    # Nearly all of them are spelt like this. What is left may be any other spelling, which is looked for in the whole.
    plain = text.replace("<br/>", "\n")
    return _BREAK.sub("\n", text) if "<" in plain else plain


def _character(hit: re.Match[str]) -> str:
    if hit[1] or hit[2]:
        code = int(hit[1]) if hit[1] else int(hit[2], 16)
        return chr(code) if code <= 0x10FFFF else hit[0]
    return html5.get(f"{hit[3]};", hit[0])


def _whole(hit: re.Match[str]) -> str:
    return chr(0x10000 + (int(hit[1]) - 0xD800) * 0x400 + int(hit[2]) - 0xDC00)


def _joined(hit: re.Match[str]) -> str:
    # The source writes an emoji as its two UTF-16 halves.
    return hit[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")
