"""The tolerant XML reader: repairs the text, then parses it with lxml.

It escapes bare ampersands and less-than signs, replaces HTML entities, drops control characters, comments and
processing instructions, and finds the end of the root element. A token at the end of a chunk waits for the next
chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.entities import html5
from typing import Any

from watchbook.systems.sitemaps.parse.decode import NOT_XML, Root
from watchbook.systems.sitemaps.parse.entries import READERS, Collector, Element, split_name
from watchbook.systems.sitemaps.parse.records import INDEX, URLSET, Notes

_AMPERSAND = re.compile(r"&(?:#(?:([0-9]{1,9})|[xX]([0-9A-Fa-f]{1,8}));|([A-Za-z][A-Za-z0-9]{0,31});)?")
_OPENING = re.compile(r"<!--|<\?|<!\[CDATA\[")
# A tag that another one begins inside of. The parser would search the rest of the file for the end of each.
_STRAY = re.compile(r"<(?=[^<>]*+<)")
_STRAY_TO_END = re.compile(r"<(?=[^<>]*+(?:<|\Z))")
_TOKEN_START = re.compile(r"[<&]")
_LONGEST_TOKEN = 64
_XML_ENTITIES = frozenset({"amp", "lt", "gt", "quot", "apos"})
_CDATA = "<![CDATA["
_CLOSINGS = {"<!--": "-->", "<?": "?>", _CDATA: "]]>"}


class Repairer:
    """Feed what follows the start tag of the root; get back what a parser can take, up to the root's end."""

    def __init__(self, root: Root, entry_name: str, notes: Notes) -> None:
        self._notes = notes
        self._held = ""
        self._inside = ""
        self._root_end = re.compile(rf"</{re.escape(root.name)}\s*>")
        self._entry = re.compile(rf"<(?:[\w.\-]+:)?{entry_name}(?=[\s/>])")
        self.entries = 0
        self.closed = root.closed

    def feed(self, text: str) -> str:
        return self._work(self._held + text, final=False)

    def finish(self) -> str:
        return self._work(self._held, final=True)

    def _work(self, text: str, *, final: bool) -> str:
        out: list[str] = []
        self._held, at = "", 0
        while at < len(text):
            step = self._skip if self._inside else self._plain
            at = step(text, at, out, final=final)
        return "".join(out)

    def _skip(self, text: str, at: int, out: list[str], *, final: bool) -> int:
        """Inside a comment, an instruction or a CDATA section: nothing is markup until its closing."""
        closing = _CLOSINGS[self._inside]
        stop = text.find(closing, at)
        end = stop + len(closing) if stop >= 0 else len(text)
        if stop < 0 and not final:
            end = max(at, end - len(closing) + 1)
            self._held = text[end:]
        if self._inside == _CDATA and not self.closed:
            out.append(self._clean(text[at:end]))
        if stop >= 0:
            self._inside = ""
            return end
        return len(text)

    def _plain(self, text: str, at: int, out: list[str], *, final: bool) -> int:
        opening = _OPENING.search(text, at)
        end = opening.start() if opening else len(text)
        if opening is None and not final:
            token = _TOKEN_START.search(text, max(at, end - _LONGEST_TOKEN))
            if token:
                end = token.start()
                self._held = text[end:]
        self._take(text[at:end], out, ended=final or opening is not None)
        if opening is None:
            return len(text)
        self._inside = opening[0]
        if self._inside == _CDATA and not self.closed:
            out.append(_CDATA)
        elif self._inside == _CDATA:
            self._notes.once("text_after_root")
        return opening.end()

    def _take(self, text: str, out: list[str], *, ended: bool) -> None:
        if not self.closed and (end := self._root_end.search(text)):
            self.closed = True
            out.append(self._repaired(text[: end.end()], ended=ended))
            text = text[end.end() :]
        if self.closed:
            if text.strip():
                self._notes.once("text_after_root")
            return
        out.append(self._repaired(text, ended=ended))

    def _repaired(self, text: str, *, ended: bool) -> str:
        text, strays = (_STRAY_TO_END if ended else _STRAY).subn("&lt;", self._clean(text))
        self._notes.add("bare_less_than", strays)
        self.entries += len(self._entry.findall(text))
        return _AMPERSAND.sub(self._reference, text) if "&" in text else text

    def _clean(self, text: str) -> str:
        text, found = NOT_XML.subn("", text)
        self._notes.add("control_characters", found)
        return text

    def _reference(self, match: re.Match[str]) -> str:
        decimal, hexadecimal, name = match.groups()
        if decimal or hexadecimal:
            number = int(decimal) if decimal else int(hexadecimal, 16)
            if number > 0x10FFFF or NOT_XML.match(chr(number)):
                self._notes.add("control_characters")
                return ""
            return match[0].lower()
        if name in _XML_ENTITIES:
            return match[0]
        letters = html5.get(f"{name};") if name else None
        if letters is None:
            self._notes.add("bare_ampersand")
            return "&amp;" + match[0][1:]
        self._notes.add("html_entities")
        return letters.replace("&", "&amp;").replace("<", "&lt;")


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
            # The parser keeps what it has not yielded; this bounds its memory.
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
        # An entry inside an entry: the outer one was not closed and still needs its own fields.
        nested = above == local
        if nested or above in _PARENTS:
            self._read(element, self._collect)
        if not nested and parent is not None:
            _delete(element, parent)

    def say_errors(self) -> None:
        log = [entry.type_name for entry in self._parser.feed_error_log]
        if "NS_ERR_UNDEFINED_NAMESPACE" in log:
            self._collect.notes.once("undeclared_prefix")
        if any(name.startswith("ERR_") for name in log):
            self._collect.notes.once("xml_errors")


def _delete(element: Element, parent: Element) -> None:
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
