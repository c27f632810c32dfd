"""What one entry of each kind of file says: pages of a urlset, sitemaps of an index, items of feeds.

Elements are told by their local name and their parent, whatever namespace the site wrote; only direct children in the
entry's own namespace count, so that the <loc> of an image is no page.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from watchbook.sources.sitemaps.parse.collect import Collector
from watchbook.sources.sitemaps.parse.records import ATOM, INDEX, RDF, RSS, URLSET
from watchbook.sources.sitemaps.parse.urls import TRIMMED

Element = Any  # of lxml, which brings no types
_DUBLIN_CORE = ("purl.org/dc", "dc")
_FEED_DATES = ("pubDate", "updated", "modified", "published", "issued")


@lru_cache(maxsize=4096)
def split_name(tag: str) -> tuple[str, str]:
    """(namespace, local name); a prefix that was never declared stands for its namespace."""
    if tag.startswith("{"):
        space, _, local = tag[1:].rpartition("}")
        return space, local
    space, _, local = tag.rpartition(":")
    return space, local


def text_of(element: Element) -> str:
    return "".join(element.itertext()) if len(element) else element.text or ""


def own_fields(entry: Element, collect: Collector, *, single: str) -> dict[str, str]:
    """Texts of the direct children in the entry's namespace; the first that is not empty counts."""
    space, _ = split_name(entry.tag)
    fields: dict[str, str] = {}
    for child in entry:
        child_space, local = split_name(child.tag)
        if child_space and child_space != space:
            continue
        text = text_of(child)
        if not fields.get(local):
            fields[local] = text
        elif local == single and text.strip(TRIMMED):
            collect.notes.add("extra_locs")
    return fields


def read_page(entry: Element, collect: Collector) -> None:
    fields = own_fields(entry, collect, single="loc")
    if not collect.news:
        collect.news = any("sitemap-news" in split_name(child.tag)[0] for child in entry)
    collect.add_page(
        fields.get("loc", ""), fields.get("lastmod", ""), fields.get("changefreq", ""), fields.get("priority", "")
    )


def read_child(entry: Element, collect: Collector) -> None:
    fields = own_fields(entry, collect, single="loc")
    loc = fields.get("loc", "")
    if "loc" not in fields:
        loc = (entry.text or "") + "".join(child.tail or "" for child in entry)
        if loc.strip(TRIMMED):
            collect.notes.add("bare_text_children")
    collect.add_child(loc, fields.get("lastmod", ""))


def read_item(entry: Element, collect: Collector) -> None:
    """An item of RSS 0.9x, 1.0 or 2.0. A guid is the link when it says so, or when there is no other."""
    fields = own_fields(entry, collect, single="link")
    link = fields.get("link", "").strip(TRIMMED)
    if not link:
        guid = fields.get("guid", "").strip(TRIMMED)
        about = next((value for name, value in entry.attrib.items() if split_name(str(name))[1] == "about"), "")
        link = guid if guid.lower().startswith(("http://", "https://")) else str(about)
    collect.add_page(link, _feed_date(entry, fields))


def read_atom_entry(entry: Element, collect: Collector) -> None:
    fields = own_fields(entry, collect, single="")
    link = ""
    for child in entry:
        if split_name(child.tag) == (split_name(entry.tag)[0], "link") and child.get("rel", "alternate") == "alternate":
            link = link or str(child.get("href", ""))
    if not link and fields.get("id", "").strip(TRIMMED).lower().startswith(("http://", "https://")):
        link = fields["id"]
    collect.add_page(link, _feed_date(entry, fields))


def _feed_date(entry: Element, fields: dict[str, str]) -> str:
    for name in _FEED_DATES:
        if fields.get(name):
            return fields[name]
    for child in entry:
        space, local = split_name(child.tag)
        if local == "date" and any(mark in space for mark in _DUBLIN_CORE):
            return text_of(child)
    return ""


READERS: dict[str, tuple[str, Callable[[Element, Collector], None]]] = {
    URLSET: ("url", read_page),
    INDEX: ("sitemap", read_child),
    RSS: ("item", read_item),
    RDF: ("item", read_item),
    ATOM: ("entry", read_atom_entry),
}
