"""Builds HTML from tokens and removes what is not allowed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import nh3

from watchbook.base.text import clean_text
from watchbook.systems.nga.parse.bbcode.addresses import Addresses
from watchbook.systems.nga.parse.bbcode.tags import (
    BLOCKS,
    CLASSES,
    INLINE,
    REL,
    Shape,
    block_shape,
    cell_start,
    inline_shape,
    shown,
)
from watchbook.systems.nga.parse.bbcode.tokens import Token

_ALLOWED = "a b i u del sup sub span br blockquote details summary ul ol li h4 div table tbody tr td pre code img"
TAGS = frozenset(_ALLOWED.split())
ATTRIBUTES = {
    "a": {"href", "data-pid", "data-tid"},
    "img": {"src", "alt", "title", "loading", "referrerpolicy"},
    "td": {"colspan", "rowspan"},
}
_CLASSED = {tag: set(CLASSES) for tag in ("span", "div", "img", "pre", "ul")}


# Made once: building the lists costs as much as cleaning a post.
_CLEANER = nh3.Cleaner(
    tags=set(TAGS),
    attributes=ATTRIBUTES,
    allowed_classes=_CLASSED,
    url_schemes={"http", "https"},
    link_rel=REL.split('"')[1],
)

# Most posts are text and line breaks, with a few words marked, a link, a smiley, a quote. What is made of nothing but
# these, letter for letter and nested no deeper than here, is what the cleaner would give back; a test holds the two
# together. Reading it here takes a fifth of the cleaner's time. Of addresses only those are known that every parser
# takes for one: the host ends with a word, and no label of it is coded.
_WORDS = r"(?:[^<>&\x00-\x08\x0b-\x1f\x7f-\xa0\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]++|&(?:amp|lt|gt);|<br>)*+"
_HOST = r"https?://(?:[a-z0-9]{1,60}[.-]){1,9}[a-z]{2,20}/"
_LINK = (
    rf'<a href="{_HOST}(?:[A-Za-z0-9._/?=,-]|&amp;){{0,500}}+"(?: data-pid="\d{{1,15}}")?(?: data-tid="\d{{1,15}}")?'
    rf"{REL}>{_WORDS}</a>"
)
_ALT = r'[^"<>&\x00-\x1f\x7f-\xa0\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]'
_IMAGE = (
    rf'<img(?: class="bb-smiley")? src="{_HOST}[A-Za-z0-9._/-]{{0,500}}" alt="{_ALT}{{0,100}}"'
    r' loading="lazy" referrerpolicy="no-referrer">'
)


# No groups that are numbered: the re of Python 3.11 stumbles over those inside of possessive repeats.
def _among_words(*others: str) -> str:
    return rf"(?:{_WORDS}(?:{'|'.join(others)})?+)*+{_WORDS}"


_MARKED = [f"<{tag}>{_among_words(_LINK)}</{tag}>" for tag in ("b", "i", "u", "del", "sup", "sub")]
_FLAT = (*_MARKED, _LINK, _IMAGE)
_BLOCKS = (
    f"<blockquote>{_among_words(*_FLAT)}</blockquote>",
    f"<details><summary>{_WORDS}</summary>{_among_words(*_FLAT)}</details>",
)
_PLAIN = re.compile(
    rf"(?:<h4>{_WORDS}</h4>)?+{_among_words(*_FLAT, *_BLOCKS)}"
    rf'(?:<ul class="bb-files">(?:<li>(?:{_LINK}|{_IMAGE})</li>){{1,200}}+</ul>)?+'
)


def clean(html: str) -> str:
    """Return sanitized HTML that every database can store."""
    return html if is_plain(html) else _CLEANER.clean(clean_text(html))


def is_plain(html: str) -> bool:
    """Nothing in it that the cleaner would change or no database would take."""
    return _PLAIN.fullmatch(html) is not None


# The site itself nests quotes five deep; the cleaner's time grows with the square of the depth.
DEEPEST = 48
MOST_INLINE = 12
# A table needs three levels of its own before it can hold text.
_NEEDED = {"table": 3, "list": 2}


@dataclass
class Entry:
    """An open element. Inline ones are written when text follows, so that none is empty."""

    token: Token
    shape: Shape
    is_block: bool = False
    is_written: bool = False
    collapse: int = 0
    # Tags of the same frame that were opened past the limit and wait for their end.
    past_limit: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.token.name

    def pass_limit(self, name: str) -> None:
        self.past_limit[name] = self.past_limit.get(name, 0) + 1


class Builder:
    def __init__(self, addresses: Addresses) -> None:
        self.addresses = addresses
        self.out: list[str] = []
        self.stack: list[Entry] = [Entry(Token("open", "", "root"), Shape(), is_block=True, is_written=True)]
        self.collapses = 0
        self._is_after_block = True

    @property
    def frame(self) -> Entry:
        for entry in reversed(self.stack):
            if entry.is_block:
                return entry
        raise AssertionError("the root is a block")

    @property
    def collapse(self) -> int:
        """Number of the collapsed block around this place, 0 outside."""
        return next((entry.collapse for entry in reversed(self.stack) if entry.collapse), 0)

    def has_open(self, *names: str) -> bool:
        return any(entry.name in names for entry in self.stack)

    def is_in_link(self) -> bool:
        return any(entry.shape.is_link for entry in self.stack)

    def text(self, source: str) -> None:
        visible = shown(source)
        if self._is_after_block and visible.startswith("\n"):
            visible = visible[1:]
        if self.frame.name in {"table", "tr", "list"} and not visible.strip():
            return
        if visible:
            self.html(visible.replace("\n", "<br>"))

    def html(self, piece: str, *, is_block: bool = False) -> None:
        """A finished piece at this place."""
        self._need_cell()
        self._write_pending()
        self.out.append(piece)
        self._is_after_block = is_block

    def open(self, token: Token) -> None:
        if token.name in INLINE:
            self._open_inline(token)
        elif token.name in {"tr", "td"}:
            self._open_cell(token)
        else:
            self._open_block(token)

    def item(self, token: Token) -> None:
        """`[*]` belongs to the nearest list of the same cell."""
        for index in range(len(self.stack) - 1, 0, -1):
            name = self.stack[index].name
            if name == "list":
                self._close_to(index + 1)
                self._push(token, Shape("<li>", "</li>"))
                return
            if name in {"td", "table"}:
                break
        self.text(token.text)

    def close(self, token: Token) -> None:
        frame = self.frame
        if frame.past_limit.get(token.name):
            frame.past_limit[token.name] -= 1
            if token.name in BLOCKS:
                self.text("\n")
        elif token.name in INLINE:
            self._close_inline(token)
        else:
            self._close_block(token)

    def finish(self) -> str:
        self._close_to(1)
        return "".join(self.out)

    def _open_inline(self, token: Token) -> None:
        shape = inline_shape(token, self.addresses)
        in_link = shape is not None and shape.is_link and self.is_in_link()
        is_full = self._inline_count() >= MOST_INLINE or len(self.stack) > DEEPEST
        if shape is None or (token.name == "url" and (in_link or is_full)):
            self.text(token.text)
        elif is_full:
            self.frame.pass_limit(token.name)
        else:
            self._need_cell()
            self.stack.append(Entry(token, Shape() if in_link else shape))

    def _inline_count(self) -> int:
        return next(n for n, entry in enumerate(reversed(self.stack)) if entry.is_block)

    def _close_inline(self, token: Token) -> None:
        for index in range(len(self.stack) - 1, 0, -1):
            entry = self.stack[index]
            if entry.is_block:
                break
            if entry.name == token.name:
                again = self.stack[index + 1 :]
                self._close_to(index)
                self.stack += [Entry(other.token, other.shape) for other in again]
                return
        self.text(token.text)

    def _open_block(self, token: Token) -> None:
        shape = Shape("<table><tbody>", "</tbody></table>") if token.name == "table" else block_shape(token)
        is_full = len(self.stack) + _NEEDED.get(token.name, 1) > DEEPEST
        if is_full or (token.name == "h" and self.has_open("h")):
            self.frame.pass_limit(token.name)
            self.text(f"\n{shape.label}\n" if shape.label else "\n")
            return
        self._need_cell()
        self.collapses += token.name == "collapse"
        self._push(token, shape, collapse=self.collapses if token.name == "collapse" else 0)

    def _open_cell(self, token: Token) -> None:
        """Rows and cells belong to the nearest table; whatever is open inside it ends here."""
        table = self._nearest("table")
        if table is None or self.frame.past_limit.get("table"):
            self.text(token.text)
            return
        keep = table + 1
        if token.name == "td" and len(self.stack) > keep and self.stack[keep].name == "tr":
            keep += 1
        self._close_to(keep)
        if token.name == "tr":
            self._push(token, Shape("<tr>", "</tr>"))
            return
        if self.stack[-1].name != "tr":
            self._push(Token("open", "", "tr"), Shape("<tr>", "</tr>"))
        self._push(token, Shape(cell_start(token), "</td>"))

    def _need_cell(self) -> None:
        """Text straight in a table or a list would be moved out of it by every browser."""
        name = self.frame.name
        if name in {"table", "tr"}:
            self._open_cell(Token("open", "", "td"))
        elif name == "list":
            self._push(Token("item", "", "*"), Shape("<li>", "</li>"))

    def _close_block(self, token: Token) -> None:
        index = self._nearest(token.name)
        if index is None:
            self.text(token.text)
        else:
            self._close_to(index)

    def _nearest(self, name: str) -> int | None:
        return next((n for n in range(len(self.stack) - 1, 0, -1) if self.stack[n].name == name), None)

    def _push(self, token: Token, shape: Shape, *, collapse: int = 0) -> None:
        self._write_pending()
        self.out.append(shape.before)
        self.stack.append(Entry(token, shape, is_block=True, is_written=True, collapse=collapse))
        self._is_after_block = True

    def _write_pending(self) -> None:
        for entry in self.stack:
            if not entry.is_written:
                self.out.append(entry.shape.before)
                entry.is_written = True

    def _close_to(self, size: int) -> None:
        while len(self.stack) > size:
            entry = self.stack.pop()
            if entry.is_written:
                self.out.append(entry.shape.after)
            if entry.is_block:
                self._is_after_block = True
