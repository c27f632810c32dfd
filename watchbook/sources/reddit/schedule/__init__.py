"""When a community is visited: arithmetic without database or clock."""

from watchbook.sources.reddit.schedule.adaptive import Load, intervals, planned_requests
from watchbook.sources.reddit.schedule.tiers import TIERS, Tier, frequency_hours, tier_of

__all__ = ["TIERS", "Load", "Tier", "frequency_hours", "intervals", "planned_requests", "tier_of"]
