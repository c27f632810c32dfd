"""Cleans the markup of pages with an allow-list, and extracts plain text for search and comparison.

Cleaning is two passes, each linear in the length of the text. `_canonical` reads the input once and writes only tags of
the allow-list, with attributes of the allow-list, quoted in one way. Text with too many tags, attributes or levels is
refused there. nh3 then parses what is left and decides what is safe. Without the first pass nh3 compares every
attribute of a tag with every other: one tag with 200,000 attributes took 41 seconds.
"""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser

import nh3

from watchbook.base.text import clean_text

TAGS = {
    "a", "b", "blockquote", "br", "code", "del", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
    "i", "img", "li", "ol", "p", "pre", "s", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "u",
    "ul",
}  # fmt: skip
ATTRIBUTES = {
    # A link to a page or a file names its id as well; a mentioned person has no address.
    "a": {"href", "title", "data-page", "data-file", "data-person"},
    "blockquote": {"data-callout"},
    "img": {"src", "alt", "title"},
    "code": {"class"},
    "li": {"data-type", "data-checked"},
    "ol": {"start"},
    "td": {"align", "colspan", "rowspan"},
    "th": {"align", "colspan", "rowspan"},
    "ul": {"data-type"},
}
# Attributes that have one of a few values.
CALLOUTS = ("note", "tip", "important", "warning", "caution")
CHOICES = {
    ("blockquote", "data-callout"): CALLOUTS,
    ("li", "data-checked"): ("true", "false"),
    ("li", "data-type"): ("taskItem",),
    ("td", "align"): ("left", "center", "right"),
    ("th", "align"): ("left", "center", "right"),
    ("ul", "data-type"): ("taskList",),
}
IDS = {"data-page", "data-file", "data-person"}
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{1,18}", re.ASCII)
# `obsidian` and `zotero` open a note or a reference in the program that an import came from.
SCHEMES = {"http", "https", "mailto", "tel", "obsidian", "zotero"}
LANGUAGE = "language-"
NUMBERS = {"start", "colspan", "rowspan"}
BLOCKS = {
    "blockquote", "br", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre",
    "table", "tr", "ul",
}  # fmt: skip

# Limits of one text. A table of 10,000 rows with 15 columns is within them.
MOST_TAGS = 200_000
MOST_ATTRIBUTES = 100
# Levels of elements. The time of nh3 grows with the product of tags and levels.
DEEPEST = 200
_VOID = {"br", "hr", "img"}
_TABLE_PARTS = {"tbody", "td", "th", "thead", "tr"}
_ROWS_ONLY = {"table", "tbody", "thead", "tr"}
# Elements that a start tag closes when they are open, and the elements at which the search for them ends.
_PARAGRAPH_ENDS = {
    "blockquote", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "table",
    "ul",
}  # fmt: skip
_CLOSES = {
    **{tag: ({"p"}, {"table", "td", "th"}) for tag in _PARAGRAPH_ENDS},
    "a": ({"a"}, {"table", "td", "th"}),
    "li": ({"li"}, {"ol", "ul", "table"}),
    "td": ({"td", "th"}, {"table"}),
    "th": ({"td", "th"}, {"table"}),
    "tr": ({"tr"}, {"table"}),
    "tbody": ({"tbody", "thead"}, {"table"}),
    "thead": ({"tbody", "thead"}, {"table"}),
}
# Their content is not text of the page.
_DROPPED = ("script", "style")

_OPENING = re.compile(r"<(/?)([a-zA-Z][^\s/>]*)")
_ATTRIBUTE_NAME = re.compile(r"[\s/]*([^\s/>=][^\s/>=]*)?\s*(=?)\s*")
_UNQUOTED = re.compile(r"[^\s>]*")


class TooComplex(ValueError):
    """The text has more tags, attributes or levels than any real text."""


def clean(html: str) -> str:
    """Return the text without scripts, styles, handlers and unsafe addresses. Raises TooComplex beyond the limits."""
    return nh3.clean(
        _canonical(clean_text(html).replace("\r\n", "\n").replace("\r", "\n")),
        tags=TAGS,
        attributes=ATTRIBUTES,
        attribute_filter=_kept,
        url_schemes=SCHEMES,
        link_rel="noopener noreferrer",
    )


def _canonical(html: str) -> str:
    """Return well-nested markup of the allow-list only, attributes in double quotes. Never reads a part twice."""
    out = _Writer()
    position = 0
    while (start := html.find("<", position)) >= 0:
        out.write(html[position:start])
        opening = _OPENING.match(html, start)
        if opening is None:
            position = _skip_comment(html, start, out)
            continue
        tag, is_end = opening[2].lower(), bool(opening[1])
        end, attributes = _read_attributes(html, opening.end(), ATTRIBUTES.get(tag, set()))
        if end < 0:
            # The tag never ends: all that is left is text.
            out.write(escape(html[start:], quote=False))
            position = len(html)
            break
        position = _skip_dropped(html, end, tag) if tag in _DROPPED and not is_end else end
        if tag in TAGS:
            if is_end:
                out.end(tag)
            else:
                out.start(tag, attributes)
    out.write(html[position:])
    return out.text()


class _Writer:
    """Writes tags so that each element ends inside its parent, and counts them.

    nh3 repairs bad nesting by opening formatting elements again in every following block: 200 of them and 200,000
    paragraphs would become 40 million elements. It moves text between table rows in front of the table, which took 11
    seconds for 2 MB. Well-nested markup needs no repair.
    """

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.open: list[str] = []
        self.counts: dict[str, int] = {}
        self.tags = 0

    def write(self, text: str) -> None:
        if text and self.open and self.open[-1] in _ROWS_ONLY and text.strip():
            self._open_cell()
        self.parts.append(text)

    def start(self, tag: str, attributes: str = "") -> None:
        self.tags += 1
        if self.tags > MOST_TAGS:
            raise TooComplex("too many tags")
        if tag in _TABLE_PARTS and not self.counts.get("table"):
            return
        if tag in _CLOSES:
            self._close_implied(*_CLOSES[tag])
        if tag not in _TABLE_PARTS and self.open and self.open[-1] in _ROWS_ONLY:
            self._open_cell()
        self.parts.append(f"<{tag}{attributes}>")
        if tag in _VOID:
            return
        self.open.append(tag)
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if len(self.open) > DEEPEST:
            raise TooComplex("too many elements inside each other")

    def end(self, tag: str) -> None:
        """Close the element and all that is open inside it; an end tag without a start is dropped."""
        while self.counts.get(tag):
            if self._close_last() == tag:
                return

    def text(self) -> str:
        while self.open:
            self._close_last()
        return "".join(self.parts)

    def _open_cell(self) -> None:
        """Text between rows gets a cell of its own: nothing is lost or moved."""
        if self.open[-1] != "tr":
            self.start("tr")
        self.start("td")

    def _close_implied(self, closed: set[str], scope: set[str]) -> None:
        if not any(self.counts.get(tag) for tag in closed):
            return
        # At most DEEPEST steps.
        for place in range(len(self.open) - 1, -1, -1):
            if self.open[place] in closed:
                for _number in range(len(self.open) - place):
                    self._close_last()
                return
            if self.open[place] in scope:
                return

    def _close_last(self) -> str:
        tag = self.open.pop()
        self.counts[tag] -= 1
        self.parts.append(f"</{tag}>")
        return tag


def _read_attributes(html: str, position: int, wanted: set[str]) -> tuple[int, str]:
    """Return the position after the tag and its attributes, rewritten; -1 if the tag never ends."""
    kept: dict[str, str] = {}
    for _number in range(MOST_ATTRIBUTES + 1):
        found = _ATTRIBUTE_NAME.match(html, position)
        assert found is not None  # every part of the pattern is optional
        position = found.end()
        if position >= len(html):
            return -1, ""
        if not found[1] and not found[2] and html[position] == ">":
            return position + 1, "".join(f' {name}="{value}"' for name, value in kept.items())
        value = ""
        if found[2]:
            position, value = _read_value(html, position)
            if position < 0:
                return -1, ""
        name = (found[1] or "").lower()
        if name in wanted and name not in kept:
            kept[name] = value.replace('"', "&quot;")
    raise TooComplex("too many attributes")


def _read_value(html: str, position: int) -> tuple[int, str]:
    quote = html[position]
    if quote not in "\"'":
        found = _UNQUOTED.match(html, position)
        assert found is not None
        return found.end(), found[0]
    end = html.find(quote, position + 1)
    return (end + 1, html[position + 1 : end]) if end >= 0 else (-1, "")


def _skip_comment(html: str, start: int, out: _Writer) -> int:
    """Skip a comment, a declaration or a broken end tag. A lone `<` and what never ends are text."""
    following = html[start + 1 : start + 2]
    if following not in ("!", "?", "/"):
        out.write("&lt;")
        return start + 1
    closing = "-->" if html.startswith("<!--", start) else ">"
    # `<!-->` and `<!--->` are whole comments.
    end = html.find(closing, start + 2)
    if end < 0:
        out.write(escape(html[start:], quote=False))
        return len(html)
    return end + len(closing)


def _skip_dropped(html: str, position: int, tag: str) -> int:
    """Return the position of the end tag of a script or style; a missing one ends with the text."""
    found = re.compile(rf"</{tag}(?=[\s/>])", re.IGNORECASE).search(html, position)
    return found.start() if found else len(html)


def _kept(tag: str, name: str, value: str) -> str | None:
    if tag == "code" and name == "class":
        return value if value.startswith(LANGUAGE) and value.replace("-", "").replace("+", "").isalnum() else None
    if (tag, name) in CHOICES:
        return value if value in CHOICES[tag, name] else None
    if name in IDS:
        return value if _ID.fullmatch(value) else None
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
