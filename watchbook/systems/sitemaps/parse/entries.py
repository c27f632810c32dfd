"""Collects the entries of a file: URLs of a urlset, files of an index, items of feeds.

Elements are recognised by local name and parent, in any namespace. Only direct children in the namespace of the entry
count, so that the <loc> of an image is not a page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import urljoin

from watchbook.systems.sitemaps.parse.lastmod import is_unreadable
from watchbook.systems.sitemaps.parse.lists import ListWriter, write_line
from watchbook.systems.sitemaps.parse.records import ATOM, INDEX, RDF, RSS, URLSET, ChildRecord, Limits, Notes

# White space of all kinds, and the invisible characters that editors and exporters leave at the ends.
TRIMMED = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\u200b\u2060\ufeff"

_NORMAL_PATH = r"[!-\[\]-~]"
_HOST = r"[a-z0-9.\-]++(?::[0-9]{1,5}+)?+"
NORMAL = re.compile(rf"https?://{_HOST}(?:[/?#]{_NORMAL_PATH}{{0,1900}}+)?+".encode())
"""Addresses that need no work: already in their one spelling, short enough, nothing in them to escape."""

_ABSOLUTE = re.compile(r"(https?):(//)?([^/?#\\]*)(.*)", re.IGNORECASE | re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_BAD_AUTHORITY = re.compile(r"[\s<>\"^`{|}\x00-\x1f\x7f]")
_IPV6 = re.compile(r"\[[0-9A-Fa-f:.]+\](?::[0-9]*)?")


def normalise(raw: str, base_url: str, *, max_length: int = 2048) -> tuple[str | None, str | None]:
    """Return (URL, note). The URL is None if it cannot be listed; the note gives the reason or the repair."""
    text = raw.strip(TRIMMED)
    if not text:
        return None, "empty_locs"
    note = None
    match = _ABSOLUTE.fullmatch(text)
    if match is None:
        if _SCHEME.match(text):
            return None, "not_http_urls"
        note = "relative_urls"
        try:
            text = urljoin(base_url, text)
        except ValueError:
            return None, "bad_urls"
        match = _ABSOLUTE.fullmatch(text)
    if match is None or not match[2] or not _is_authority(match[3]):
        return None, "bad_urls"
    user, at, host = match[3].rpartition("@")
    url = f"{match[1].lower()}://{user}{at}{host.lower()}{match[4]}"
    return (url, note) if len(url) <= max_length else (None, "too_long_urls")


def _is_authority(authority: str) -> bool:
    host = authority.rpartition("@")[2]
    if not host or host.startswith(":") or _BAD_AUTHORITY.search(authority):
        return False
    return _IPV6.fullmatch(host) is not None if "[" in host or "]" in host else True


_BATCH = 2_000


class LimitReached(Exception):
    """A limit was reached. The entries read so far count as incomplete."""


class Collector:
    def __init__(self, base_url: str, limits: Limits, notes: Notes, writer: ListWriter) -> None:
        self.base_url = base_url
        self.limits = limits
        self.notes = notes
        self.listed = 0
        self.news = False
        self.children: dict[str, ChildRecord] = {}
        self._writer = writer
        self._lines: list[bytes] = []

    def address(self, raw: str) -> str | None:
        """Return the normalised URL, or None if it cannot be listed."""
        url, note = normalise(raw, self.base_url, max_length=self.limits.url_length)
        if note:
            self.notes.add(note)
        return url

    def value(self, raw: str) -> str:
        text = raw.strip(TRIMMED)
        if len(text) > self.limits.value_length:
            self.notes.add("too_long_values")
            return text[: self.limits.value_length]
        return text

    def add_page(self, loc: str, lastmod: str = "", changefreq: str = "", priority: str = "") -> None:
        self.listed += 1
        url = loc if NORMAL.fullmatch(loc.encode()) else self.address(loc)
        if url is None:
            return
        lastmod = self.value(lastmod)
        self._lines.append(write_line(url, lastmod, self.value(changefreq), self.value(priority)))
        self.notes.add("unreadable_lastmods", is_unreadable(lastmod.encode()))
        if len(self._lines) >= _BATCH:
            self.flush()

    def add_child(self, loc: str, lastmod: str = "") -> None:
        self.listed += 1
        url = self.address(loc)
        if url is None:
            return
        if url == self.base_url:
            self.notes.once("index_lists_itself")
        elif url in self.children:
            self.notes.add("duplicate_urls")
        elif len(self.children) >= self.limits.children:
            self.notes.once("too_many_children", self.limits.children)
            raise LimitReached
        else:
            self.children[url] = ChildRecord(url, self.value(lastmod))

    def add_lines(self, lines: list[bytes], urls: list[bytes], odd_lastmods: Iterable[bytes]) -> None:
        """Add canonical lines with their URLs and the dates that may be unreadable."""
        self.notes.add("unreadable_lastmods", sum(map(is_unreadable, odd_lastmods)))
        self._write(lines, urls)

    def flush(self) -> None:
        lines, self._lines = self._lines, []
        if lines:
            self._write(lines)

    def _write(self, lines: list[bytes], urls: list[bytes] | None = None) -> None:
        room = self.limits.urls - self._writer.taken
        if len(lines) > room:
            self._writer.add(lines[:room])
            self.notes.once("too_many_urls", self.limits.urls)
            raise LimitReached
        self._writer.add(lines, urls)


Element = Any  # of lxml, which brings no types
_DUBLIN_CORE = ("purl.org/dc", "dc")
_FEED_DATES = ("pubDate", "updated", "modified", "published", "issued")


@lru_cache(maxsize=4096)
def split_name(tag: str) -> tuple[str, str]:
    """Return (namespace, local name). An undeclared prefix serves as its namespace."""
    if tag.startswith("{"):
        space, _, local = tag[1:].rpartition("}")
        return space, local
    space, _, local = tag.rpartition(":")
    return space, local


def text_of(element: Element) -> str:
    return "".join(element.itertext()) if len(element) else element.text or ""


def own_fields(entry: Element, collect: Collector, *, single: str) -> dict[str, str]:
    """Return the texts of direct children in the entry's namespace; the first non-empty text counts."""
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
    """Read an item of RSS 0.9x, 1.0 or 2.0. A guid is used as link if it is a permalink or the only address."""
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
            link = link or _with_base(child, str(child.get("href", "")))
    if not link and fields.get("id", "").strip(TRIMMED).lower().startswith(("http://", "https://")):
        link = fields["id"]
    collect.add_page(link, _feed_date(entry, fields))


def _with_base(element: Element, address: str) -> str:
    """Resolve an address against the xml:base of its element and of the elements around it."""
    address = address.strip(TRIMMED)
    try:
        return urljoin(element.base, address) if element.base and address else address
    except ValueError:
        return address


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
