"""What a reading of a community found, on its way from the walk to the store, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from watchbook.sources.reddit.parse import PostRecord


@dataclass(frozen=True)
class Walk:
    """A reading of one listing. `outcome` is a word of models.Outcome.

    `is_joined`: it met what was known, or read the list to its end, so that nothing lies between then and now.
    `reached_end`: the list ended by itself. `above_known`: so many posts stood above what was known; an unknown one
    further down was missed, or had been gone and came back.
    """

    outcome: str
    posts: Sequence[PostRecord] = ()
    is_first: bool = False
    is_joined: bool = False
    reached_end: bool = False
    above_known: int = 0
    met_known: int = 0
    detail: str = ""
    wait_seconds: float | None = None
    requests: int = 0
    seconds: float = 0.0


@dataclass
class Tally:
    """What storing did: new posts, known ones with something new, known ones without."""

    new: int = 0
    updated: int = 0
    duplicates: int = 0
    versions: int = 0

    def add(self, other: Tally) -> None:
        self.new += other.new
        self.updated += other.updated
        self.duplicates += other.duplicates
        self.versions += other.versions


@dataclass
class VisitReport:
    """One community of a crawl, in the words of the command line."""

    community: str
    outcome: str
    tally: Tally = field(default_factory=Tally)
    watermark_updated: bool = False
    duration_seconds: float = 0.0
    http_request_count: int = 0
    possible_gap: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "community": self.community,
            "new_posts": self.tally.new,
            "updated_posts": self.tally.updated,
            "duplicates": self.tally.duplicates,
            "watermark_updated": self.watermark_updated,
            "duration_seconds": round(self.duration_seconds, 3),
            "http_request_count": self.http_request_count,
            "outcome": self.outcome,
            "possible_gap": self.possible_gap,
        }
