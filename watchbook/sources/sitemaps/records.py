"""What passes between reading, judging and storing a sitemap. Frozen where nobody has to add to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from watchbook.base.web.answer import Validators
from watchbook.sources.sitemaps.compare import Difference, Union
from watchbook.sources.sitemaps.parse import Note, PartList

OK, SAME, FAILED = "ok", "not_modified", "failed"
CARRIED, LEFT_INDEX = "carried", "left_index"
READ_WHOLE = (OK, SAME)

NO_VALIDATORS = Validators()

# Limits of our own that make a check incomplete.
CAPS = {
    "too_many_parts": "The sitemap has more files than allowed; the rest was not read.",
    "index_too_deep": "The indexes are nested deeper than allowed; the rest was not read.",
    "check_deadline": "The check took too long; the rest was not read.",
}


@dataclass(frozen=True)
class KnownPart:
    """A part as it was when it was last read whole."""

    url: str
    validators: Validators = NO_VALIDATORS
    body_sha256: str = ""
    summary: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PartReading:
    """One part in this check. `summary` is what the reader found, or what was known when nothing new was read."""

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
        """Read whole: the only parts that may say that something is not there."""
        return self.outcome in READ_WHOLE

    @property
    def is_index(self) -> bool:
        return self.summary.get("kind") == "index"

    @property
    def count(self) -> int:
        return int(self.summary.get("count", 0))

    @property
    def notes(self) -> list[dict[str, Any]]:
        own = list(self.summary.get("notes", []))
        if self.message:
            own.append({"code": self.error_code, "count": 1, "message": self.message})
        return [{**note, "part": self.url} for note in own]


@dataclass
class Reading:
    """A whole sitemap as this check found it. The first part is the address that is watched."""

    parts: list[PartReading] = field(default_factory=list)
    caps: list[str] = field(default_factory=list)
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
        """The parts that list pages."""
        return [part for part in self.parts if not part.is_index]

    @property
    def is_complete(self) -> bool:
        return not self.caps and all(part.is_read for part in self.parts)

    @property
    def notes(self) -> list[dict[str, Any]]:
        caps = [{"code": code, "count": 1, "message": CAPS[code]} for code in self.caps]
        return caps + [note for part in self.parts for note in part.notes]

    def cap(self, code: str) -> None:
        if code not in self.caps:
            self.caps.append(code)


def repeated_notes(union: Union) -> list[dict[str, Any]]:
    """Pages that stand in more than one file are listed once, and it is said."""
    note = Note("duplicate_urls", union.repeated)
    return [{"code": note.code, "count": note.count, "message": note.message}] if union.repeated else []


@dataclass(frozen=True)
class Listed:
    """One list of a snapshot: its place in the manifest and, when it is new, the file it is in."""

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
class Checked:
    """What a check concluded: everything that is stored of it."""

    reading: Reading
    change_type: str
    health: str
    url_hash: str
    url_count: int
    lists: list[Listed]
    # None for a baseline, and where every part is the same as before.
    difference: Difference | None = None
    notes: list[dict[str, Any]] = field(default_factory=list)
    # Addresses of parts that are gone for good.
    dropped: list[str] = field(default_factory=list)
    was_whole_fetch: bool = False

    def manifest(self) -> list[dict[str, Any]]:
        return [listed.manifest() for listed in self.lists]

    def close(self) -> None:
        if self.difference is not None:
            self.difference.close()


@dataclass(frozen=True)
class Failed:
    """A check that read nothing."""

    health: str
    code: str
    message: str
    retry_after_seconds: float | None = None


@dataclass(frozen=True)
class Cost:
    http_request_count: int
    bytes_read: int
    duration_ms: int
