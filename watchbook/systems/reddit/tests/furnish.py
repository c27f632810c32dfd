"""Rows of the scanner for the walks over all addresses, API responses and pages."""

from __future__ import annotations

from datetime import UTC, datetime

from watchbook.core.accounts.models import User
from watchbook.systems.reddit.models import (
    Comment,
    CommentListing,
    CommentVersion,
    CommunityCache,
    Crawl,
    CrawlDay,
    CrawlMetrics,
    PostPoint,
    PostRaw,
    PostSpan,
)

SEEN_AT = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)


def furnish(owner: User) -> dict[str, list[str]]:
    """Fill every list of the scanner, and return ids by the name that paths give them."""
    community = CommunityCache.objects.create(community_name="r/lanterns", last_crawled_at=SEEN_AT)
    post = PostRaw.objects.create(
        source_post_id="1abcde", subreddit=community.community_name, title="A walk", content="By the river.",
        author="lamp_keeper", created_at=SEEN_AT, text_norm_hash="0" * 64, first_seen_at=SEEN_AT, valid_from=SEEN_AT,
        observed_at=SEEN_AT,
    )  # fmt: skip
    PostSpan.objects.create(post=post, source_post_id=post.source_post_id, version=1, valid_from=post.valid_from)
    PostPoint.objects.create(
        source_post_id=post.source_post_id, subreddit=post.subreddit, at=SEEN_AT, step=0, score=1, num_comments=0
    )
    CommentListing.objects.create(community=community, is_on=True, last_crawled_at=SEEN_AT, next_due=SEEN_AT)
    comment = Comment.objects.create(
        comment_id="1fghij", post_id=post.source_post_id, parent_id=f"t3_{post.source_post_id}",
        subreddit=community.community_name, thread_title=post.title, content="Beside the river.", author=post.author,
        created_at=SEEN_AT, text_norm_hash="1" * 64, version=2, first_seen_at=SEEN_AT, valid_from=SEEN_AT,
        observed_at=SEEN_AT,
    )  # fmt: skip
    CommentVersion.objects.create(
        comment=comment, version=1, content="By the river.", text_norm_hash="2" * 64, valid_from=SEEN_AT,
        valid_to=SEEN_AT,
    )  # fmt: skip
    Crawl.objects.create(community_name=community.community_name, crawled_at=SEEN_AT, outcome="ok", new_posts=1)
    CrawlMetrics.objects.create(metric_date=SEEN_AT.date(), metric_hour=7, tier_assignments={"tier1": 1})
    CrawlDay.objects.create(metric_date=SEEN_AT.date())
    return {
        "reddit name": ["lanterns", community.community_name],
        "source_post_id": [post.source_post_id],
        "comment_id": [comment.comment_id],
        "author": [post.author],
    }
