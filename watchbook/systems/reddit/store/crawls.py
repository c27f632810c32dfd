"""Stores one crawl of a community: posts, last seen post, averages, counters, next crawl, gaps and metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from watchbook.base.text import cut
from watchbook.core.stream.entries import Entry, record
from watchbook.systems.reddit.models import CommunityCache, Crawl, CrawlKind, FoundBy, Outcome, PostRaw
from watchbook.systems.reddit.models.communities import REFUSALS
from watchbook.systems.reddit.parse import PostRecord
from watchbook.systems.reddit.records import CrawlReport, ListingRead, Tally, community_path
from watchbook.systems.reddit.store import hot, metrics
from watchbook.systems.reddit.store.decide import next_recheck
from watchbook.systems.reddit.store.posts import Reading, store_posts

AVERAGE_SPAN = timedelta(days=7)
# Averages over a shorter span are not meaningful.
MIN_AVERAGE_SPAN = timedelta(hours=1)
REFUSALS_UNTIL_INACTIVE = 3
REFUSED_MIN_SPAN = timedelta(hours=24)
REFUSED_RETRY_AFTER = timedelta(hours=12)
MIN_WAIT = timedelta(minutes=3)
RETRY_AFTER = timedelta(minutes=5)
MAX_BACKOFF = timedelta(hours=6)


def lock(name: str) -> CommunityCache:
    """Lock the row of the community until the transaction ends, so that two crawls write one after the other."""
    return CommunityCache.objects.select_for_update().get(community_name=name)


def is_listed(community: CommunityCache) -> bool:
    """Lock the row of the community and return True; return False if it was removed from the list."""
    return bool(CommunityCache.objects.select_for_update().filter(pk=community.pk).values_list("pk"))


def lock_all(names: Iterable[str]) -> None:
    """Lock several communities, always in the same order to avoid deadlocks."""
    rows = CommunityCache.objects.select_for_update().filter(community_name__in=set(names)).order_by("community_name")
    list(rows.values_list("pk", flat=True))


def store_crawl(
    name: str, listing: ListingRead, *, next_due: datetime, now: datetime, is_full: bool = False
) -> CrawlReport:
    """Store one crawl, also an incomplete one. Posts, last seen post and outcome are written in one transaction."""
    report = _store_crawl(lock(name), listing, next_due, now)
    metrics.add_crawl(report, now)
    log_crawl(report, CrawlKind.FULL if is_full else CrawlKind.NEW, now, detail=listing.detail)
    return report


def _store_crawl(community: CommunityCache, listing: ListingRead, next_due: datetime, now: datetime) -> CrawlReport:
    if listing.outcome not in (Outcome.OK, Outcome.EMPTY) and not listing.posts:
        return _store_failure(community, listing, now)
    tally = _store_listing(community, listing, now)
    moved = _move_watermark(community, listing.posts)
    gap = _update_gap(community, listing, now)
    _count(community, listing, now)
    _average(community, listing, now)
    community.next_due = next_due
    if listing.outcome != Outcome.OK:
        community.next_due = min(next_due, now + RETRY_AFTER)
    community.save()
    name = community.community_name
    report = CrawlReport(name, listing.outcome, tally, moved, listing.seconds, listing.requests, gap)
    report.is_client_wide = listing.is_client_wide
    return report


def log_crawl(report: CrawlReport, kind: str, now: datetime, *, detail: str = "") -> None:
    """Write the row of one crawl with its outcome."""
    tally = report.tally
    Crawl.objects.create(
        community_name=report.community, crawled_at=now, kind=kind, outcome=report.outcome, detail=cut(detail, 200),
        new_posts=tally.new, updated_posts=tally.updated, unchanged_posts=tally.duplicates, versions=tally.versions,
        requests=report.http_request_count, duration_seconds=round(report.duration_seconds, 3),
        possible_gap=report.possible_gap,
    )  # fmt: skip


def delete_old_crawls(before: datetime, batch: int = 5000) -> int:
    """Delete one batch of old crawl rows and return its size. Batches keep locks short."""
    old = Crawl.objects.filter(crawled_at__lt=before).order_by("crawled_at").values_list("pk", flat=True)
    pks = list(old[:batch])
    return Crawl.objects.filter(pk__in=pks).delete()[0] if pks else 0


def _store_listing(community: CommunityCache, listing: ListingRead, now: datetime) -> Tally:
    """Store posts above the known ones as new; an unknown post below was missed, restored or is older."""
    name, cut_at = community.community_name, listing.above_known
    found_by = FoundBy.BASELINE if listing.is_first else FoundBy.NEW
    tally = store_posts(listing.posts[:cut_at], Reading(name, now, found_by, is_new_listing=True))
    if listing.posts[cut_at:]:
        below = Reading(name, now, FoundBy.DEEP, is_new_listing=True, history_before=community.covered_from)
        tally.add(store_posts(listing.posts[cut_at:], below))
    return tally


def _move_watermark(community: CommunityCache, posts: Sequence[PostRecord]) -> bool:
    """Move the last seen post to the newest one, by time and ID. It never moves back."""
    newest = max(posts, key=lambda post: (post.created_at, post.post_id), default=None)
    if newest is None:
        return False
    seen = community.last_seen_created_at
    if seen is not None and newest.created_at <= seen:
        return False
    community.last_seen_created_at, community.last_seen_post_id = newest.created_at, newest.post_id
    return True


def _update_gap(community: CommunityCache, listing: ListingRead, now: datetime) -> bool:
    """Record a possible gap if the listing did not reach known posts. A later complete crawl closes it."""
    if listing.is_first and listing.outcome in (Outcome.OK, Outcome.EMPTY):
        community.covered_from = _covered_from(listing, now)
        community.last_complete_at = now
        return False
    if listing.is_joined:
        community.last_complete_at = now
        community.possible_gap = False
        return False
    if listing.outcome in (Outcome.OK, Outcome.EMPTY):
        community.last_complete_at = now
    if listing.is_first:
        return False
    if not community.possible_gap:
        community.gap_count += 1
        _record_gap(community, now)
    community.possible_gap, community.gap_at = True, now
    return True


def _covered_from(listing: ListingRead, now: datetime) -> datetime:
    """Return the time since which all posts are stored, after the first crawl.

    A listing read to its end is complete. Otherwise the latest of the last three posts counts: a post that was
    approved late has an older time than its neighbours.
    """
    if listing.reached_end or not listing.posts:
        return now - AVERAGE_SPAN
    return max(post.created_at for post in listing.posts[-3:])


def _count(community: CommunityCache, listing: ListingRead, now: datetime) -> None:
    community.last_crawled_at = community.updated_at = now
    community.request_count += listing.requests
    if listing.is_client_wide:
        return  # the community is not at fault
    community.last_outcome = listing.outcome
    if listing.outcome == Outcome.OK:
        community.success_hit += 1
        community.failures_in_row = community.refusals_in_row = 0
        community.refused_since = None
    elif listing.outcome == Outcome.EMPTY:
        community.empty_hit += 1
        community.failures_in_row = 0
    else:
        community.failure_hit += 1
        community.failures_in_row += 1


def _average(community: CommunityCache, listing: ListingRead, now: datetime) -> None:
    """Update the average of new valid posts per day over up to 7 days."""
    if listing.outcome != Outcome.OK or community.covered_from is None:
        return
    # One second less than 7 days: daily posts would otherwise count 8 times.
    since = max(community.covered_from, now - AVERAGE_SPAN + timedelta(seconds=1))
    count = PostRaw.objects.valid().filter(subreddit=community.community_name, created_at__gte=since).count()
    days = max(now - since, MIN_AVERAGE_SPAN) / timedelta(days=1)
    community.rate = count / days
    community.avg_valid_posts = round(community.rate)


def _store_failure(community: CommunityCache, listing: ListingRead, now: datetime) -> CrawlReport:
    """Store a crawl without posts: last seen post, average and last crawl do not change."""
    community.updated_at = now
    community.request_count += listing.requests
    if listing.is_client_wide:  # the community is not at fault: its counters do not change
        community.next_due = now + max(MIN_WAIT, timedelta(seconds=listing.wait_seconds or 0))
        return _report_failure(community, listing)
    community.last_outcome = listing.outcome
    if listing.outcome == Outcome.SUSPICIOUS_EMPTY:
        community.empty_hit += 1
        community.next_due = now + RETRY_AFTER
    else:
        community.failure_hit += 1
        community.failures_in_row += 1
        community.next_due = now + _backoff(community, listing)
    if listing.outcome in REFUSALS:
        _count_refusal(community, listing.outcome, now)
    return _report_failure(community, listing)


def _report_failure(community: CommunityCache, listing: ListingRead) -> CrawlReport:
    community.save()
    report = CrawlReport(community.community_name, listing.outcome, is_client_wide=listing.is_client_wide)
    report.duration_seconds, report.http_request_count = listing.seconds, listing.requests
    return report


def _backoff(community: CommunityCache, listing: ListingRead) -> timedelta:
    if listing.outcome in REFUSALS:
        return REFUSED_RETRY_AFTER
    doubled: timedelta = RETRY_AFTER * 2 ** min(community.failures_in_row - 1, 10)
    asked = timedelta(seconds=listing.wait_seconds or 0)
    return max(min(doubled, MAX_BACKOFF), asked)


def _count_refusal(community: CommunityCache, outcome: str, now: datetime) -> None:
    """Disable the community after 3 refusals in a row over at least 24 hours."""
    community.refusals_in_row += 1
    community.refused_since = community.refused_since or now
    lasted = now - community.refused_since >= REFUSED_MIN_SPAN
    if community.is_active and lasted and community.refusals_in_row >= REFUSALS_UNTIL_INACTIVE:
        community.is_active = False
        community.inactive_reason = cut(outcome, 200)
        _record_activity(community, "inactive", Outcome(outcome).label, now)


def _record_gap(community: CommunityCache, now: datetime) -> None:
    _record_activity(community, "gap", _("The listing ended before a known post."), now)


def _record_activity(community: CommunityCache, kind: str, summary: object, now: datetime) -> None:
    name = community.community_name
    record(
        [
            Entry(
                source="reddit", kind=kind, title=name, summary=str(summary), url_path=community_path(name),
                scope="members", object_kind="reddit_community", object_id=name, occurred_at=now,
                event_key=f"{now:%Y%m%dT%H%M%S}",
            )
        ]
    )  # fmt: skip


RECHECKS_UNTIL_MISSING = 2
GONE = "missing"
# One more recheck after the last regular one.
AGAIN_AFTER = timedelta(hours=24)
MAX_AGE_IN_RECHECKS = 6


def record_missing(post_ids: Sequence[str], now: datetime, *, counts: bool) -> None:
    """Set the next recheck of posts that were not found; with `counts`, count the miss."""
    if not post_ids:
        return
    gone = []
    for row in PostRaw.objects.current().of(post_ids):
        row.missing_looks += int(counts)
        row.recheck_due, row.recheck_step = next_recheck(row.created_at, now)
        if row.missing_looks >= RECHECKS_UNTIL_MISSING:
            row.removed_by_category = row.removed_by_category or GONE
            gone.append(row.source_post_id)
        elif row.recheck_due is None and now - row.created_at < AGAIN_AFTER * MAX_AGE_IN_RECHECKS:
            row.recheck_due = now + AGAIN_AFTER
        row.updated_at = now
        row.save(update_fields=["missing_looks", "recheck_due", "recheck_step", "removed_by_category", "updated_at"])
    if gone:
        hot.delete_copies(gone)
