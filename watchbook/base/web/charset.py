"""Bytes to text by the charset that the answer declares.

Only real character sets count: utf-7 turns harmless bytes into markup, and Python also knows codecs such as hex.
Undecodable bytes become U+FFFD; nothing raises.
"""

from __future__ import annotations

import codecs
import re

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Names as browsers read them: the smaller set is always sent by people who mean the larger one.
_LARGER = {
    "ascii": "cp1252", "us-ascii": "cp1252", "iso-8859-1": "cp1252", "latin1": "cp1252", "latin-1": "cp1252",
    "gb2312": "gb18030", "gbk": "gb18030", "gb_2312-80": "gb18030", "x-gbk": "gb18030", "cp936": "gb18030",
    "utf8": "utf-8", "utf-16": "utf-16-le", "big5": "big5hkscs", "shift-jis": "cp932", "shift_jis": "cp932",
    "sjis": "cp932", "x-sjis": "cp932", "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "iso-8859-9": "cp1254",
}  # fmt: skip
_KNOWN = re.compile(
    r"utf-8|utf-16-?[lb]e|gb18030|big5hkscs|cp932|cp949|cp1252|cp1254|euc-jp|koi8-[ru]"
    r"|iso-8859-(?:[2-8]|1[0134-6])|windows-125[0-8]|cp125[0-8]"
)


def declared_charset(content_type: str) -> str | None:
    """The Python codec for a Content-Type header's charset, or None if it is missing or not a character set."""
    match = re.search(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})", content_type[:1000], re.IGNORECASE)
    if not match:
        return None
    name = match.group(1).lower()
    name = _LARGER.get(name, name)
    return name if _KNOWN.fullmatch(name) else None


def to_text(body: bytes, content_type: str = "", *, fallback: str = "utf-8") -> str:
    """A byte order mark wins over the declaration, the declaration over the fallback."""
    for bom, name in _BOMS:
        if body.startswith(bom):
            return body[len(bom) :].decode(name, "replace")
    return body.decode(declared_charset(content_type) or fallback, "replace")
