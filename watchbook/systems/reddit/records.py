"""Records that jobs pass to the store and get back, and paths of pages that rows link to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from watchbook.systems.reddit.parse import Item

# The listings of a community that are crawled.
POSTS, COMMENTS = "posts", "comments"


@dataclass(frozen=True)
class ListingRead:
    """Result of reading one listing. `outcome` is a value of models.Outcome.

    `is_joined`: the listing reached known items or its end, so no item between the last crawl and now is missing.
    `reached_end`: the listing has no further page. `above_known`: number of items above the known ones; an unknown
    item further down was missed, or was removed and restored.
    """

    outcome: str
    items: Sequence[Item] = ()
    is_first: bool = False
    is_joined: bool = False
    reached_end: bool = False
    above_known: int = 0
    met_known: int = 0
    # The error concerns the whole client, not this community.
    is_client_wide: bool = False
    detail: str = ""
    wait_seconds: float | None = None
    requests: int = 0
    seconds: float = 0.0


@dataclass
class Tally:
    """Counts of a store operation: new, changed and unchanged posts or comments, and new versions."""

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
class CrawlReport:
    """Result of crawling one listing of a community, as shown by the command line."""

    community: str
    outcome: str
    tally: Tally = field(default_factory=Tally)
    watermark_updated: bool = False
    duration_seconds: float = 0.0
    http_request_count: int = 0
    possible_gap: bool = False
    is_client_wide: bool = False
    listing: str = POSTS

    def as_json(self) -> dict[str, Any]:
        return {
            "community": self.community,
            # The line of a crawl of posts has the keys of the seed and no other.
            **({} if self.listing == POSTS else {"listing": self.listing}),
            f"new_{self.listing}": self.tally.new,
            f"updated_{self.listing}": self.tally.updated,
            "duplicates": self.tally.duplicates,
            "watermark_updated": self.watermark_updated,
            "duration_seconds": round(self.duration_seconds, 3),
            "http_request_count": self.http_request_count,
            "outcome": self.outcome,
            "possible_gap": self.possible_gap,
        }


HOME = "/reddit/"
METRICS = "/reddit/metrics/"
POOL = "/reddit/pool/"


def post_path(post_id: str) -> str:
    return f"/reddit/posts/{post_id}/"


def community_path(name: str) -> str:
    """Return /reddit/r/webdev/ for `r/webdev`."""
    return f"/reddit/{name}/"


def thread_path(post_id: str) -> str:
    return f"/reddit/threads/{post_id}/"


def comment_path(post_id: str, comment_id: str) -> str:
    return f"{thread_path(post_id)}?comment={comment_id}#c-{comment_id}"


def comments_path(community: str) -> str:
    """Return the list of comments of `r/webdev`."""
    return f"/reddit/comments/?community={quote(community.removeprefix('r/'), safe='')}"


def author_path(name: str) -> str:
    return f"/reddit/u/{quote(name, safe='')}/"


def reddit_link(post_id: str, comment_id: str = "") -> str:
    place = f"comment/{comment_id}/" if comment_id else ""
    return f"https://www.reddit.com/comments/{post_id}/{place}"
