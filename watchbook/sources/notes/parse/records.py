"""What is known of a note, of a search, and of a refusal."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Count:
    """A number as the platform shows it. "1.2万" is 12000 and not exact; what is not shown has no value, not 0."""

    value: int | None = None
    exact: bool = False
    raw: str = ""


@dataclass(frozen=True)
class Media:
    kind: str  # image, video
    url: str
    width: int | None = None
    height: int | None = None
    duration_ms: int | None = None
    file_id: str = ""


@dataclass(frozen=True)
class NoteRecord:
    """One note in full. `author_id` and `author_name` are as read; the crawl hides them before anybody sees them."""

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

    def as_json(self) -> dict[str, Any]:
        """The shape of `data` in an answer and of `result` in a commit."""
        shown = asdict(self)
        shown["tags"] = list(self.tags)
        shown["media"] = [asdict(one) for one in self.media]
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
