"""Stores one crawl of a listing: items, last seen item, averages, counters, next crawl, gaps and metrics.

The same code stores listings of posts and of comments; `store.kinds` has what differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from watchbook.base.text import cut
from watchbook.base.work import crash_point
from watchbook.core.stream.entries import Entry, record
from watchbook.systems.reddit.models import CommunityCache, Crawl, FoundBy, ListingState, Outcome
from watchbook.systems.reddit.models.communities import REFUSALS
from watchbook.systems.reddit.parse import Item
from watchbook.systems.reddit.records import CrawlReport, ListingRead, Tally, community_path
from watchbook.systems.reddit.store import metrics
from watchbook.systems.reddit.store.decide import Reading
from watchbook.systems.reddit.store.kinds import ListingKind, kind_of

AVERAGE_SPAN = timedelta(days=7)
# Averages over a shorter span are not meaningful.
MIN_AVERAGE_SPAN = timedelta(hours=1)
REFUSALS_UNTIL_INACTIVE = 3
REFUSED_MIN_SPAN = timedelta(hours=24)
REFUSED_RETRY_AFTER = timedelta(hours=12)
MIN_WAIT = timedelta(minutes=3)
RETRY_AFTER = timedelta(minutes=5)
MAX_BACKOFF = timedelta(hours=6)


def lock(row: ListingState) -> Any:
    """Lock and return the row of the listing, so that two crawls write one after the other; None if it was removed."""
    return type(row)._default_manager.select_for_update().filter(pk=row.pk).first()


def is_listed(row: ListingState) -> bool:
    """Lock the row of the listing and return True; return False if its community was removed from the list."""
    return bool(type(row)._default_manager.select_for_update().filter(pk=row.pk).values_list("pk"))


def store_crawl(
    row: ListingState, listing: ListingRead, *, next_due: datetime, now: datetime, is_full: bool = False
) -> CrawlReport | None:
    """Store one crawl, also an incomplete one. Items, last seen item and outcome are written in one transaction.

    Return None if the community was removed from the list.
    """
    kind, locked = kind_of(row), lock(row)
    if locked is None:
        return None
    report = _store_crawl(kind, locked, listing, next_due, now)
    report.listing = kind.name
    if is_full and report.outcome == Outcome.OK:
        locked.deep_walked_at = now
        locked.save(update_fields=["deep_walked_at"])
    metrics.add_crawl(report, now)
    log_crawl(report, kind.full_scan if is_full else kind.crawl, now, detail=listing.detail)
    crash_point("reddit.listing_stored")
    return report


def _store_crawl(
    kind: ListingKind, community: ListingState, listing: ListingRead, next_due: datetime, now: datetime
) -> CrawlReport:
    if listing.outcome not in (Outcome.OK, Outcome.EMPTY) and not listing.items:
        return _store_failure(community, listing, now)
    tally = _store_listing(kind, community, listing, now)
    moved = _move_watermark(community, listing.items)
    gap = _update_gap(community, listing, now)
    _count(community, listing, now)
    _average(kind, community, listing, now)
    community.next_due = next_due
    if listing.outcome != Outcome.OK:
        community.next_due = min(next_due, now + RETRY_AFTER)
    community.save()
    name = str(community.community_name)
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


def _store_listing(kind: ListingKind, community: ListingState, listing: ListingRead, now: datetime) -> Tally:
    """Store items above the known ones as new; an unknown item below was missed, restored or is older."""
    name, cut_at = str(community.community_name), listing.above_known
    found_by = FoundBy.BASELINE if listing.is_first else FoundBy.NEW
    tally = kind.store(listing.items[:cut_at], Reading(name, now, found_by, is_new_listing=True))
    if listing.items[cut_at:]:
        below = Reading(name, now, FoundBy.DEEP, is_new_listing=True, history_before=community.covered_from)
        tally.add(kind.store(listing.items[cut_at:], below))
    return tally


def _move_watermark(community: ListingState, items: Sequence[Item]) -> bool:
    """Move the last seen item to the newest one, by time and ID. It never moves back."""
    newest = max(items, key=lambda item: (item.created_at, item.item_id), default=None)
    if newest is None:
        return False
    seen = community.last_seen_created_at
    if seen is not None and newest.created_at <= seen:
        return False
    community.see(newest.item_id, newest.created_at)
    return True


def _update_gap(community: ListingState, listing: ListingRead, now: datetime) -> bool:
    """Record a possible gap if the listing did not reach known items. A later complete crawl closes it."""
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
        _record_gap(kind_of(community), community, now)
    community.possible_gap, community.gap_at = True, now
    return True


def _covered_from(listing: ListingRead, now: datetime) -> datetime:
    """Return the time since which all items are stored, after the first crawl.

    A listing read to its end is complete. Otherwise the latest of the last three items counts: a post that was
    approved late has an older time than its neighbours.
    """
    if listing.reached_end or not listing.items:
        return now - AVERAGE_SPAN
    return max(item.created_at for item in listing.items[-3:])


def _count(community: ListingState, listing: ListingRead, now: datetime) -> None:
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


def _average(kind: ListingKind, community: ListingState, listing: ListingRead, now: datetime) -> None:
    """Update the average of new valid items per day over up to 7 days."""
    if listing.outcome != Outcome.OK or community.covered_from is None:
        return
    # One second less than 7 days: daily posts would otherwise count 8 times.
    since = max(community.covered_from, now - AVERAGE_SPAN + timedelta(seconds=1))
    count = kind.count_valid(str(community.community_name), since)
    days = max(now - since, MIN_AVERAGE_SPAN) / timedelta(days=1)
    community.rate = count / days
    if isinstance(community, CommunityCache):
        community.avg_valid_posts = round(community.rate)


def _store_failure(community: ListingState, listing: ListingRead, now: datetime) -> CrawlReport:
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
    # Only refused posts disable a community: comments follow its state.
    if listing.outcome in REFUSALS and isinstance(community, CommunityCache):
        _count_refusal(community, listing.outcome, now)
    return _report_failure(community, listing)


def _report_failure(community: ListingState, listing: ListingRead) -> CrawlReport:
    community.save()
    report = CrawlReport(str(community.community_name), listing.outcome, is_client_wide=listing.is_client_wide)
    report.duration_seconds, report.http_request_count = listing.seconds, listing.requests
    return report


def _backoff(community: ListingState, listing: ListingRead) -> timedelta:
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


def _record_gap(kind: ListingKind, community: ListingState, now: datetime) -> None:
    _record_activity(community, kind.gap, str(kind.gap_text), now)


def _record_activity(community: ListingState, kind: str, summary: object, now: datetime) -> None:
    name = str(community.community_name)
    record(
        [
            Entry(
                source="reddit", kind=kind, title=name, summary=str(summary), url_path=community_path(name),
                scope="members", object_kind="reddit_community", object_id=name, occurred_at=now,
                event_key=f"{now:%Y%m%dT%H%M%S}",
            )
        ]
    )  # fmt: skip
