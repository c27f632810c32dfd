"""The short way, which most posts take: prose with a few tags, each closed in the order in which they were opened.

It gives what the builder would give, or None where it does not know: tags that cross or have no end, lists, tables,
headings, dice. A test holds the two together. Its text is whole: no control characters, no halves of characters.
"""

from __future__ import annotations

import re
from functools import lru_cache
from string import ascii_letters

from watchbook.systems.nga.parse.bbcode.addresses import Addresses
from watchbook.systems.nga.parse.bbcode.tags import (
    BLOCKS,
    INLINE,
    SIMPLE,
    Dice,
    Media,
    Shape,
    block_shape,
    image,
    inline_shape,
    smiley_url,
)
from watchbook.systems.nga.parse.bbcode.tags import shown_whole as shown
from watchbook.systems.nga.parse.bbcode.tokens import LONGEST_BODY, OPEN, RAW, RAW_TAGS, RAW_WITHOUT_ATTRIBUTE, Token

# Far from the builder's limits.
MOST_TAGS, DEEPEST = 500, 8

_LONG_WAY = frozenset({"table", "tr", "td", "list", "h", "dice", "urlreplace"})
_BLOCKS = BLOCKS - _LONG_WAY
_RAW = RAW_TAGS - _LONG_WAY
_NAMED = re.compile(r"([a-z]{1,16})(?:[= ]([^\n]{0,2100}))?")
# What else stands behind a bracket is text.
_MAY_BE_TAG = frozenset(f"{ascii_letters}/@*")
_NO_DICE = Dice(author_id=None, tid=0, pid=0)


def quick(source: str, addresses: Addresses) -> str | None:
    """HTML of a post, not cleaned yet; None: take the long way."""
    first, *pieces = source.split("[")
    if len(pieces) > MOST_TAGS:
        return None
    post = _Post(addresses, is_bare=not ("&" in source or "<" in source or ">" in source or "#" in source))
    post.text(first)
    rest = iter(pieces)
    for piece in rest:
        tag, bracket, text = piece.partition("]")
        if not bracket or tag[:1] not in _MAY_BE_TAG:
            text = f"[{piece}"
        elif not (post.close(tag[1:]) if tag[0] == "/" else post.open(tag) or post.smiley(tag)):
            end, bracket, behind = next(rest, "").partition("]")
            if not bracket or not post.raw(tag, text, end):
                return None
            text = behind
        post.text(text)
    return None if post.stack else "".join(post.out)


class _Post:
    """Output and open tags. Each method returns whether it could handle its input."""

    def __init__(self, addresses: Addresses, *, is_bare: bool) -> None:
        self.addresses = addresses
        # Nothing in it that would be shown as something else.
        self.is_bare = is_bare
        self.out: list[str] = []
        # Name and shape, and the place behind an inline tag: one around nothing is not written by the builder.
        self.stack: list[tuple[str, Shape, int]] = []
        self.is_after_block = True

    def text(self, source: str) -> None:
        visible = source if self.is_bare else shown(source)
        if self.is_after_block and visible.startswith("\n"):
            visible = visible[1:]
        if visible:
            self.out.append(visible.replace("\n", "<br>"))
            self.is_after_block = False

    def close(self, name: str) -> bool:
        if not self.stack or self.stack[-1][0] != name or self.stack[-1][2] == len(self.out):
            return False
        _, shape, place = self.stack.pop()
        self.out.append(shape.after)
        if not place:
            self.is_after_block = True
        return True

    def smiley(self, tag: str) -> bool:
        html = _smiley(tag) if tag.startswith("s:") else None
        if html:
            self.out.append(html)
            self.is_after_block = False
        return html is not None

    def open(self, tag: str) -> bool:
        found = _BARE.get(tag) or (None if tag.startswith("s:") else _with_attribute(tag, self.addresses))
        if not found or len(self.stack) >= DEEPEST:
            return False
        name, shape, is_block = found
        if shape.is_link and self._is_in_link():
            return False
        self.out.append(shape.before)
        self.stack.append((name, shape, 0 if is_block else len(self.out)))
        if is_block:
            self.is_after_block = True
        return True

    def raw(self, tag: str, body: str, end: str) -> bool:
        """Handle a tag with raw content, and its closing tag."""
        name, _, attribute = tag.partition("=")
        is_raw = name in _RAW or (tag in RAW_WITHOUT_ATTRIBUTE)
        if not is_raw or end != f"/{name}" or len(body) > LONGEST_BODY:
            return False
        token = Token(RAW, f"[{tag}]{body}[{end}]", name, "", attribute, body)
        found = Media(self.addresses, _NO_DICE).raw(token, block=0, in_link=self._is_in_link())
        if not found:
            return False
        html, self.is_after_block = found
        self.out.append(html)
        return True

    def _is_in_link(self) -> bool:
        return any(shape.is_link for _, shape, _ in self.stack)


@lru_cache(maxsize=512)
def _smiley(tag: str) -> str | None:
    url = smiley_url(tag[2:])
    return image(url, f"[{tag}]", "bb-smiley") if url else None


_Known = tuple[str, Shape, bool]
"""Name, shape, and whether it is a block."""


def _bare(name: str) -> _Known:
    token = Token(OPEN, f"[{name}]", name)
    if name in _BLOCKS:
        return name, block_shape(token), True
    return name, inline_shape(token, Addresses()) or Shape(), False


_BARE = {name: _bare(name) for name in [*SIMPLE, *_BLOCKS]}


def _with_attribute(tag: str, addresses: Addresses) -> _Known | None:
    found = _NAMED.fullmatch(tag)
    if not found:
        return None
    name, attribute = found[1], found[2] or ""
    token = Token(OPEN, f"[{tag}]", name, "", attribute)
    if name in _BLOCKS:
        return name, block_shape(token), True
    if name not in INLINE or (name in RAW_WITHOUT_ATTRIBUTE and not attribute):
        return None
    shape = inline_shape(token, addresses)
    return (name, shape, False) if shape else None
