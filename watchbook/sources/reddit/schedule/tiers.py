"""Three tiers by posts a day, as the system's document has them: how often at least, and which listing beside `new`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Tier:
    """`frequency_hours` is the promised longest time between two visits; `limit` is a page size, not a cap."""

    key: str
    threshold_min: Decimal
    threshold_max: Decimal | None
    frequency_hours: int
    sort: str
    time_filter: str
    limit: int


TIERS: dict[str, Tier] = {
    tier.key: tier
    for tier in (
        Tier("tier1", Decimal("20"), None, 2, "new", "week", 50),
        Tier("tier2", Decimal("10"), Decimal("20"), 6, "top", "week", 80),
        Tier("tier3", Decimal("0"), Decimal("10"), 24, "top", "month", 100),
    )
}
# The operator's wish is never kept worse than this, however quiet the community is.
WISHED_HOURS = {"high": 2, "medium": 6, "low": 24}
FIRST_TIER = {"high": "tier1", "medium": "tier2", "low": "tier3"}


def tier_of(posts_a_day: float) -> Tier:
    return next(tier for tier in TIERS.values() if posts_a_day >= tier.threshold_min)


def frequency_hours(tier: str, wish: str) -> int:
    """The tier's promise, or the operator's wish where that is shorter."""
    return min(TIERS[tier].frequency_hours, WISHED_HOURS.get(wish, 24))
