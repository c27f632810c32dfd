"""Which note an address or an id names. The token in an address is an input, never part of what the note is."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, urlsplit

NOTE_ID = re.compile(r"[0-9A-Za-z_-]{1,64}\Z")
TOKEN = re.compile(r"[\x21-\x7e]{1,500}\Z")
SOURCE = re.compile(r"[\w-]{1,40}\Z", re.ASCII)
_PATHS = (
    re.compile(r"/(?:explore|discovery/item)/([0-9A-Za-z_-]{1,64})/?\Z"),
    re.compile(r"/user/profile/[0-9A-Za-z_-]{1,64}/([0-9A-Za-z_-]{1,64})/?\Z"),
)


class NotANote(ValueError):
    """Neither an id nor an address of a note."""


@dataclass(frozen=True)
class NoteAddress:
    note_id: str
    xsec_token: str = ""
    xsec_source: str = ""

    def with_token(self, token: str, source: str = "") -> NoteAddress:
        return replace(self, xsec_token=token or self.xsec_token, xsec_source=source or self.xsec_source)


def note_address(note_id: str, xsec_token: str = "", xsec_source: str = "") -> NoteAddress:
    if not NOTE_ID.match(note_id):
        raise NotANote("note_id")
    if xsec_token and not TOKEN.match(xsec_token):
        raise NotANote("xsec_token")
    if xsec_source and not SOURCE.match(xsec_source):
        raise NotANote("xsec_source")
    return NoteAddress(note_id, xsec_token, xsec_source)


def parse_note_url(url: str) -> NoteAddress:
    """`/explore/ID`, `/discovery/item/ID` or `/user/profile/UID/ID`, with the token of its query."""
    try:
        parts = urlsplit(url.strip()[:2048])
    except ValueError:
        raise NotANote("note_url") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise NotANote("note_url")
    found = next((match[1] for path in _PATHS if (match := path.match(parts.path))), "")
    if not found:
        raise NotANote("note_url")
    query = parse_qs(parts.query, max_num_fields=50)
    token, source = query.get("xsec_token", [""])[0], query.get("xsec_source", [""])[0]
    return note_address(found, token, source if SOURCE.match(source) else "")


def bare_url(url: str) -> str:
    """The address without its query: what may be stored and shown."""
    return url.partition("#")[0].partition("?")[0]
