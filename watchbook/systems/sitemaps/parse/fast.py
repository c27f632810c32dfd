"""The fast reader for plainly written urlsets: one regular expression over whole <url> blocks, in bytes.

It accepts a block of text only if the grammar below covers every byte of it; comments, CDATA, control characters,
strange entities, foreign elements and missing ends are all left to the forgiving reader. Its gain over that one is
about sevenfold, so it may refuse in doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from watchbook.systems.sitemaps.parse.decode import NOT_XML, Encoding, Root
from watchbook.systems.sitemaps.parse.entries import NORMAL, Collector
from watchbook.systems.sitemaps.parse.lastmod import PLAIN

FIELDS = (b"lastmod", b"changefreq", b"priority")
_SPACE = rb"[ \t\r\n]*+"
_LETTERS = rb"[!-%'-;=?-\[\]-~]"  # what needs neither unescaping in XML nor escaping in a line
_VALUE = rb"(" + _LETTERS + rb"{0,60}+)"
_DATE = rb"(?:(" + PLAIN + rb"(?=<))|" + _VALUE + rb")"
_NORMAL_LOC = rb"https?://[a-z0-9.\-]++/" + _LETTERS + rb"{0,1900}+"
_TEXT = rb"[^<>&\x00-\x08\x0b\x0c\x0e-\x1f]*+"
_ANY_LOC = _TEXT + rb"(?:&(?:amp|lt|gt|quot|apos|#[0-9]{2,7}|#x[0-9A-Fa-f]{2,6});" + _TEXT + rb")*+"
_END = re.compile(rb"[ \t\r\n]*+</urlset[ \t\r\n]*+>(?:[ \t\r\n]++|<!--(?:[^-]++|-(?!->))*+-->)*+")
_REFERENCE = re.compile(r"&(?:#([0-9]+)|#x([0-9A-Fa-f]+)|([a-z]+));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_FIRST_BLOCK = re.compile(rb"[ \t\r\n]*+<url>(.{0,8192}?)</url>", re.DOTALL)
_FIELD_TAG = re.compile(rb"<(lastmod|changefreq|priority)>")
_SITEMAP_SPACE = re.compile(r"/schemas/sitemap/0\.")
_BLOCK_END = b"</url>"
_LONGEST_BLOCK = 4_000_000
_COLUMNS = 7  # what stands between two blocks, and six groups


class Refused(Exception):
    """This file is not plainly written."""


def read_fast(chunks: Iterable[bytes], root: Root, encoding: Encoding, collect: Collector) -> None:
    """Read a whole urlset or raise Refused; then the rows collected so far must be thrown away."""
    if root.prefix or root.closed or encoding.is_wide:
        raise Refused
    reader = _Blocks(root, encoding, collect)
    rest, to_skip = b"", encoding.bom_length + root.end
    for chunk in chunks:
        data = rest + chunk
        if to_skip:
            if len(data) < to_skip:
                rest = data
                continue
            data, to_skip = data[to_skip:], 0
        cut = data.rfind(_BLOCK_END) + len(_BLOCK_END)
        if cut < len(_BLOCK_END):
            rest = data
            if len(rest) > _LONGEST_BLOCK:
                raise Refused
            continue
        reader.read(data[:cut].lstrip(b" \t\r\n"))
        rest = data[cut:]
    if to_skip or not _END.fullmatch(rest):
        raise Refused


class _Blocks:
    def __init__(self, root: Root, encoding: Encoding, collect: Collector) -> None:
        self._encoding = encoding
        self._collect = collect
        self._pattern: re.Pattern[bytes] | None = None
        self._columns: tuple[int, ...] = ()
        prefixes = [prefix for prefix, _ in root.namespaces if prefix]
        own = root.spaces.get("")
        if any(prefix and (uri == own or _SITEMAP_SPACE.search(uri)) for prefix, uri in root.namespaces):
            raise Refused  # <s:lastmod> beside <lastmod> would say something about the page too
        self._prefixes = [f"<{prefix}:".encode() for prefix in prefixes]
        self._extension = _extension_pattern(tuple(prefixes))
        self._news = f"<{root.news_prefix}:".encode() if root.news_prefix else None

    def read(self, block: bytes) -> None:
        if not block.isascii():
            self._check_encoding(block)
        if self._pattern is None:
            self._pattern, self._columns = _block_pattern(_order_of_fields(block))
        parts = self._pattern.split(self._without_extensions(block))
        if any(parts[0::_COLUMNS]):
            raise Refused
        urls, texts = parts[1::_COLUMNS], parts[2::_COLUMNS]
        dates, odd_dates, freqs, priorities = (parts[column::_COLUMNS] for column in self._columns)
        if any(odd_dates):
            dates = [date or odd for date, odd in zip(dates, odd_dates, strict=True)]
        self._collect.listed += len(urls)
        if not all(urls):
            urls = [url or self._address(text) for url, text in zip(urls, texts, strict=True)]
        rows: Iterable[tuple[bytes, ...]] = zip(urls, _filled(dates), _filled(freqs), _filled(priorities), strict=True)
        if not all(urls):
            rows = [row for row in rows if row[0]]
            odd_dates = [odd for url, odd in zip(urls, odd_dates, strict=True) if url]
            urls = [url for url in urls if url]
        self._collect.add_lines(list(map(b"\t".join, rows)), urls, filter(None, odd_dates))

    def _check_encoding(self, block: bytes) -> None:
        if not self._encoding.is_utf8:
            raise Refused
        try:
            block.decode()
        except UnicodeDecodeError:
            raise Refused from None

    def _without_extensions(self, block: bytes) -> bytes:
        """Cut out whole foreign elements, innermost first; what is not balanced stays and is refused."""
        if not any(prefix in block for prefix in self._prefixes):
            return block
        if self._news and self._news in block:
            self._collect.news = True
        for _ in range(4):
            block, found = self._extension.subn(b"", block)
            if not found:
                break
        return block

    def _address(self, text: bytes) -> bytes | None:
        if b"&" in text:
            if text.count(b"&") == text.count(b"&amp;"):
                text = text.replace(b"&amp;", b"&")
            else:
                text = _REFERENCE.sub(_character, text.decode()).encode()
        if NORMAL.fullmatch(text):
            return text
        url = self._collect.address(text.decode())
        return None if url is None else _escaped(url)


def _character(reference: re.Match[str]) -> str:
    decimal, hexadecimal, name = reference.groups()
    if name:
        return _NAMED[name]
    number = int(decimal) if decimal else int(hexadecimal, 16)
    if number > 0x10FFFF or NOT_XML.match(chr(number)):
        raise Refused
    return chr(number)


def _filled(column: list[bytes]) -> list[bytes]:
    return column if all(column) else [value or b"" for value in column]


def _escaped(url: str) -> bytes:
    if "\\" in url or "\t" in url or "\n" in url or "\r" in url:
        raise Refused
    return url.encode()


def _order_of_fields(block: bytes) -> tuple[bytes, ...]:
    """The order in which this file writes its fields, learnt from the first block; the usual one where it fits."""
    first = _FIRST_BLOCK.match(block)
    seen = list(dict.fromkeys(_FIELD_TAG.findall(first[1] if first else b"")))
    if seen == [name for name in FIELDS if name in seen]:
        return FIELDS
    return (*seen, *(name for name in FIELDS if name not in seen))


@lru_cache(maxsize=8)
def _block_pattern(order: tuple[bytes, ...]) -> tuple[re.Pattern[bytes], tuple[int, ...]]:
    """The grammar of a block, and in which groups lastmod (plain or odd), changefreq and priority are."""
    loc = rb"<loc>(?:(" + _NORMAL_LOC + rb")|(" + _ANY_LOC + rb"))</loc>"
    pattern, group = rb"<url>" + _SPACE + loc + _SPACE, 3
    groups: dict[bytes, tuple[int, ...]] = {}
    for name in order:
        value, count = (_DATE, 2) if name == b"lastmod" else (_VALUE, 1)
        pattern += rb"(?:<%b>%b</%b>%b)?+" % (name, value, name, _SPACE)
        groups[name] = tuple(range(group, group + count))
        group += count
    return re.compile(pattern + rb"</url>" + _SPACE), sum((groups[name] for name in FIELDS), ())


@lru_cache(maxsize=32)
def _extension_pattern(prefixes: tuple[str, ...]) -> re.Pattern[bytes]:
    names = "|".join(map(re.escape, prefixes)) or "(?!)"
    return re.compile(
        rf"<((?:{names}):(?!url[ \t\r\n/>])[A-Za-z_][A-Za-z0-9_.\-]*+)(?=[ \t\r\n/>])[^<>]*+>".encode()
        + rb"(?:(?<=/>)|[^<]*+</\1>)[ \t\r\n]*+"
    )
