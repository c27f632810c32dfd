"""Where the rows of a file go: addresses to their one spelling, lines to the list, oddities to the notes."""

from __future__ import annotations

from collections.abc import Iterable

from watchbook.sources.sitemaps.parse.lastmod import is_unreadable
from watchbook.sources.sitemaps.parse.lines import write_line
from watchbook.sources.sitemaps.parse.lists import ListWriter
from watchbook.sources.sitemaps.parse.notes import Notes
from watchbook.sources.sitemaps.parse.records import ChildRecord, Limits
from watchbook.sources.sitemaps.parse.urls import NORMAL, TRIMMED, normalise

_BATCH = 2_000


class Enough(Exception):
    """A limit is reached; what was read so far counts as incomplete."""


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
        """The one spelling of an address, or None when it cannot be listed."""
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
            raise Enough
        else:
            self.children[url] = ChildRecord(url, self.value(lastmod))

    def add_lines(self, lines: list[bytes], urls: list[bytes], odd_lastmods: Iterable[bytes]) -> None:
        """Lines that are already canonical, their URLs, and those of their dates that may be unreadable."""
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
            raise Enough
        self._writer.add(lines, urls)
