"""Records of notes, searches and refusals; parsers of their single values: counts, times, note IDs and URLs.

A token in a URL is an input and never part of the identity of a note.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Count:
    """A number as the platform shows it. "1.2万" is 12000 and not exact; what is not shown has no value, not 0."""

    value: int | None = None
    exact: bool = False
    raw: str = ""


@dataclass(frozen=True)
class Media:
    kind: str  # image, video, live_photo
    url: str
    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    file_id: str = ""
    # Other addresses of the same file.
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class NoteRecord:
    """One note in full. `author_id` and `author_name` are as read; the crawl hides them before they are stored."""

    note_id: str
    note_type: str = "normal"
    title: str = ""
    content: str = ""
    author_id: str = ""
    author_name: str = ""
    counts: dict[str, Count] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    media: tuple[Media, ...] = ()
    published_at: datetime | None = None
    edited_at: datetime | None = None
    # What the platform sent and this parser could not use, e.g. "video stream EF9".
    skipped: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The shape of `data` in an answer and of `result` in a commit."""
        shown = asdict(self)
        shown["tags"], shown["skipped"] = list(self.tags), list(self.skipped)
        shown["media"] = [{**asdict(one), "others": list(one.others)} for one in self.media]
        for name in ("published_at", "edited_at"):
            moment = getattr(self, name)
            shown[name] = moment.isoformat() if moment else None
        return shown


@dataclass(frozen=True)
class CardRecord:
    """One hit of a search."""

    note_id: str
    xsec_token: str = ""
    note_type: str = "normal"
    title: str = ""
    author_id: str = ""
    author_name: str = ""
    liked: Count = Count()
    published_at: datetime | None = None

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "published_at": self.published_at.isoformat() if self.published_at else None}


@dataclass(frozen=True)
class SearchPage:
    cards: tuple[CardRecord, ...]
    has_more: bool


@dataclass(frozen=True)
class CreatorPage:
    """One page of the notes of a creator, newest first; pinned notes stand above newer ones."""

    cards: tuple[CardRecord, ...]
    has_more: bool = False
    cursor: str = ""
    name: str = ""
    pinned: frozenset[str] = frozenset()


@dataclass(frozen=True)
class CommentRecord:
    """One comment, or an answer to one."""

    comment_id: str
    parent_id: str = ""
    content: str = ""
    author_id: str = ""
    author_name: str = ""
    liked: Count = Count()
    published_at: datetime | None = None

    @property
    def liked_json(self) -> dict[str, Any]:
        return asdict(self.liked)


@dataclass(frozen=True)
class CommentPage:
    comments: tuple[CommentRecord, ...]
    has_more: bool = False
    cursor: str = ""
    # Comments on the note that have more answers than are listed.
    open_branches: frozenset[str] = frozenset()


UNITS = {"": 1, "千": 1_000, "k": 1_000, "万": 10_000, "w": 10_000, "亿": 100_000_000}
LARGEST = 10**15
_SHAPE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)?\s?(千|万|亿|[kw])?\s?(\+)?\Z", re.IGNORECASE)

# Above this a number of the platform counts milliseconds.
MILLISECONDS_FROM = 10**12
EARLIEST, LATEST = 1_230_768_000, 4_102_444_800  # 2009 and 2100
_NOTE_ID = re.compile(r"[0-9a-f]{24}\Z")


def parse_count(raw: object) -> Count:
    """Never raises: what cannot be read has no value and keeps its text."""
    if isinstance(raw, bool) or raw is None:
        return Count()
    if isinstance(raw, int):
        return Count(raw, True, str(raw)) if 0 <= raw <= LARGEST else Count(raw=str(raw)[:40])
    text = str(raw).strip().replace(",", "")[:40]
    shape = _SHAPE.match(text)
    if shape is None or not (shape[1] or shape[2]):
        return Count(raw=text)
    unit = (shape[2] or "").lower()
    try:
        value = Decimal(shape[1] or 1) * UNITS[unit]
    except InvalidOperation:
        return Count(raw=text)
    if value > LARGEST:
        return Count(raw=text)
    whole = int(value)
    return Count(whole, not unit and not shape[3] and value == whole, text)


def parse_moment(value: object) -> datetime | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    seconds = value / 1000 if value > MILLISECONDS_FROM else float(value)
    return datetime.fromtimestamp(seconds, UTC) if EARLIEST <= seconds <= LATEST else None


def moment_of_id(note_id: str) -> datetime | None:
    """The first eight hex digits of an id are the second in which the note was published."""
    return parse_moment(int(note_id[:8], 16)) if _NOTE_ID.match(note_id) else None


NOTE_ID = re.compile(r"[0-9A-Za-z_-]{1,64}\Z")
TOKEN = re.compile(r"[\x21-\x7e]{1,500}\Z")
SOURCE = re.compile(r"[\w-]{1,40}\Z", re.ASCII)
_PATHS = (
    re.compile(r"/(?:explore|discovery/item|search_result)/([0-9A-Za-z_-]{1,64})/?\Z"),
    re.compile(r"/user/profile/[0-9A-Za-z_-]{1,64}/([0-9A-Za-z_-]{1,64})/?\Z"),
)


_URL = re.compile(r"https?://[!-~]{1,2048}")
LONGEST_TEXT = 5000


class InvalidNoteAddress(ValueError):
    """The text is neither a note ID nor a note URL."""


@dataclass(frozen=True)
class NoteAddress:
    note_id: str
    xsec_token: str = ""
    xsec_source: str = ""

    def with_token(self, token: str, source: str = "") -> NoteAddress:
        return replace(self, xsec_token=token or self.xsec_token, xsec_source=source or self.xsec_source)


def note_address(note_id: str, xsec_token: str = "", xsec_source: str = "") -> NoteAddress:
    if not NOTE_ID.match(note_id):
        raise InvalidNoteAddress("note_id")
    if xsec_token and not TOKEN.match(xsec_token):
        raise InvalidNoteAddress("xsec_token")
    if xsec_source and not SOURCE.match(xsec_source):
        raise InvalidNoteAddress("xsec_source")
    return NoteAddress(note_id, xsec_token, xsec_source)


def parse_note_url(url: str) -> NoteAddress:
    """Parse `/explore/ID`, `/discovery/item/ID`, `/search_result/ID` or `/user/profile/UID/ID` with its token.

    A share text is accepted, too: its first URL counts.
    """
    shared = _URL.search(url[:LONGEST_TEXT])
    try:
        parts = urlsplit((shared.group() if shared else url.strip())[:2048])
    except ValueError:
        raise InvalidNoteAddress("note_url") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InvalidNoteAddress("note_url")
    found = next((match[1] for path in _PATHS if (match := path.match(parts.path))), "")
    if not found:
        raise InvalidNoteAddress("note_url")
    query = parse_qs(parts.query, max_num_fields=50)
    token, source = query.get("xsec_token", [""])[0], query.get("xsec_source", [""])[0]
    return note_address(found, token, source if SOURCE.match(source) else "")


def bare_url(url: str) -> str:
    """Return the URL without query and fragment, which may hold a token."""
    return url.partition("#")[0].partition("?")[0]
