"""What differs between the listings of posts and of comments; crawls, full scans and rechecks use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext_lazy as _

from watchbook.systems.reddit.models import (
    Comment,
    CommentListing,
    CommunityCache,
    CrawlKind,
    ListingState,
    PostRaw,
)
from watchbook.systems.reddit.parse import CommentRecord, Item, PostRecord
from watchbook.systems.reddit.records import COMMENTS, POSTS, Tally
from watchbook.systems.reddit.store import hot
from watchbook.systems.reddit.store.comments import store_comments
from watchbook.systems.reddit.store.decide import Reading, anchors, comment_anchors, next_recheck
from watchbook.systems.reddit.store.posts import store_posts

RECHECKS_UNTIL_MISSING = 2
GONE = "missing"
# One more recheck after the last regular one.
AGAIN_AFTER = timedelta(hours=24)
MAX_AGE_IN_RECHECKS = 6


def _store_posts(items: Sequence[Item], reading: Reading) -> Tally:
    return store_posts([item for item in items if isinstance(item, PostRecord)], reading)


def _store_comments(items: Sequence[Item], reading: Reading) -> Tally:
    return store_comments([item for item in items if isinstance(item, CommentRecord)], reading)


@dataclass(frozen=True)
class ListingKind:
    """One kind of listing: where it is read, which row holds its state, and where its items are stored."""

    name: str
    # Last part of the address of the listing, and prefix of the IDs.
    sort: str
    prefix: str
    # Kinds of the crawl rows, and of the activity entry of a gap.
    crawl: str
    full_scan: str
    gap: str
    gap_text: Any
    # Column with the ID of an item.
    id_column: str
    # Current rows of the items, as a function: a QuerySet keeps what it read.
    rows: Callable[[], Any]
    states: type[ListingState]
    store: Callable[[Sequence[Item], Reading], Tally]
    anchors: Callable[[Iterable[str], datetime], set[str]]
    forget: Callable[[Sequence[str]], None]

    def count_valid(self, community: str, since: datetime) -> int:
        """Count items of the community that are neither removed nor deleted."""
        return int(self.rows().valid().filter(subreddit=community, created_at__gte=since).count())

    def count_newer(self, community: str, since: datetime) -> int:
        return int(self.rows().filter(subreddit=community, created_at__gt=since).count())

    def due(self, now: datetime, limit: int) -> list[tuple[str, str]]:
        """Return IDs and communities of items that are due for a recheck."""
        return list(self.rows().to_recheck(now).values_list(self.id_column, "subreddit")[:limit])

    def lock_all(self, names: Iterable[str]) -> None:
        """Lock the listings of several communities, always in the same order to avoid deadlocks."""
        column = "community_name" if self.states is CommunityCache else "community_id"
        rows = self.states._default_manager.select_for_update().filter(**{f"{column}__in": set(names)})
        list(rows.order_by(column).values_list("pk", flat=True))

    def record_missing(self, ids: Sequence[str], now: datetime, *, counts: bool) -> None:
        """Set the next recheck of items that were not found; with `counts`, count the miss."""
        if not ids:
            return
        gone = []
        for row in self.rows().of(ids):
            row.missing_looks += int(counts)
            row.recheck_due, row.recheck_step = next_recheck(row.created_at, now)
            if row.missing_looks >= RECHECKS_UNTIL_MISSING:
                row.removed_by_category = row.removed_by_category or GONE
                gone.append(getattr(row, self.id_column))
            elif row.recheck_due is None and now - row.created_at < AGAIN_AFTER * MAX_AGE_IN_RECHECKS:
                row.recheck_due = now + AGAIN_AFTER
            row.updated_at = now
            row.save(
                update_fields=["missing_looks", "recheck_due", "recheck_step", "removed_by_category", "updated_at"]
            )
        if gone:
            self.forget(gone)


OF_POSTS = ListingKind(
    name=POSTS, sort="new", prefix="t3_", crawl=CrawlKind.NEW, full_scan=CrawlKind.FULL, gap="gap",
    gap_text=_("The listing ended before a known post."), id_column="source_post_id",
    rows=lambda: PostRaw.objects.current(), states=CommunityCache, store=_store_posts, anchors=anchors,
    forget=hot.delete_copies,
)  # fmt: skip
OF_COMMENTS = ListingKind(
    name=COMMENTS, sort="comments", prefix="t1_", crawl=CrawlKind.COMMENTS, full_scan=CrawlKind.ALL_COMMENTS,
    gap="comment_gap", gap_text=_("The listing of comments ended before a known comment."), id_column="comment_id",
    rows=lambda: Comment.objects.all(), states=CommentListing, store=_store_comments, anchors=comment_anchors,
    forget=lambda ids: None,
)  # fmt: skip
KINDS = (OF_POSTS, OF_COMMENTS)


def kind_of(row: ListingState) -> ListingKind:
    return OF_COMMENTS if isinstance(row, CommentListing) else OF_POSTS
