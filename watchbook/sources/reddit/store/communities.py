"""Communities: pool into cache, tiers, due times, claims."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from watchbook.base.store.upsert import upsert
from watchbook.sources.reddit import options
from watchbook.sources.reddit.models import CommunityCache, CommunityPool, Wish
from watchbook.sources.reddit.schedule import TIERS, Load, frequency_hours, intervals, tier_of
from watchbook.sources.reddit.schedule.tiers import FIRST_TIER

# A visit that was claimed and never came back is tried again after this.
CLAIM = timedelta(minutes=15)
LOOKS_PER_POST = 3
IDS_PER_LOOK = 100
JITTER = 0.1


def sync_pool(now: datetime) -> int:
    """Every active community of the pool has a cache row; one that left the pool or was switched off is inactive."""
    pool = {row.name: row for row in CommunityPool.objects.all()}
    known = {row.community_name: row for row in CommunityCache.objects.filter(community_name__in=list(pool))}
    missing = [row for name, row in pool.items() if row.is_active and name not in known]
    CommunityCache.objects.bulk_create([_first_row(row, now) for row in missing], ignore_conflicts=True)
    for name, row in known.items():
        _follow(row, pool[name], now)
    return len(missing)


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


OUT_OF_POOL = "switched off"


def _follow(row: CommunityCache, wished: CommunityPool, now: datetime) -> None:
    """The operator's switch: off wins always, on takes back only what the switch itself had turned off."""
    one = CommunityCache.objects.filter(pk=row.pk)
    if row.is_active and not wished.is_active:
        one.update(is_active=False, inactive_reason=OUT_OF_POOL, updated_at=now)
    elif wished.is_active and not row.is_active and row.inactive_reason == OUT_OF_POOL:
        one.update(is_active=True, inactive_reason="", next_due=now, updated_at=now)


def claim(communities: Iterable[CommunityCache], now: datetime) -> list[CommunityCache]:
    """Those of them that nobody else took a moment ago; ours until visited, or until the claim ends."""
    return [
        row
        for row in communities
        if CommunityCache.objects.filter(pk=row.pk, next_due=row.next_due).update(next_due=now + CLAIM)
    ]


def release(names: Sequence[str], now: datetime) -> None:
    """Claimed, but not visited after all: due again."""
    CommunityCache.objects.filter(community_name__in=names, next_due=now + CLAIM).update(next_due=now)


def wishes() -> dict[str, str]:
    return dict(CommunityPool.objects.values_list("name", "tier"))


def calculate_assignments(names: Sequence[str] | None = None) -> dict[str, list[str]]:
    """Names by tier, from the averages as they are now; of all active communities, or of these."""
    found: dict[str, list[str]] = {key: [] for key in TIERS}
    rows = CommunityCache.objects.active().order_by("-avg_valid_posts", "community_name")
    rows = rows if names is None else rows.filter(community_name__in=names)
    wished = wishes()
    for row in rows:
        found[_tier(row, wished)].append(row.community_name)
    return found


def _tier(row: CommunityCache, wished: Mapping[str, str]) -> str:
    """Before the first visit there is no average: the operator's wish is the tier."""
    if row.covered_from is None:
        return FIRST_TIER.get(wished.get(row.community_name, Wish.MEDIUM), "tier2")
    return tier_of(row.avg_valid_posts).key


def apply_assignments(assignments: Mapping[str, Sequence[str]], now: datetime) -> int:
    """Write tier and promised frequency where they differ. Gives how many communities changed their tier."""
    wished = wishes()
    tier_by_name = {name: tier for tier, names in assignments.items() for name in names}
    changed = []
    moved = 0
    for row in CommunityCache.objects.filter(community_name__in=list(tier_by_name)):
        tier = tier_by_name[row.community_name]
        hours = frequency_hours(tier, wished.get(row.community_name, Wish.LOW))
        if (row.quality_tier, row.crawl_frequency_hours) != (tier, hours):
            moved += row.quality_tier != tier
            row.quality_tier, row.crawl_frequency_hours, row.updated_at = tier, hours, now
            changed.append(row)
    CommunityCache.objects.bulk_update(changed, ["quality_tier", "crawl_frequency_hours", "updated_at"], batch_size=200)
    return moved


class Planner:
    """Due times for a whole crawl: the intervals are reckoned once, from what is known at its start."""

    def __init__(self, now: datetime, *, budget: float | None = None, max_hours: float | None = None) -> None:
        rows = CommunityCache.objects.active().values_list(
            "community_name", "rate", "covered_from", "crawl_frequency_hours"
        )
        known = [rate for _, rate, covered_from, _ in rows if covered_from]
        usual = sum(known) / len(known) if known else 1.0
        self.hours = {name: max_hours or float(hours) for name, _, _, hours in rows}
        if options.SCHEDULER.value == "adaptive":
            loads = [Load(name, rate if covered else usual, self.hours[name]) for name, rate, covered, _ in rows]
            left = (options.DAILY_BUDGET.value if budget is None else budget) - other_requests(loads)
            self.hours = intervals(loads, max(left, 1.0))

    def next_due(self, row: CommunityCache, now: datetime) -> datetime:
        hours = self.hours.get(row.community_name, float(row.crawl_frequency_hours))
        if options.SCHEDULER.value != "adaptive":
            return now + timedelta(hours=hours)
        # Always the same little shift for one community and day: a pool loaded at once spreads out.
        digest = hashlib.blake2b(f"{row.community_name}{now:%Y%m%d}".encode(), digest_size=4).digest()
        shift = 1 + JITTER * (int.from_bytes(digest) / 2**31 - 1)
        return now + timedelta(hours=min(hours * shift, float(row.crawl_frequency_hours)))


def other_requests(loads: Sequence[Load]) -> float:
    """Requests a day that are not visits: looks by id, deep walks, top listings."""
    posts = sum(load.rate for load in loads)
    deep = sum(min(10.0, 1 + load.rate * 30 / IDS_PER_LOOK) for load in loads) / 7
    return posts * LOOKS_PER_POST / IDS_PER_LOOK + deep + len(loads)


def put_pool(rows: Sequence[CommunityPool]) -> None:
    upsert(
        CommunityPool, rows, unique=["name"], update=["tier", "categories", "quality_score", "is_active", "updated_at"]
    )
