"""Which character encoding a file is in, and turning it into text without ever losing a character.

A byte order mark wins, then the XML declaration, then the header, then UTF-8. Bytes that do not fit are read as
Windows-1252: a replacement character inside a URL would look like one page removed and another added.
"""

from __future__ import annotations

import codecs
import re
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from watchbook.sources.sitemaps.parse.notes import Notes

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
        """Letters are not single bytes, so nothing can be searched in the raw bytes."""
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
    """Text without its byte order mark."""
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
