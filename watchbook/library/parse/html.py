"""The markup a page may hold: cleaned by an allow-list on the way in, and as plain text for search and comparison."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import nh3

from watchbook.base.text import clean_text

TAGS = {
    "a", "b", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "li",
    "ol", "p", "pre", "s", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "u", "ul",
}  # fmt: skip
ATTRIBUTES = {
    "a": {"href", "title"},
    "img": {"src", "alt", "title"},
    "code": {"class"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan"},
}
SCHEMES = {"http", "https", "mailto"}
LANGUAGE = "language-"
NUMBERS = {"start", "colspan", "rowspan"}
BLOCKS = {
    "blockquote", "br", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "table", "tr", "ul",
}  # fmt: skip


# Elements inside each other. The cleaner's time grows with the square of it: 150,000 open quotes take minutes.
DEEPEST = 200
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
# Ended by the next one of their kind, or never open: leaving out the closing tag is no nesting.
_NOT_COUNTED = {
    "p", "li", "td", "th", "tr", "tbody", "thead", "tfoot", "dd", "dt", "option", "br", "hr", "img", "input", "meta",
    "link", "col", "wbr", "source", "area", "base", "embed", "param", "track",
}  # fmt: skip


class TooDeep(ValueError):
    """More elements inside each other than anybody writes."""


def clean(html: str) -> str:
    """The same text with nothing in it that could act: no script, no style, no handler, no odd address."""
    _refuse_depth(html)
    return nh3.clean(
        clean_text(html).replace("\r\n", "\n").replace("\r", "\n"),
        tags=TAGS,
        attributes=ATTRIBUTES,
        attribute_filter=_kept,
        url_schemes=SCHEMES,
        link_rel="noopener noreferrer",
    )


def _refuse_depth(html: str) -> None:
    depth = 0
    for closing, tag in _TAG.findall(html):
        if tag.lower() not in _NOT_COUNTED:
            depth = max(0, depth + (-1 if closing else 1))
            if depth > DEEPEST:
                raise TooDeep("too many elements inside each other")


def _kept(tag: str, name: str, value: str) -> str | None:
    if tag == "code" and name == "class":
        return value if value.startswith(LANGUAGE) and value.replace("-", "").replace("+", "").isalnum() else None
    if name in NUMBERS:
        return value if value.isascii() and value.isdigit() and len(value) <= 6 else None
    return value


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in BLOCKS:
            self._break()
        elif tag == "img":
            self.pieces.append(dict(attrs).get("alt") or "")

    def handle_endtag(self, tag: str) -> None:
        if tag in BLOCKS:
            self._break()
        elif tag in {"td", "th"}:
            self.pieces.append("\t")

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)

    def _break(self) -> None:
        if self.pieces and not self.pieces[-1].endswith("\n"):
            self.pieces.append("\n")


def to_text(html: str) -> str:
    """The words of a cleaned text, one paragraph a line."""
    reader = _Text()
    reader.feed(html)
    reader.close()
    lines = (line.strip() for line in "".join(reader.pieces).split("\n"))
    return "\n".join(line for line in lines if line)
