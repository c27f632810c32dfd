"""Reading one file of a sitemap, whatever it turns out to be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from watchbook.sources.sitemaps.parse.collect import Collector, Enough
from watchbook.sources.sitemaps.parse.encoding import Encoding, decode, find_encoding
from watchbook.sources.sitemaps.parse.errors import Damaged, NotASitemap
from watchbook.sources.sitemaps.parse.fast import Refused, read_fast
from watchbook.sources.sitemaps.parse.forgiving import read_forgiving
from watchbook.sources.sitemaps.parse.layers import Decoded
from watchbook.sources.sitemaps.parse.lists import ListWriter
from watchbook.sources.sitemaps.parse.notes import Notes
from watchbook.sources.sitemaps.parse.plaintext import read_text
from watchbook.sources.sitemaps.parse.records import TEXT, URLSET, Limits, PartRecord
from watchbook.sources.sitemaps.parse.root import Root, find_root

PROTOCOL_ENTRIES = 50_000
PROTOCOL_BYTES = 52_428_800
LIMITS = Limits()


def read_part(
    source: Path | str | BinaryIO,
    *,
    base_url: str,
    content_type: str | None = None,
    transport_complete: bool = True,
    limits: Limits = LIMITS,
    output: Path | None = None,
) -> PartRecord:
    """Read a file of raw bytes; its pages go to `output` as a canonical list, or stay in memory without one.

    `base_url` is the address after redirects. Raises an Unreadable when nothing can be read.
    """
    with ExitStack() as stack:
        file = stack.enter_context(Path(source).open("rb")) if isinstance(source, (str, Path)) else source
        work = _Work(file, base_url, limits, transport_complete, output)
        encoding, root = work.look(content_type)
        if root.kind == URLSET:
            with suppress(Refused):
                return work.do(encoding, root, read_fast)
        return work.do(encoding, root, _read_slowly)


def _read_slowly(chunks: Decoded, _: Root, encoding: Encoding, collect: Collector) -> None:
    # Found again: in decoded text the root may stand elsewhere than in the bytes.
    root, texts = _after_root(decode(chunks, encoding, collect.notes), collect.limits)
    if root.kind == TEXT:
        read_text(texts, collect)
    else:
        read_forgiving(texts, root, collect)


def _after_root(texts: Iterator[str], limits: Limits) -> tuple[Root, Iterator[str]]:
    head = ""
    while len(head) < limits.head_bytes and (text := next(texts, None)) is not None:
        head += text
    root = find_root(head[: limits.head_bytes])
    return root, chain([head[root.end :]], texts)


@dataclass(frozen=True, slots=True)
class _Work:
    file: BinaryIO
    base_url: str
    limits: Limits
    transport_complete: bool
    output: Path | None

    def look(self, content_type: str | None) -> tuple[Encoding, Root]:
        """What the first bytes say. The root's position counts single bytes, unless letters are wider."""
        notes = Notes()
        head = b""
        for chunk in Decoded(self.file, self.limits, notes):
            head += chunk
            if len(head) >= self.limits.head_bytes:
                break
        head = head[: self.limits.head_bytes]
        encoding = find_encoding(head, content_type)
        codec = encoding.codec if encoding.is_wide else "latin-1"
        try:
            return encoding, find_root(head[encoding.bom_length :].decode(codec, "replace"))
        except NotASitemap as error:
            if error.code in {"empty_body", "unknown_content"} and not (notes.complete and self.transport_complete):
                raise Damaged("broken_off", "The file breaks off before anything can be read.") from None
            raise

    def do(
        self, encoding: Encoding, root: Root, read: Callable[[Decoded, Root, Encoding, Collector], None]
    ) -> PartRecord:
        notes, writer = Notes(), ListWriter(self.output)
        decoded = Decoded(self.file, self.limits, notes)
        collect = Collector(self.base_url, self.limits, notes, writer)
        try:
            with suppress(Enough):
                read(decoded, root, encoding, collect)
                collect.flush()
            news = collect.news or (not collect.listed and root.news_prefix is not None)
            pages = writer.finish(self.base_url, news=news)
        finally:
            writer.discard()
        notes.add("duplicate_urls", writer.taken - pages.count)
        notes.add("unknown_encoding", encoding.unknown)
        notes.add("transport_cut", not self.transport_complete)
        notes.add("text_before_root", root.text_before)
        notes.add("doctype_ignored", root.doctype)
        notes.add("over_50000_urls", collect.listed > PROTOCOL_ENTRIES)
        notes.add("over_50_megabytes", decoded.size > PROTOCOL_BYTES)
        return PartRecord(
            kind=root.kind,
            complete=notes.complete,
            count=pages.count,
            listed=collect.listed,
            notes=notes.listed(),
            pages=pages,
            children=tuple(collect.children.values()),
            news=news,
            decoded_bytes=decoded.size,
        )
