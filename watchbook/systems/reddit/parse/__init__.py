"""Parses listings of posts and comments, and renders their Markdown.

Renders the Markdown of posts and comments as safe HTML.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from typing import Any

import nh3

from watchbook.systems.reddit.parse.dumps import DumpedItem, SkippedLine, parse_line
from watchbook.systems.reddit.parse.listings import (
    CommentRecord,
    Item,
    Listing,
    NotAListing,
    PostRecord,
    normal,
    parse_listing,
    read_comment,
    read_post,
    text_norm_hash,
)

__all__ = [
    "CommentRecord",
    "DumpedItem",
    "Item",
    "Listing",
    "NotAListing",
    "PostRecord",
    "SkippedLine",
    "normal",
    "parse_line",
    "parse_listing",
    "read_comment",
    "read_post",
    "text_norm_hash",
    "to_html",
]


# Reddit allows 40,000 characters; a longer text is shown as it is.
MAX_LENGTH = 60_000
TAGS = {
    "a", "b", "blockquote", "br", "code", "del", "em", "hr", "li", "ol", "p", "pre", "s", "strong", "table", "tbody",
    "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_HEADING = re.compile(r"<(/?)h[1-6]>")


def to_html(text: str) -> str:
    """Return safe HTML. Headings become bold paragraphs, pictures become links, raw HTML stays text."""
    if len(text) > MAX_LENGTH:
        return "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n") if part.strip())
    html = _HEADING.sub(lambda tag: "</strong></p>" if tag[1] else "<p><strong>", _renderer().render(text))
    return nh3.clean(
        html, tags=TAGS, attributes={"a": {"href"}, "ol": {"start"}}, url_schemes={"http", "https"},
        link_rel="noopener noreferrer nofollow",
    )  # fmt: skip


@cache
def _renderer() -> Any:
    from markdown_it import MarkdownIt  # half a second of start-up that only pages with text need

    found = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
    return found.disable(["image"])
