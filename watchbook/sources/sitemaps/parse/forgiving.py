"""The forgiving reader: repaired text through libxml2 in recovery mode, entry by entry, without keeping the tree.

The parser gives up silently on some things (256 levels, 10 MB of text), so the entries it gives are counted against
the entries that stand in the text: what is lost is noted and makes the part incomplete.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from watchbook.sources.sitemaps.parse.collect import Collector
from watchbook.sources.sitemaps.parse.entries import READERS, Element, split_name
from watchbook.sources.sitemaps.parse.records import INDEX, URLSET
from watchbook.sources.sitemaps.parse.repair import Repairer
from watchbook.sources.sitemaps.parse.root import Root

_PARENTS = frozenset({"urlset", "sitemapindex", "channel", "rss", "RDF", "feed"})
_OTHER_ENTRY = {URLSET: "sitemap", INDEX: "url"}


def read_forgiving(texts: Iterable[str], root: Root, collect: Collector) -> None:
    """`texts` is what follows the start tag of the root."""
    reader = _Reader(root, collect)
    reader.feed(root.start_tag)
    repairer = Repairer(root, reader.entry_name, collect.notes)
    for text in texts:
        if not reader.feed(repairer.feed(text)):
            return
    reader.feed(repairer.finish())
    reader.say_errors()
    if not repairer.closed:
        collect.notes.once("root_not_closed")
    collect.notes.add("lost_entries", max(0, repairer.entries - reader.seen))


class _Reader:
    def __init__(self, root: Root, collect: Collector) -> None:
        self._root = root
        self._collect = collect
        self._unread = 0
        self.seen = 0
        self.entry_name, self._read = READERS[root.kind]
        other = _OTHER_ENTRY.get(root.kind)
        tags = [f"{{*}}{name}" for name in (self.entry_name, other) if name]
        self._parser = _make_parser(tags)

    def feed(self, text: str) -> bool:
        """False when reading should stop."""
        if not text:
            return True
        data = text.encode()
        self._parser.feed(data)
        self._unread += len(data)
        for _, element in self._parser.read_events():
            self._take(element)
            self._unread = 0
        self._collect.flush()
        limit = self._collect.limits.entry_bytes
        if self._unread > limit:
            # The parser keeps what it has not handed over; this bounds its memory.
            self._collect.notes.once("entry_too_large", limit)
            return False
        return True

    def _take(self, element: Element) -> None:
        _, local = split_name(element.tag)
        parent = element.getparent()
        above = split_name(parent.tag)[1] if parent is not None else ""
        if local != self.entry_name:
            self._collect.notes.add("misplaced_entries", above == self._root.name.rpartition(":")[2])
            return
        self.seen += 1
        # An entry inside an entry: somebody forgot to close the outer one, which still waits for its own fields.
        nested = above == local
        if nested or above in _PARENTS:
            self._read(element, self._collect)
        if not nested and parent is not None:
            _forget(element, parent)

    def say_errors(self) -> None:
        log = [entry.type_name for entry in self._parser.feed_error_log]
        if "NS_ERR_UNDEFINED_NAMESPACE" in log:
            self._collect.notes.once("undeclared_prefix")
        if any(name.startswith("ERR_") for name in log):
            self._collect.notes.once("xml_errors")


def _forget(element: Element, parent: Element) -> None:
    element.clear(keep_tail=False)
    while (before := element.getprevious()) is not None:
        parent.remove(before)


def _make_parser(tags: list[str]) -> Any:
    # Loaded late: the program starts without it, and the fast reader does not need it.
    from lxml import etree  # type: ignore[import-untyped]

    return etree.XMLPullParser(
        events=("end",),
        tag=tags,
        recover=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
