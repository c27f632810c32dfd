"""Records that reading, evaluating and storing a check exchange, and their messages.

Messages are stored in English and shown in the language of the user.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import sandbox
from watchbook.base.web.errors import WebError
from watchbook.base.web.response import Validators
from watchbook.kit import formatting
from watchbook.systems.sitemaps.compare import Difference, Union
from watchbook.systems.sitemaps.parse.imports import InvalidFile
from watchbook.systems.sitemaps.parse.lastmod import DAY, MONTH, Lastmod, read_lastmod
from watchbook.systems.sitemaps.parse.lists import PartList
from watchbook.systems.sitemaps.parse.records import Note, Unreadable, sentence_for

OK, SAME, FAILED = "ok", "not_modified", "failed"
CARRIED, LEFT_INDEX = "carried", "left_index"
READ_WHOLE = (OK, SAME)

NO_VALIDATORS = Validators()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Limits of our own that make a check incomplete.
LIMIT_MESSAGES = {
    "too_many_parts": "The sitemap has more files than allowed; the rest was not read.",
    "index_too_deep": "The indexes are nested deeper than allowed; the rest was not read.",
    "check_deadline": "The check took too long; the rest was not read.",
}


@dataclass(frozen=True)
class KnownPart:
    """A file as of its last complete reading."""

    url: str
    validators: Validators = NO_VALIDATORS
    body_sha256: str = ""
    summary: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PartReading:
    """One file in this check. `summary` is the new result, or the known one if nothing new was read."""

    url: str
    outcome: str  # ok, not_modified, incomplete, over-limit, failed
    summary: Mapping[str, Any] = field(default_factory=dict)
    validators: Validators = NO_VALIDATORS
    body_sha256: str = ""
    lines: Path | None = None
    error_code: str = ""
    message: str = ""

    @property
    def is_read(self) -> bool:
        """Whether the file was read completely. Only such files can prove that a URL is missing."""
        return self.outcome in READ_WHOLE

    @property
    def is_index(self) -> bool:
        return self.summary.get("kind") == "index"

    @property
    def count(self) -> int:
        return int(self.summary.get("count", 0))

    def as_list(self) -> PartList:
        """The URLs that were just read."""
        assert self.lines is not None
        return PartList(self.url, self.summary["list_sha256"], self.count, self.lines, bool(self.summary.get("news")))

    @property
    def notes(self) -> list[dict[str, Any]]:
        own = list(self.summary.get("notes", []))
        if self.message:
            own.append({"code": self.error_code, "count": 1, "message": self.message})
        return [{**note, "part": self.url} for note in own]


@dataclass
class Reading:
    """All files of a sitemap in this check. The first file is the address of the monitor."""

    parts: list[PartReading] = field(default_factory=list)
    limits_hit: list[str] = field(default_factory=list)
    # Parts of earlier checks that the site now says do not exist.
    gone: set[str] = field(default_factory=set)
    fetch_ms: int = 0
    parse_ms: int = 0
    bytes_read: int = 0

    @property
    def root(self) -> PartReading:
        return self.parts[0]

    @property
    def pages(self) -> list[PartReading]:
        """Return the files that list URLs."""
        return [part for part in self.parts if not part.is_index]

    @property
    def is_complete(self) -> bool:
        return not self.limits_hit and all(part.is_read for part in self.parts)

    @property
    def nothing_read(self) -> bool:
        """Whether this is an index of which no file was read: that proves nothing about its URLs."""
        if not self.root.is_index:
            return False
        files = [part for part in self.parts[1:] if not (part.is_index and part.is_read)]
        if files:
            return all(part.outcome == FAILED for part in files)
        return bool(self.limits_hit)

    @property
    def notes(self) -> list[dict[str, Any]]:
        caps = [{"code": code, "count": 1, "message": LIMIT_MESSAGES[code]} for code in self.limits_hit]
        return caps + [note for part in self.parts for note in part.notes]

    def add_limit(self, code: str) -> None:
        if code not in self.limits_hit:
            self.limits_hit.append(code)


def repeated_notes(union: Union) -> list[dict[str, Any]]:
    """Return the note about URLs that several files list."""
    note = Note("duplicate_urls", union.repeated)
    return [{"code": note.code, "count": note.count, "message": note.message}] if union.repeated else []


@dataclass(frozen=True)
class SnapshotList:
    """One list of a snapshot with its manifest entry and, if new, its file."""

    part: PartList
    url: str
    outcome: str
    lines: Path | None = None

    def manifest(self) -> dict[str, Any]:
        return {
            "url": self.url,
            "sha256": self.part.sha256,
            "url_count": self.part.count,
            "complete": self.outcome in READ_WHOLE,
            "outcome": self.outcome,
            "news": self.part.news,
        }


@dataclass
class CheckResult:
    """The result of a check: everything that is stored."""

    reading: Reading
    change_type: str
    health: str
    url_hash: str
    url_count: int
    lists: list[SnapshotList]
    # None for a baseline, and where every part is the same as before.
    difference: Difference | None = None
    notes: list[dict[str, Any]] = field(default_factory=list)
    # Addresses of files that no longer exist.
    dropped: list[str] = field(default_factory=list)
    was_whole_fetch: bool = False
    # A list of the current snapshot was lost; the one just read is stored in its place.
    has_repaired: bool = False

    def manifest(self) -> list[dict[str, Any]]:
        return [listed.manifest() for listed in self.lists]

    def close(self) -> None:
        if self.difference is not None:
            self.difference.close()


@dataclass(frozen=True)
class CheckFailure:
    """A failed check."""

    health: str
    code: str
    message: str
    retry_after_seconds: float | None = None


@dataclass(frozen=True)
class Cost:
    http_request_count: int
    bytes_read: int
    duration_ms: int


_STRANGE_ROOT = re.compile(r"The response is XML of another type: its root element is <(.*)>\.", re.DOTALL)
_NO_FILE_READ = re.compile(r"None of the ([0-9]+) files? of the sitemap index could be read\. ?(.*)", re.DOTALL)
_WITH_STATUS = re.compile(r"(.*) (\(HTTP [0-9]{3}\))", re.DOTALL)


def error_message(error: WebError | sandbox.TaskError | Unreadable) -> str:
    """Return the message of an error with its HTTP status."""
    status = error.status if isinstance(error, WebError) else None
    return f"{error.message} (HTTP {status})" if status else error.message


def error_text(message: str | None) -> str:
    """Translate a stored error message."""
    if not message:
        return ""
    if dead := _NO_FILE_READ.fullmatch(message):
        count = int(dead[1])
        text = ngettext(
            "None of the %(count)d file of the sitemap index could be read.",
            "None of the %(count)d files of the sitemap index could be read.",
            count,
        )
        return " ".join(filter(None, (text % {"count": count}, error_text(dead[2]))))
    if with_status := _WITH_STATUS.fullmatch(message):
        return f"{error_text(with_status[1])} {with_status[2]}"
    if strange := _STRANGE_ROOT.fullmatch(message):
        return _("The response is XML of another type: its root element is <%(name)s>.") % {"name": strange[1]}
    return _(message)


def note_text(note: Mapping[str, Any]) -> str:
    count = note.get("count", 1)
    sentence = sentence_for(note["code"], count) or LIMIT_MESSAGES.get(note["code"])
    if not sentence:
        return error_text(note.get("message")) or str(note["code"])
    text = _(sentence)
    return text % {"count": count} if "%(count)d" in text else text


def file_error(error: InvalidFile) -> str:
    """Say why a file with monitors cannot be read."""
    words = {
        "empty": _("The file is empty."),
        "too_large": _("The file is larger than 2 MB."),
        "too_many": _("The file has more than 5,000 lines."),
        "no_address": _("The file has no column url or sitemap_url."),
        "not_xml": _("The file is no OPML."),
        "not_csv": _("The file is no CSV."),
        "unknown": _("Unknown columns: %(names)s. Rename or remove them."),
        "repeated": _("Several columns mean the same: %(names)s. Remove all but one."),
    }[error.code]
    return words % {"names": ", ".join(error.columns)} if error.columns else words


def lastmod_text(raw: str | None, style: str = "short") -> str:
    """Format a modification date. Invalid dates are shown as the site wrote them. `style` is that of a moment."""
    if not raw:
        return _("no lastmod")
    found = read_lastmod(raw)
    if found is None or found.precision < MONTH:
        return raw
    # A date without a time is the writer's own day; moving it into another zone would show another date.
    if found.precision <= DAY:
        return formatting.day_text(_day(found)) if found.precision == DAY else raw
    return formatting.moment_text(_EPOCH + timedelta(microseconds=found.nanoseconds // 1000), style)


def _day(found: Lastmod) -> date:
    return (_EPOCH + timedelta(microseconds=found.nanoseconds // 1000)).date()
