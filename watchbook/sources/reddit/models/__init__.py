"""The five tables of the system's document, and ours beside them."""

from watchbook.sources.reddit.models.access import Access
from watchbook.sources.reddit.models.communities import CommunityCache, CommunityPool, Outcome, Wish
from watchbook.sources.reddit.models.metrics import CrawlDay, CrawlMetrics
from watchbook.sources.reddit.models.posts import FoundBy, PostHot, PostRaw, PostSpan

__all__ = [
    "Access",
    "CommunityCache",
    "CommunityPool",
    "CrawlDay",
    "CrawlMetrics",
    "FoundBy",
    "Outcome",
    "PostHot",
    "PostRaw",
    "PostSpan",
    "Wish",
]
