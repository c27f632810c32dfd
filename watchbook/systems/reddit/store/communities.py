"""Writes communities: import, tiers, next crawl, claims."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from watchbook.base.store.rows import upsert
from watchbook.systems.reddit import options
from watchbook.systems.reddit.models import (
    CommentListing,
    CommunityCache,
    CommunityPool,
    CommunityPriority,
    ListingState,
)
from watchbook.systems.reddit.records import COMMENTS, POSTS
from watchbook.systems.reddit.schedule import FIRST_TIER, TIERS, Load, frequency_hours, intervals, tier_of

Row = TypeVar("Row", bound=ListingState)

# A claimed crawl that did not finish is retried after this time.
CLAIM = timedelta(minutes=15)
RECHECKS_PER_ITEM = 3
IDS_PER_RECHECK = 100
JITTER = 0.1
COMMENT_WEIGHT = 0.1


def sync_pool(now: datetime) -> int:
    """Create missing rows for active communities, and disable those that an operator disabled."""
    pool = {row.name: row for row in CommunityPool.objects.all()}
    known = {row.community_name: row for row in CommunityCache.objects.filter(community_name__in=list(pool))}
    missing = [row for name, row in pool.items() if row.is_active and name not in known]
    CommunityCache.objects.bulk_create([_first_row(row, now) for row in missing], ignore_conflicts=True)
    for name, row in known.items():
        _apply_switch(row, pool[name], now)
    if options.COMMENTS.value:
        _add_comment_listings(now)
    return len(missing)


def _add_comment_listings(now: datetime) -> None:
    """Create the missing listings of comments while they are on for all communities."""
    missing = CommunityCache.objects.active().filter(comment_listing=None).values_list("community_name", flat=True)
    rows = [CommentListing(community_id=name, next_due=now, updated_at=now) for name in missing]
    CommentListing.objects.bulk_create(rows, ignore_conflicts=True)


def _first_row(row: CommunityPool, now: datetime) -> CommunityCache:
    tier = FIRST_TIER.get(row.tier, "tier2")
    return CommunityCache(
        community_name=row.name,
        quality_tier=tier,
        crawl_frequency_hours=frequency_hours(tier, row.tier),
        next_due=now,
        created_at=now,
        updated_at=now,
    )


DISABLED = "disabled"


def _apply_switch(row: CommunityCache, pool_row: CommunityPool, now: datetime) -> None:
    """Disable a community that the operator disabled; enable it only if the operator had disabled it."""
    one = CommunityCache.objects.filter(pk=row.pk)
    if row.is_active and not pool_row.is_active:
        one.update(is_active=False, inactive_reason=DISABLED, updated_at=now)
    elif pool_row.is_active and not row.is_active and row.inactive_reason == DISABLED:
        one.update(is_active=True, inactive_reason="", next_due=now, updated_at=now)


def claim(listings: Iterable[Row], now: datetime) -> list[Row]:
    """Claim listings until they are crawled or the claim expires. Skip those that another run claimed."""
    return [row for row in listings if _move_due(row, row.next_due, now + CLAIM)]


def release(listings: Iterable[ListingState], now: datetime) -> None:
    """Make claimed listings due again."""
    for row in listings:
        _move_due(row, now + CLAIM, now)


def _move_due(row: ListingState, before: datetime, after: datetime) -> bool:
    return bool(type(row)._default_manager.filter(pk=row.pk, next_due=before).update(next_due=after))


def priorities() -> dict[str, str]:
    return dict(CommunityPool.objects.values_list("name", "tier"))


def calculate_assignments(names: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Return names by tier, from the current averages, of all active communities or of these."""
    found: dict[str, list[str]] = {key: [] for key in TIERS}
    rows = CommunityCache.objects.active().order_by("-avg_valid_posts", "community_name")
    rows = rows if names is None else rows.filter(community_name__in=names)
    by_name = priorities()
    for row in rows:
        found[_tier(row, by_name)].append(row.community_name)
    return found


def _tier(row: CommunityCache, by_name: Mapping[str, str]) -> str:
    """Return the tier. Before the first crawl there is no average, so the priority sets it."""
    if row.covered_from is None:
        return FIRST_TIER.get(by_name.get(row.community_name, CommunityPriority.MEDIUM), "tier2")
    return tier_of(row.avg_valid_posts).key


def apply_assignments(assignments: Mapping[str, Sequence[str]], now: datetime) -> int:
    """Write changed tiers and intervals. Return the number of communities with a new tier."""
    by_name = priorities()
    tier_by_name = {name: tier for tier, names in assignments.items() for name in names}
    changed = []
    moved = 0
    for row in CommunityCache.objects.filter(community_name__in=list(tier_by_name)):
        tier = tier_by_name[row.community_name]
        hours = frequency_hours(tier, by_name.get(row.community_name, CommunityPriority.LOW))
        if (row.quality_tier, row.crawl_frequency_hours) != (tier, hours):
            moved += row.quality_tier != tier
            row.quality_tier, row.crawl_frequency_hours, row.updated_at = tier, hours, now
            changed.append(row)
    CommunityCache.objects.bulk_update(changed, ["quality_tier", "crawl_frequency_hours", "updated_at"], batch_size=200)
    return moved


class Planner:
    """Times of the next crawls. The intervals are calculated once, at the start of a run.

    Posts and comments share one budget. A comment weighs a tenth of a post: there are about ten times as many, so that
    comments do not slow down posts.
    """

    def __init__(self, now: datetime, *, budget: float | None = None, max_hours: float | None = None) -> None:
        columns = ("rate", "covered_from")
        posts = CommunityCache.objects.active().values_list("community_name", *columns, "crawl_frequency_hours")
        wanted = CommentListing.objects.wanted(options.COMMENTS.value)
        comments = wanted.values_list("community_id", *columns, "community__crawl_frequency_hours")
        loads = [*self._loads(posts, max_hours), *self._loads(comments, max_hours, COMMENT_WEIGHT, of=COMMENTS)]
        self.hours = {load.name: load.max_hours for load in loads}
        self._most = dict(self.hours)
        if options.SCHEDULER.value == "adaptive":
            left = (options.DAILY_BUDGET.value if budget is None else budget) - other_requests(loads)
            self.hours = intervals(loads, max(left, 1.0))

    def _loads(
        self, rows: Iterable[tuple[Any, ...]], max_hours: float | None, weight: float = 1.0, of: str = POSTS
    ) -> list[Load]:
        """Return the loads of one kind of listing. One that was not read yet has the mean rate of the others."""
        rows = list(rows)
        known = [rate for _, rate, covered_from, _ in rows if covered_from]
        usual = sum(known) / len(known) if known else 1.0
        return [
            Load(_load_name(name, of), rate if covered else usual, max_hours or float(hours), weight)
            for name, rate, covered, hours in rows
        ]

    def next_due(self, row: ListingState, now: datetime) -> datetime:
        name = _load_name(str(row.community_name), COMMENTS if isinstance(row, CommentListing) else POSTS)
        most = self._most.get(name, 24.0)
        if isinstance(row, CommunityCache):
            most = float(row.crawl_frequency_hours)
        hours = self.hours.get(name, most)
        if options.SCHEDULER.value != "adaptive":
            return now + timedelta(hours=hours)
        # A fixed shift per listing and day spreads communities that were imported together.
        digest = hashlib.blake2b(f"{name}{now:%Y%m%d}".encode(), digest_size=4).digest()
        shift = 1 + JITTER * (int.from_bytes(digest) / 2**31 - 1)
        return now + timedelta(hours=min(hours * shift, most))


def _load_name(community: str, listing: str) -> str:
    return community if listing == POSTS else f"{community} {listing}"


def other_requests(loads: Sequence[Load]) -> float:
    """Return requests per day for rechecks, full scans and top listings."""
    items = sum(load.rate for load in loads)
    deep = sum(min(10.0, 1 + load.rate * 30 / IDS_PER_RECHECK) for load in loads) / 7
    return items * RECHECKS_PER_ITEM / IDS_PER_RECHECK + deep + len(loads)


def put_pool(rows: Sequence[CommunityPool]) -> None:
    upsert(
        CommunityPool, rows, unique=["name"], update=["tier", "categories", "quality_score", "is_active", "updated_at"]
    )
