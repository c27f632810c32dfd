"""Reads the head of a web page: its title, and the sitemaps and feeds that it links."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from watchbook.systems.sitemaps.parse.entries import normalise

# Links are in the head; a page without a body element is read this far.
MAX_CHARS = 512_000
MAX_LINKS = 50
LONGEST_TITLE = 200
FEED_TYPES = frozenset({"application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+xml"})
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_BODY = re.compile(r"<body\b", re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^<>]{0,500}>([^<]{0,2000})", re.IGNORECASE)
_SITE_NAME = re.compile(r"<meta\b([^<>]{0,2000})>", re.IGNORECASE)
_LINK = re.compile(r"<link\b([^<>]{0,4000})>", re.IGNORECASE)
_BASE = re.compile(r"<base\b([^<>]{0,2000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"""([a-zA-Z:-]{1,40})\s{0,9}=\s{0,9}(?:"([^"]{0,2100})"|'([^']{0,2100})'|([^\s"'>]{1,2100}))"""
)


@dataclass(frozen=True, slots=True)
class FeedLink:
    url: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class PageHead:
    """Addresses are absolute, each once, in the order of the page."""

    title: str = ""
    site_name: str = ""
    sitemaps: tuple[str, ...] = ()
    feeds: tuple[FeedLink, ...] = ()


def read_head(text: str, base_url: str) -> PageHead:
    """Read the head of a page in linear time. Text that is not HTML gives an empty record."""
    head = _COMMENT.sub("", _BODY.split(text[:MAX_CHARS], maxsplit=1)[0])
    base = next((_attributes(found[1]).get("href", "") for found in _BASE.finditer(head)), "")
    base_url = (normalise(base, base_url)[0] if base else None) or base_url
    title = _TITLE.search(head)
    sitemaps: dict[str, None] = {}
    feeds: dict[str, FeedLink] = {}
    for found in list(_LINK.finditer(head))[: MAX_LINKS * 10]:
        given = _attributes(found[1])
        url = normalise(given.get("href", ""), base_url)[0]
        kinds = given.get("rel", "").lower().split()
        if url is None or len(sitemaps) + len(feeds) >= MAX_LINKS:
            continue
        if "sitemap" in kinds:
            sitemaps[url] = None
        elif "alternate" in kinds and given.get("type", "").lower().partition(";")[0].strip() in FEED_TYPES:
            feeds.setdefault(url, FeedLink(url, _words(given.get("title", ""))))
    return PageHead(_words(title[1]) if title else "", _site_name(head), tuple(sitemaps), tuple(feeds.values()))


def _site_name(head: str) -> str:
    for found in _SITE_NAME.finditer(head):
        given = _attributes(found[1])
        if given.get("property", "").lower() == "og:site_name":
            return _words(given.get("content", ""))
    return ""


def _attributes(text: str) -> dict[str, str]:
    return {name.lower(): html.unescape(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(text)}


def _words(text: str) -> str:
    return " ".join(html.unescape(text).split())[:LONGEST_TITLE]
