"""The five tables of the seed, and additional ones."""

from watchbook.systems.reddit.models.comments import Comment, CommentListing, CommentVersion, DumpImport, ThreadLook
from watchbook.systems.reddit.models.communities import (
    Access,
    CommunityCache,
    CommunityPool,
    CommunityPriority,
    Crawl,
    CrawlDay,
    CrawlKind,
    CrawlMetrics,
    ListingState,
    Outcome,
)
from watchbook.systems.reddit.models.posts import ErasedAuthor, FoundBy, PostHot, PostPoint, PostRaw, PostSpan

__all__ = [
    "Access",
    "Comment",
    "CommentListing",
    "CommentVersion",
    "CommunityCache",
    "CommunityPool",
    "CommunityPriority",
    "Crawl",
    "CrawlDay",
    "CrawlKind",
    "CrawlMetrics",
    "DumpImport",
    "ErasedAuthor",
    "FoundBy",
    "ListingState",
    "Outcome",
    "PostHot",
    "PostPoint",
    "PostRaw",
    "PostSpan",
    "ThreadLook",
]
