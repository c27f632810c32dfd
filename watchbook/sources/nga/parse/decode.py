"""Bytes of an answer to text: the declared encoding, else GB18030, with the cures for bodies that mix two."""

from __future__ import annotations

import re

from watchbook.sources.nga.parse.errors import Damaged
from watchbook.sources.nga.parse.notes import Notes

LARGEST = 32_000_000

_DECLARED = re.compile(r"charset\s*=\s*[\"']?([\w-]{1,40})", re.IGNORECASE)
# The source names its encoding inside the answer too: JSON by `encode`, pages by a meta tag or a script variable.
_INSIDE = re.compile(
    rb"""(?:"encode"\s{0,9}:\s{0,9}"|charset\s{0,9}=\s{0,9}["']?|__CHARSET\s{0,9}=\s{0,9}["'])([\w-]{1,40})""",
    re.IGNORECASE,
)
_STRING = rb'"(?:[^"\\]|\\.)*+"'
_JDATA = re.compile(rb'"jdata"\s{0,9}:\s{0,9}' + _STRING + rb"(?=\s{0,9}[,}\]])", re.DOTALL)
_TJ = re.compile(rb'"__TJ"\s{0,9}:\s{0,9}(?=\{)')
_BRACE = re.compile(_STRING + rb"|[{}]", re.DOTALL)
_QUOTE = re.compile(rb"([\"<>\n]+)")


def decode(body: bytes, content_type: str, notes: Notes) -> str:
    """The text of a body."""
    if not body.strip():
        raise Damaged("empty_answer")
    if len(body) > LARGEST:
        raise Damaged("too_large")
    if body.startswith(b"\xef\xbb\xbf"):
        return body.decode("utf-8-sig", "replace")
    if _is_utf8(body, _declared(body, content_type)):
        return body.decode("utf-8")
    try:
        # Means the same wherever it can be read, and is read faster.
        return body.decode("gbk")
    except UnicodeDecodeError:
        pass
    try:
        return body.decode("gb18030")
    except UnicodeDecodeError:
        rest = _without_keywords(body, notes)
    try:
        return rest.decode("gb18030")
    except UnicodeDecodeError:
        return _piece_by_piece(rest, notes)


def _declared(body: bytes, content_type: str) -> str:
    said = _DECLARED.search(content_type)
    inside = None if said else _INSIDE.search(body[:4096]) or _INSIDE.search(body[-4096:])
    return said[1].lower() if said else inside[1].decode("ascii", "ignore").lower() if inside else ""


def _is_utf8(body: bytes, declared: str) -> bool:
    if declared.startswith("gb"):
        return False
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    # Two GBK characters can look like two-byte UTF-8; real Chinese in UTF-8 has three bytes a character.
    return declared.replace("-", "") == "utf8" or text.isascii() or max(text) >= "\u0800"


def _without_keywords(body: bytes, notes: Notes) -> bytes:
    """The fields `jdata` and `__TJ` hold internal keywords, now and then in UTF-8 inside a GBK body."""
    body, blanked = _JDATA.subn(b'"jdata":""', body)
    pieces, last = [], 0
    for hit in _TJ.finditer(body):
        if hit.start() < last:
            continue
        end = _closing_brace(body, hit.end())
        if not end:
            break
        pieces += [body[last : hit.start()], b'"__TJ":{}']
        last, blanked = end, blanked + 1
    notes.add("blanked_keywords", blanked)
    return b"".join([*pieces, body[last:]])


def _closing_brace(body: bytes, start: int) -> int:
    depth = 0
    # Keywords are short; a limit keeps a hostile body from making this quadratic.
    for token in _BRACE.finditer(body, start, start + 20_000):
        depth += {b"{": 1, b"}": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return 0


def _piece_by_piece(body: bytes, notes: Notes) -> str:
    """No second byte of a GBK character is a quote or an angle bracket, so pieces between them are safe to cut out."""
    found = []
    for piece in _QUOTE.split(body):
        is_other = not piece.isascii() and _is_utf8(piece, "")
        notes.add("mixed_encoding", int(is_other))
        found.append(piece.decode("utf-8") if is_other else piece.decode("gb18030", "replace"))
    return "".join(found)
