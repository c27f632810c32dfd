"""Parses listings of posts and comments, and renders their Markdown."""

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
from watchbook.systems.reddit.parse.markdown import to_html

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
