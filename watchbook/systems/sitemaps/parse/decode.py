"""From the bytes of a file to text and its root element: gzip layers, character encoding, type of the document."""

from __future__ import annotations

import codecs
import re
import threading
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from html import unescape
from itertools import chain
from typing import BinaryIO
from xml.sax.saxutils import quoteattr

from watchbook.systems.sitemaps.parse.entries import TRIMMED
from watchbook.systems.sitemaps.parse.records import (
    ATOM,
    INDEX,
    RDF,
    RSS,
    TEXT,
    URLSET,
    Damaged,
    Dangerous,
    Limits,
    NotASitemap,
    Notes,
    gettext_noop,
)

CHUNK = 1 << 16
_INFLATE_BYTES = 1 << 12
"""Compressed bytes taken at a time: when one call meets damage, what it had unpacked is lost."""
_MAGIC = b"\x1f\x8b"


class Decoded:
    """Iterates over the unpacked bytes of a file. `size` counts the bytes returned."""

    def __init__(self, file: BinaryIO, limits: Limits, notes: Notes) -> None:
        self._file = file
        self._limits = limits
        self._notes = notes
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        chunks = iter(lambda: self._file.read(CHUNK), b"")
        for chunk in _joined(self._capped(self._unpacked(chunks))):
            self.size += len(chunk)
            yield chunk

    def _unpacked(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for layer in range(self._limits.gzip_layers + 1):
            head = _first_bytes(chunks, len(_MAGIC))
            chunks = chain([head], chunks) if head else chunks
            if not head.startswith(_MAGIC):
                if layer > 1:
                    self._notes.once("double_gzip")
                break
            if layer == self._limits.gzip_layers:
                raise Dangerous("too_many_layers", "The file is compressed more than 2 times.")
            chunks = self._capped(_inflate(chunks, self._notes))
        return chunks

    def _capped(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        left = self._limits.decoded_bytes
        for chunk in chunks:
            if len(chunk) > left:
                self._notes.once("decoded_cap", self._limits.decoded_bytes)
                if left:
                    yield chunk[:left]
                return
            left -= len(chunk)
            yield chunk


def _first_bytes(chunks: Iterator[bytes], count: int) -> bytes:
    head = b""
    while len(head) < count and (chunk := next(chunks, b"")):
        head += chunk
    return head


def _joined(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Join small chunks to larger ones, which are cheaper to read."""
    held: list[bytes] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk)
        if size >= CHUNK // 2:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _inflate(chunks: Iterable[bytes], notes: Notes) -> Iterator[bytes]:
    """Unpack gzip members one after the other; note bytes after the last one."""
    source = (chunk[at : at + _INFLATE_BYTES] for chunk in chunks for at in range(0, len(chunk), _INFLATE_BYTES))
    data = _first_bytes(source, len(_MAGIC))
    while data.startswith(_MAGIC):
        member = zlib.decompressobj(wbits=31)
        try:
            yield from _unpack(member, data, source)
        except zlib.error:
            notes.once("corrupt_gzip")
            return
        if not member.eof:
            notes.once("truncated_gzip")
            return
        data = _after(member.unused_data, source)
    if data:
        notes.once("trailing_bytes_after_gzip")


def _unpack(member: zlib._Decompress, data: bytes, source: Iterator[bytes]) -> Iterator[bytes]:
    while not member.eof:
        if not data and not (data := next(source, b"")):
            return
        piece = member.decompress(data, CHUNK)
        data = member.unconsumed_tail
        if piece:
            yield piece


def _after(data: bytes, source: Iterator[bytes]) -> bytes:
    """Return the bytes after a member without zero padding."""
    while not data.strip(b"\0") and (more := next(source, b"")):
        data = more
    data = data.lstrip(b"\0")
    return data + _first_bytes(source, len(_MAGIC)) if 0 < len(data) < len(_MAGIC) else data


_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([A-Za-z0-9._:\-]{1,40})[\"']")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9._:\-]{1,40})", re.IGNORECASE)

# Codecs that are text, and the wider sister where sites write the narrow name. UTF-7 and Python's own are not here.
_CODECS = {
    "utf-8": "utf-8", "ascii": "cp1252", "iso8859-1": "cp1252", "cp1252": "cp1252", "gb2312": "gb18030",
    "gbk": "gb18030", "gb18030": "gb18030", "big5": "big5hkscs", "big5hkscs": "big5hkscs", "shift_jis": "cp932",
    "cp932": "cp932", "euc_jp": "euc_jp", "euc_kr": "cp949", "cp949": "cp949", "koi8-r": "koi8-r",
    "koi8-u": "koi8-u", "utf-16": "utf-16", "utf-16-le": "utf-16-le", "utf-16-be": "utf-16-be",
    **{f"iso8859-{n}": f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16)},
    **{f"cp125{n}": f"cp125{n}" for n in (0, 1, 3, 4, 5, 6, 7, 8)},
}  # fmt: skip
_FALLBACK_LIMIT = 20_000
_PIECE = 131_072
_fallen = threading.local()


@dataclass(frozen=True, slots=True)
class Encoding:
    codec: str
    bom_length: int = 0
    unknown: bool = False

    @property
    def is_utf8(self) -> bool:
        return self.codec == "utf-8"

    @property
    def is_wide(self) -> bool:
        """Whether characters are wider than one byte, so that raw bytes cannot be searched."""
        return self.codec.startswith("utf-16")


def find_encoding(head: bytes, content_type: str | None = None) -> Encoding:
    for bom, codec in _BOMS:
        if head.startswith(bom):
            return Encoding(codec, len(bom))
    start = head.lstrip(b" \t\r\n")[:4]
    if start.startswith((b"<\0", b"h\0")):
        return Encoding("utf-16-le")
    if start.startswith((b"\0<", b"\0h")):
        return Encoding("utf-16-be")
    match = _DECLARED.search(head)
    header = _CHARSET.search(content_type or "")
    name = match[1].decode() if match else header[1] if header else "utf-8"
    known = _known(name)
    if known is None or known.startswith("utf-16"):
        # The declaration could be read byte by byte, so the file is not in UTF-16 whatever it says.
        return Encoding("utf-8", unknown=True)
    return Encoding(known)


def _known(name: str) -> str | None:
    try:
        return _CODECS.get(codecs.lookup(name).name)
    except LookupError:
        return None


def decode(chunks: Iterable[bytes], encoding: Encoding, notes: Notes) -> Iterator[str]:
    """Decode to text without the byte order mark."""
    decoder = codecs.getincrementaldecoder(encoding.codec)("sitemap-cp1252")
    plainly_1252 = encoding.codec == "cp1252"
    fallen = 0
    for data in _pieces(chunks, encoding.bom_length):
        if plainly_1252:
            yield codecs.charmap_decode(data, "strict", _CP1252)[0]
            continue
        _fallen.count = 0
        yield decoder.decode(data)
        fallen += _fallen.count
        # Past this it is plainly the other encoding: no more asking byte by byte.
        plainly_1252 = fallen > _FALLBACK_LIMIT
    _fallen.count = 0
    yield decoder.decode(b"", final=True)
    notes.add("wrong_encoding", fallen + _fallen.count)


def _pieces(chunks: Iterable[bytes], skip: int) -> Iterator[bytes]:
    for chunk in chunks:
        for at in range(skip, len(chunk), _PIECE):
            yield chunk[at : at + _PIECE]
        skip = max(0, skip - len(chunk))


def _as_cp1252(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    _fallen.count = getattr(_fallen, "count", 0) + len(bad)
    return "".join(_CP1252[byte] for byte in bad), error.end


# Five bytes have no meaning in Windows-1252; as Latin-1 they at least stay what they are.
_CP1252 = "".join(bytes([n]).decode("cp1252", "ignore") or chr(n) for n in range(256))
codecs.register_error("sitemap-cp1252", _as_cp1252)


NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML document may hold, not even as a reference."""
_KINDS = {"urlset": URLSET, "sitemapindex": INDEX, "rss": RSS, "feed": ATOM, "RDF": RDF}
# What PHP and its debuggers print before the document. Any other element in front is the root itself.
_WARNING_TAGS = frozenset({
    "a", "b", "br", "center", "code", "div", "em", "font", "h1", "h2", "h3", "hr", "i", "p", "pre", "small", "span",
    "strong", "table", "tbody", "td", "th", "tr", "u",
})  # fmt: skip
_PAGE_TAGS = frozenset({"html", "head", "body", "title", "meta", "script", "style"})
_TOKEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)"
    r"|(?P<doctype><!DOCTYPE\b(?:[^\[>]*+\[[^\]]*+\]|[^\[>]*+)[^>]*+(?:>|\Z))"
    r"|<(?P<name>[A-Za-z_][\w.\-]*+(?::[\w.\-]++)?+)",
    re.DOTALL | re.IGNORECASE,
)
_START_TAG = re.compile(r"<[^<>\"']*+(?:\"[^\"<]*+\"[^<>\"']*+|'[^'<]*+'[^<>\"']*+)*+>")
_NAMESPACE = re.compile(r"\bxmlns(?::([\w.\-]+))?\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_BASE = re.compile(r"\bxml:base\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
UNKNOWN = gettext_noop("The response is not a sitemap.")
EMPTY = gettext_noop("The response is empty.")
_URL_LINE = re.compile(r"https?://\S", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Root:
    """Position and attributes of the root element. Positions count from the start of the text."""

    kind: str
    name: str = ""
    start: int = 0
    end: int = 0
    closed: bool = False
    namespaces: tuple[tuple[str, str], ...] = ()
    text_before: bool = False
    doctype: bool = False
    base: str = ""

    @property
    def prefix(self) -> str:
        return self.name.rpartition(":")[0]

    @property
    def start_tag(self) -> str:
        """Return a clean start tag with its namespaces."""
        spaces = "".join(
            f" xmlns{':' if prefix else ''}{prefix}={quoteattr(uri)}" for prefix, uri in self.spaces.items()
        )
        base = f" xml:base={quoteattr(self.base)}" if self.base else ""
        return f"<{self.name}{spaces}{base}{'/' if self.closed else ''}>"

    @property
    def spaces(self) -> dict[str, str]:
        return dict(self.namespaces)

    @property
    def news_prefix(self) -> str | None:
        """Return the prefix of news elements in this file."""
        return next((prefix for prefix, uri in self.namespaces if "sitemap-news" in uri), None)


def find_root(head: str) -> Root:
    """Find the root element. Raises Unreadable if the text is not a sitemap."""
    unknown_root, doctype, text_before = "", False, False
    position = 0
    for token in _TOKEN.finditer(head):
        text_before = text_before or bool(head[position : token.start()].strip(TRIMMED))
        position = token.end()
        if token["doctype"]:
            doctype = True
            _check_doctype(token["doctype"])
        if not token["name"]:
            continue
        local = token["name"].rpartition(":")[2]
        if local in _KINDS and not unknown_root:
            if "\0" in head[: token.start()]:  # a sitemap inside an archive or a picture is not the sitemap
                raise NotASitemap("unknown_content", UNKNOWN)
            root = Root(_KINDS[local], token["name"], text_before=text_before, doctype=doctype)
            return _known_root(head, token, root)
        if local.lower() in _PAGE_TAGS and not unknown_root:
            raise NotASitemap("html_page", "The response is a web page, not a sitemap.")
        text_before = True
        if local.lower() not in _WARNING_TAGS:
            unknown_root = unknown_root or token["name"]
    return _without_root(head, unknown_root)


def _check_doctype(doctype: str) -> None:
    if re.match(r"<!DOCTYPE\s+html\b", doctype, re.IGNORECASE):
        raise NotASitemap("html_page", "The response is a web page, not a sitemap.")
    _refuse_entities(doctype)


def _refuse_entities(text: str) -> None:
    """Refuse declared entities: they can grow without limit or read files."""
    if "<!entity" in text.lower():
        raise Dangerous("entity_declarations", "The file declares XML entities, which are not allowed.")


def _known_root(head: str, token: re.Match[str], root: Root) -> Root:
    tag = _START_TAG.match(head, token.start())
    if tag is None:
        raise Damaged("root_tag_broken", "The first element of the sitemap is not closed.")
    _refuse_entities(head[: tag.start()])
    clean = NOT_XML.sub("", tag[0])
    spaces = tuple((m[1] or "", m[2] if m[2] is not None else m[3]) for m in _NAMESPACE.finditer(clean))
    base = _BASE.search(clean)
    return replace(
        root,
        start=tag.start(),
        end=tag.end(),
        closed=tag[0].endswith("/>"),
        namespaces=spaces,
        base=unescape(base[1] or base[2] or "") if base and root.kind == ATOM else "",
    )


def _without_root(head: str, unknown_root: str) -> Root:
    lines = [line for line in map(_trim, head.splitlines()) if line]
    addresses = sum(_URL_LINE.match(line) is not None for line in lines)
    if addresses and addresses * 2 >= len(lines):
        return Root(TEXT)
    if unknown_root:
        raise NotASitemap(
            "unknown_root", f"The response is XML of another type: its root element is <{unknown_root[:80]}>."
        )
    if not lines or not _without_comments(head).strip(TRIMMED):
        raise NotASitemap("empty_body", EMPTY)
    raise NotASitemap("unknown_content", UNKNOWN)


def _trim(line: str) -> str:
    return line.strip(TRIMMED)


def _without_comments(head: str) -> str:
    return re.sub(r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)", "", head, flags=re.DOTALL)
