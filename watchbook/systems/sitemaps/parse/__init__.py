"""Parses sitemaps: bytes in, frozen records and canonical lists out. No Django, network or clock.

`read_part` reads one file, `read_part_task` does the same with small JSON on both sides, `read_robots` finds sitemaps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from watchbook.systems.sitemaps.parse.decode import Decoded, Encoding, Root, decode, find_encoding, find_root
from watchbook.systems.sitemaps.parse.entries import TRIMMED, Collector, LimitReached, normalise
from watchbook.systems.sitemaps.parse.fast import Refused, read_fast
from watchbook.systems.sitemaps.parse.forgiving import read_forgiving
from watchbook.systems.sitemaps.parse.lists import ListWriter
from watchbook.systems.sitemaps.parse.records import (
    TEXT,
    URLSET,
    Damaged,
    Limits,
    NotASitemap,
    Notes,
    PartRecord,
    Unreadable,
)

_LINE_END = re.compile(r"\r\n|\n|\r")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_LONGEST_LINE = 65_536


def read_text(texts: Iterable[str], collect: Collector) -> None:
    rest = ""
    for text in texts:
        *lines, rest = _LINE_END.split(rest + text)
        _take(lines, collect)
        if len(rest) > _LONGEST_LINE:
            _take([rest], collect)
            rest = ""
    _take([rest], collect)


def _take(lines: Iterable[str], collect: Collector) -> None:
    for line in lines:
        text = line.strip(TRIMMED)
        if not text:
            continue
        text, found = _CONTROL.subn("", text)
        collect.notes.add("control_characters", found)
        if _ABSOLUTE.match(text):
            collect.add_page(text)
        else:
            collect.notes.add("not_url_lines")
    collect.flush()


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
    """Read a file of raw bytes and write its URLs to `output` as a canonical list, or keep them in memory.

    `base_url` is the address after redirects. Raises an Unreadable when nothing can be read.
    """
    with ExitStack() as stack:
        file = stack.enter_context(Path(source).open("rb")) if isinstance(source, (str, Path)) else source
        work = _Work(file, base_url, limits, transport_complete, output)
        encoding, root = work.detect(content_type)
        if root.kind == URLSET:
            with suppress(Refused):
                return work.read(encoding, root, read_fast)
        return work.read(encoding, root, _read_slowly)


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

    def detect(self, content_type: str | None) -> tuple[Encoding, Root]:
        """Detect encoding and root element from the first bytes."""
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
                raise Damaged("broken_off", "The file ends before any content.") from None
            raise

    def read(
        self, encoding: Encoding, root: Root, read: Callable[[Decoded, Root, Encoding, Collector], None]
    ) -> PartRecord:
        notes, writer = Notes(), ListWriter(self.output)
        decoded = Decoded(self.file, self.limits, notes)
        collect = Collector(self.base_url, self.limits, notes, writer)
        try:
            with suppress(LimitReached):
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


def read_part_task(argument: dict[str, Any]) -> dict[str, Any]:
    """Takes input_path, output_path, base_url and optionally content_type, transport_complete, limits.

    Answers the summary of the part with its state (ok, incomplete, over-limit), or state "failed" with
    error {kind, code, message}, where kind is the name of the Unreadable.
    """
    try:
        part = read_part(
            Path(argument["input_path"]),
            base_url=argument["base_url"],
            content_type=argument.get("content_type"),
            transport_complete=argument.get("transport_complete", True),
            limits=Limits(**argument.get("limits", {})),
            output=Path(argument["output_path"]),
        )
    except Unreadable as error:
        said = {"kind": type(error).__name__, "code": error.code, "message": error.message}
        return {"state": "failed", "error": said}
    return part.summary()


MAX_BYTES = 524_288
MAX_SITEMAPS = 1_000
MAX_CRAWL_DELAY_SECONDS = 30.0
_HTML = re.compile(r"\s*<(?:!doctype|html|head|body|\?xml)\b", re.IGNORECASE)
_RULES = frozenset({"allow", "disallow", "crawl-delay"})


@dataclass(frozen=True, slots=True)
class RobotsRecord:
    sitemaps: tuple[str, ...] = ()
    crawl_delay_seconds: float | None = None


def read_robots(body: bytes, base_url: str, *, agent: str = "watchbook") -> RobotsRecord:
    """Parse robots.txt. `base_url` is its own address; relative sitemaps are resolved against it."""
    text = "".join(decode([body[:MAX_BYTES]], find_encoding(body[:MAX_BYTES]), Notes()))
    if _HTML.match(text):
        return RobotsRecord()
    sitemaps: dict[str, None] = {}
    delays: dict[str, float] = {}
    group: list[str] = []
    in_rules = False
    for key, value in _lines(text):
        if key in {"sitemap", "site-map"}:
            url, _ = normalise(value, base_url)
            if url and len(sitemaps) < MAX_SITEMAPS:
                sitemaps[url] = None
        elif key == "user-agent":
            group = [*([] if in_rules else group), value.lower()]
            in_rules = False
        elif key in _RULES:
            in_rules = True
            if key == "crawl-delay" and (delay := _seconds(value)) is not None:
                delays.update(dict.fromkeys(group, delay))
    return RobotsRecord(tuple(sitemaps), _delay_for(agent.lower(), delays))


def _lines(text: str) -> Iterator[tuple[str, str]]:
    for line in re.split(r"\r\n|\n|\r", text):
        key, colon, value = line.partition("#")[0].partition(":")
        if colon and value.strip(TRIMMED):
            yield key.strip(TRIMMED).lower(), value.strip(TRIMMED)


def _seconds(value: str) -> float | None:
    if not re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", value, re.ASCII):
        return None
    return min(float(value), MAX_CRAWL_DELAY_SECONDS)


def _delay_for(agent: str, delays: dict[str, float]) -> float | None:
    """Return the delay of the most specific group for our agent, or of the group for all."""
    named = [name for name in delays if name != "*" and name and agent.startswith(name)]
    return delays[max(named, key=len)] if named else delays.get("*")
