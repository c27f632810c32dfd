"""Reading a `new` listing until it meets what is known.

What is new is decided by id. The list is not in the order of `created_utc`: a post that a moderator approves late
enters at the top with its old time, so stopping at the first old post would lose everything below it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from watchbook.base.web.counting import counted
from watchbook.sources.reddit.fetch import RedditTrouble, fetch_listing
from watchbook.sources.reddit.models import CommunityCache, Outcome
from watchbook.sources.reddit.parse import Listing, PostRecord
from watchbook.sources.reddit.records import Walk
from watchbook.sources.reddit.store.lookups import anchors

KNOWN_IN_A_ROW = 3
FULL_PAGE = 100
MOST_PAGES = 14
# A list that ends with fewer has ended by itself; with more it has probably come to Reddit's memory of a thousand.
CEILING_FROM = 900
# How many posts back a lost place is looked for.
ANCHORS_TRIED = 3


@dataclass
class _Path:
    """Where a walk has come to."""

    known_of: Callable[[Iterable[str]], set[str]]
    posts: dict[str, PostRecord] = field(default_factory=dict)
    met: int = 0
    streak: int = 0
    longest: int = 0
    # How many posts stood above the known ones; all of them while none is known.
    above: int | None = None
    reached_end: bool = False
    lost_place: bool = False

    def take(self, page: Listing) -> int:
        """Everything on the page, known or not; gives how many ids this walk had not seen."""
        fresh = [post for post in page.posts if post.post_id not in self.posts]
        known = self.known_of(post.post_id for post in fresh)
        for post in fresh:
            self.posts[post.post_id] = post
            self.streak = self.streak + 1 if post.post_id in known else 0
            self.longest = max(self.longest, self.streak)
            if self.above is None and self.streak >= KNOWN_IN_A_ROW:
                self.above = len(self.posts) - KNOWN_IN_A_ROW
        self.met += len(known)
        return len(fresh)

    @property
    def has_joined(self) -> bool:
        return self.longest >= KNOWN_IN_A_ROW


def walk_new(community: CommunityCache, *, page_size: int, is_deep: bool = False) -> Walk:
    """Read from the top until three known ids in a row, the end, or trouble. A deep walk reads to the end."""
    began = time.monotonic()
    is_first = community.last_complete_at is None
    path = _Path(lambda ids: _anchors(community, ids))
    outcome, detail, wait = Outcome.OK.value, "", None
    with counted() as count:
        try:
            _go(path, community.subreddit, page_size, is_first=is_first, is_deep=is_deep)
        except RedditTrouble as trouble:
            outcome, detail, wait = trouble.outcome, trouble.detail, trouble.wait_seconds
    if outcome == Outcome.OK and not path.posts:
        had_posts = bool(community.last_seen_post_id)
        outcome = Outcome.SUSPICIOUS_EMPTY if had_posts else Outcome.EMPTY
    return Walk(
        outcome=str(outcome),
        posts=list(path.posts.values()),
        is_first=is_first,
        is_joined=outcome in (Outcome.OK, Outcome.EMPTY) and _is_joined(path, community),
        reached_end=path.reached_end,
        above_known=len(path.posts) if path.above is None else path.above,
        met_known=path.met,
        detail=detail,
        wait_seconds=wait,
        requests=count.requests,
        seconds=time.monotonic() - began,
    )


def _go(path: _Path, subreddit: str, page_size: int, *, is_first: bool, is_deep: bool) -> None:
    page = fetch_listing(subreddit, limit=page_size)
    path.take(page)
    for _ in range(MOST_PAGES):
        if page.after is None:
            path.reached_end = True
            return
        if not is_deep and (path.has_joined or (is_first and len(path.posts) >= page_size)):
            return
        following = _next_page(path, subreddit, page)
        if following is None:
            path.lost_place = True
            return
        page = following


def _next_page(path: _Path, subreddit: str, page: Listing) -> Listing | None:
    """The page behind this one. An anchor that has left the list gives an empty page, an unknown one the first again:
    then a post a little further up is the anchor."""
    anchors = [page.after or "", *(post.fullname for post in reversed(page.posts[:-1]))][: ANCHORS_TRIED + 1]
    for anchor in anchors:
        following = fetch_listing(subreddit, limit=FULL_PAGE, after=anchor)
        if following.posts and path.take(following):
            return following
    return None


def _anchors(community: CommunityCache, post_ids: Iterable[str]) -> set[str]:
    since = community.last_complete_at
    return anchors(post_ids, since) if since is not None else set()


def _is_joined(path: _Path, community: CommunityCache) -> bool:
    if path.has_joined:
        return True
    if path.lost_place or not path.reached_end or len(path.posts) >= CEILING_FROM:
        return False
    # Read to its own end. Where something was known, at least one known post must have been there.
    return path.met > 0 or not community.last_seen_post_id
