"""The five tables of the seed, and additional ones."""

from watchbook.systems.reddit.models.communities import (
    Access,
    CommunityCache,
    CommunityPool,
    CommunityPriority,
    Crawl,
    CrawlDay,
    CrawlKind,
    CrawlMetrics,
    Outcome,
)
from watchbook.systems.reddit.models.posts import FoundBy, PostHot, PostPoint, PostRaw, PostSpan

__all__ = [
    "Access",
    "CommunityCache",
    "CommunityPool",
    "CommunityPriority",
    "Crawl",
    "CrawlDay",
    "CrawlKind",
    "CrawlMetrics",
    "FoundBy",
    "Outcome",
    "PostHot",
    "PostPoint",
    "PostRaw",
    "PostSpan",
]
