"""Crawls one listing of a community until known posts or comments, and many listings in batches.

New items are detected by ID. The listing is not sorted by `created_utc`: a post that a moderator approves late enters
at the top with its old time, so stopping at the first old post would lose all posts below it.
"""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event
from typing import TypeVar

from django.db import close_old_connections, connections
from django.db.models import F

from watchbook.base.work import counted, crash_point
from watchbook.core.jobs.runner import JobContext
from watchbook.systems.reddit import options
from watchbook.systems.reddit.fetch import ClientRefused, RedditError, fetch_listing
from watchbook.systems.reddit.models import CommunityCache, CrawlKind, FoundBy, ListingState, Outcome
from watchbook.systems.reddit.parse import Item, Listing, PostRecord
from watchbook.systems.reddit.records import COMMENTS, POSTS, CrawlReport, ListingRead
from watchbook.systems.reddit.schedule import TIERS
from watchbook.systems.reddit.store import communities, metrics
from watchbook.systems.reddit.store.crawls import is_listed, log_crawl, store_crawl
from watchbook.systems.reddit.store.decide import Reading
from watchbook.systems.reddit.store.kinds import kind_of
from watchbook.systems.reddit.store.posts import store_posts

Row = TypeVar("Row", bound=ListingState)

KNOWN_IN_A_ROW = 3
FULL_PAGE = 100
MAX_PAGES = 14
# A listing with fewer items is complete; a longer one may be cut at the limit of 1,000 entries.
CEILING_FROM = 900
# Number of earlier items that are tried as anchor when the anchor has left the listing.
MAX_ANCHOR_ATTEMPTS = 3


@dataclass
class _Progress:
    """State of reading one listing."""

    known_of: Callable[[Iterable[str]], set[str]]
    items: dict[str, Item] = field(default_factory=dict)
    met: int = 0
    streak: int = 0
    longest: int = 0
    # Number of items above the known ones; None while no known item was read.
    above: int | None = None
    reached_end: bool = False
    lost_place: bool = False

    def take(self, page: Listing) -> int:
        """Add all items of a page. Return the number of IDs that were not read before."""
        fresh = [item for item in page.items if item.item_id not in self.items]
        known = self.known_of(item.item_id for item in fresh)
        for item in fresh:
            self.items[item.item_id] = item
            self.streak = self.streak + 1 if item.item_id in known else 0
            self.longest = max(self.longest, self.streak)
            if self.above is None and self.streak >= KNOWN_IN_A_ROW:
                self.above = len(self.items) - KNOWN_IN_A_ROW
        self.met += len(known)
        return len(fresh)

    @property
    def has_joined(self) -> bool:
        return self.longest >= KNOWN_IN_A_ROW


def read_new(row: ListingState, *, page_size: int, is_full: bool = False) -> ListingRead:
    """Read until 3 known IDs in a row, the end or an error. A full scan reads to the end."""
    began = time.monotonic()
    is_first = row.last_complete_at is None
    path = _Progress(lambda ids: _anchors(row, ids))
    outcome, detail, wait, is_client_wide = Outcome.OK.value, "", None, False
    with counted() as count:
        try:
            _read_pages(path, row, page_size, is_first=is_first, is_full=is_full)
        except RedditError as error:
            outcome, detail, wait = error.outcome, error.detail, error.wait_seconds
            is_client_wide = isinstance(error, ClientRefused)
    if outcome == Outcome.OK and not path.items:
        outcome = Outcome.SUSPICIOUS_EMPTY if row.last_seen_id else Outcome.EMPTY
    return ListingRead(
        outcome=str(outcome),
        items=list(path.items.values()),
        is_first=is_first,
        is_joined=outcome in (Outcome.OK, Outcome.EMPTY) and _is_joined(path, row),
        reached_end=path.reached_end,
        above_known=len(path.items) if path.above is None else path.above,
        met_known=path.met,
        is_client_wide=is_client_wide,
        detail=detail,
        wait_seconds=wait,
        requests=count.requests,
        seconds=time.monotonic() - began,
    )


def _read_pages(path: _Progress, row: ListingState, page_size: int, *, is_first: bool, is_full: bool) -> None:
    page = fetch_listing(row.subreddit, kind_of(row).sort, limit=page_size)
    path.take(page)
    for _ in range(MAX_PAGES):
        if page.after is None:
            path.reached_end = True
            return
        if not is_full and (path.has_joined or (is_first and len(path.items) >= page_size)):
            return
        following = _next_page(path, row, page)
        if following is None:
            path.lost_place = True
            return
        page = following


def _next_page(path: _Progress, row: ListingState, page: Listing) -> Listing | None:
    """Return the next page, or None.

    An anchor that has left the listing gives an empty page, an unknown one the first page again. An earlier item is
    the anchor then.
    """
    anchors = [page.after or "", *(item.fullname for item in reversed(page.items[:-1]))][: MAX_ANCHOR_ATTEMPTS + 1]
    for anchor in anchors:
        following = fetch_listing(row.subreddit, kind_of(row).sort, limit=FULL_PAGE, after=anchor)
        if following.items and path.take(following):
            return following
    return None


def _anchors(row: ListingState, ids: Iterable[str]) -> set[str]:
    since = row.last_complete_at
    return kind_of(row).anchors(ids, since) if since is not None else set()


def _is_joined(path: _Progress, row: ListingState) -> bool:
    if path.has_joined:
        return True
    if path.lost_place or not path.reached_end or len(path.items) >= CEILING_FROM:
        return False
    # Read to the end. If items were known before, at least one of them must be in the listing.
    return path.met > 0 or not row.last_seen_id


TOP_EVERY = timedelta(hours=24)
# Half of the 1,000 entries of a listing.
SCAN_AFTER_ITEMS = 500


def crawl_one(
    ctx: JobContext, row: ListingState, planner: communities.Planner, *, is_full: bool = False
) -> CrawlReport | None:
    """Read and store what is new in a listing; for posts once a day also the listing of the tier.

    Return None if the community was removed from the list while it was read.

    A full scan reads the whole listing: it finds missed items and restored ones at their old position. It also runs
    when 500 newer items are known, because such items would soon leave the listing.
    """
    is_full = is_full or _needs_full_scan(row)
    walk = read_new(row, page_size=FULL_PAGE if is_full else _page_size(row, ctx), is_full=is_full)
    crash_point("reddit.listing_read")
    with ctx.writing():
        due = planner.next_due(row, ctx.now)
        report = store_crawl(row, walk, next_due=due, now=ctx.now, is_full=is_full)
    if report and report.outcome == Outcome.OK and isinstance(row, CommunityCache):
        refresh_top(ctx, row, report)
    return report


def _needs_full_scan(row: ListingState) -> bool:
    since = row.deep_walked_at or row.covered_from
    return since is not None and kind_of(row).count_newer(str(row.community_name), since) >= SCAN_AFTER_ITEMS


def _page_size(community: ListingState, ctx: JobContext) -> int:
    """Return the page size of the tier, or a full page if more posts are expected. Comments have full pages."""
    if not isinstance(community, CommunityCache):
        return FULL_PAGE
    size = TIERS[community.quality_tier].limit
    if community.last_crawled_at is None:
        return size
    expected = community.rate * ((ctx.now - community.last_crawled_at) / timedelta(days=1))
    return FULL_PAGE if expected > size - 5 else size


def refresh_top(ctx: JobContext, community: CommunityCache, report: CrawlReport) -> None:
    """Read the `top` listing of the tier. It never moves the last seen post: it is not sorted by time."""
    tier = TIERS[community.quality_tier]
    last = community.top_read_at
    if tier.sort == "new" or (last is not None and ctx.now - last < TOP_EVERY):
        return
    began, top = time.monotonic(), CrawlReport(community.community_name, str(Outcome.OK))
    posts: Sequence[PostRecord] = ()
    detail = ""
    with counted() as count:
        try:
            page = fetch_listing(community.subreddit, tier.sort, limit=tier.limit, time_filter=tier.time_filter)
            posts = page.posts
        except RedditError as error:
            top.outcome, detail = error.outcome, error.detail
            if isinstance(error, ClientRefused):
                report.outcome, report.is_client_wide = error.outcome, True
    top.http_request_count, top.duration_seconds = count.requests, time.monotonic() - began
    report.http_request_count += count.requests
    with ctx.writing():
        if is_listed(community):
            _store_top(ctx, community, top, posts, detail)
    report.tally.add(top.tally)


def _store_top(
    ctx: JobContext, community: CommunityCache, top: CrawlReport, posts: Sequence[PostRecord], detail: str
) -> None:
    name = community.community_name
    top.tally = store_posts(posts, Reading(name, ctx.now, FoundBy.TOP, is_new_listing=False))
    if top.outcome == Outcome.OK:
        requests = F("request_count") + top.http_request_count
        CommunityCache.objects.filter(pk=community.pk).update(top_read_at=ctx.now, request_count=requests)
    metrics.add_reading(top.tally, top.http_request_count, ctx.now)
    log_crawl(top, CrawlKind.TOP, ctx.now, detail=detail)


def crawl_each(
    ctx: JobContext,
    due: Sequence[Row],
    one: Callable[[Row], CrawlReport | None],
    *,
    claims: bool = True,
) -> list[CrawlReport]:
    """Crawl listings in batches and in parallel; stop after an error that concerns the whole client.

    With `claims`, each listing is claimed first, so that two crawls share the work.
    """
    reports: list[CrawlReport] = []
    size = options.BATCH_SIZE.value
    for start in range(0, len(due), size):
        taken = due[start : start + size]
        batch = communities.claim(taken, ctx.now) if claims else taken
        done = _run_batch(batch, one)
        reports += done
        if claims:
            seen = {(report.community, report.listing) for report in done}
            rest = [row for row in batch if (row.community_name, kind_of(row).name) not in seen]
            communities.release(rest, ctx.now)
        ctx.report(crawled=len(reports), **new_items(reports))
        if any(report.is_client_wide for report in done):
            break  # every other request would fail, too; the rest stays due
    return reports


def new_items(reports: Sequence[CrawlReport]) -> dict[str, int]:
    """Count new posts, and new comments if listings of comments were read."""
    posts = sum(report.tally.new for report in reports if report.listing == POSTS)
    comments = [report.tally.new for report in reports if report.listing == COMMENTS]
    return {"new_posts": posts, **({"new_comments": sum(comments)} if comments else {})}


def _run_batch(batch: Sequence[Row], one: Callable[[Row], CrawlReport | None]) -> list[CrawlReport]:
    width = min(options.MAX_CONCURRENCY.value, len(batch))
    done: list[CrawlReport] = []
    if width <= 1:
        for row in batch:
            report = one(row)
            done += [report] if report else []
            if report and report.is_client_wide:
                break
        return done
    stop = Event()
    with ThreadPoolExecutor(width) as pool:
        # Each thread gets a copy of the context with clock, request count and lease.
        waiting = [pool.submit(contextvars.copy_context().run, _in_thread, one, row, stop) for row in batch]
        return [report for future in waiting if (report := future.result()) is not None]


def _in_thread(one: Callable[[Row], CrawlReport | None], row: Row, stop: Event) -> CrawlReport | None:
    """Crawl one listing, unless an error that concerns the whole client has stopped the batch."""
    if stop.is_set():
        return None
    close_old_connections()
    try:
        report = one(row)
        if report and report.is_client_wide:
            stop.set()
        return report
    finally:
        connections.close_all()
