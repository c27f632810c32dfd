"""Rows as programs get them: the API and `--json` speak alike."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from watchbook.core.api.answers import Answer, Kept, Listing, said
from watchbook.sources.reddit.models import CommunityCache, CrawlDay, CrawlMetrics, PostRaw
from watchbook.sources.reddit.places import reddit_link


class CommunityOut(Answer):
    """A community: its watermark, its tier, its visits, and when it is due."""

    row = CommunityCache

    community_name: str = said("As in the pool: r/webdev.")
    last_crawled_at: datetime | None
    last_seen_post_id: str | None = said("The newest post seen.")
    last_seen_created_at: datetime | None
    posts_cached: int
    avg_valid_posts: int = said("New valid posts a day, over seven days.")
    quality_tier: str = said("tier1, tier2 or tier3, computed from what it brings.")
    crawl_frequency_hours: int = said("The promised maximum age.")
    empty_hit: int = said("Visits that found nothing new.")
    success_hit: int = said("Visits that found something.")
    failure_hit: int = said("Visits that failed.")
    next_due: datetime
    is_active: bool
    inactive_reason: str
    possible_gap: bool = said("The last visit did not join up with what was known: posts may be missing.")
    gap_at: datetime | None
    gap_count: int
    last_outcome: str
    covered_from: datetime | None = said("From here on every post is known.")
    last_complete_at: datetime | None = said("Start of the last visit that joined up with what was known.")
    deep_walked_at: datetime | None
    request_count: int


class CommunityPage(Listing[CommunityOut]):
    """Communities by name."""


class NewestPost(Kept):
    """A post as the nearest store has it."""

    source_post_id: str
    title: str
    content: str
    score: int
    num_comments: int
    author: str
    created_at: datetime


class CommunityWhole(CommunityOut):
    """A community with its newest posts."""

    posts: list[NewestPost] = said("The newest 25.")


class RedditPostOut(Answer):
    """The current text of a post, and its state."""

    row = PostRaw

    source: str
    source_post_id: str = said("Without t3_.")
    subreddit: str = said("As in the pool: r/webdev.")
    title: str
    content: str
    score: int = said("As of observed_at, like the number of comments.")
    num_comments: int
    created_at: datetime = said("When it was posted.")
    text_norm_hash: str = said("Of the normalised title, text and link.")
    version: int
    extra_data: dict[str, Any] = said("What else Reddit said about it.")
    first_seen_at: datetime
    valid_from: datetime
    valid_to: datetime | None = said("Null while it is the current text.")
    is_current: bool
    removed_by_category: str = said("Who removed it, in Reddit's words; empty while nobody did.")
    author_deleted: bool
    author: str
    observed_at: datetime
    blanked_at: datetime | None = said("When its text was erased here, because it is gone there.")
    found_by: str
    link: str = said("The post at Reddit.")


class RedditPostPage(Listing[RedditPostOut]):
    """Posts, newest first."""


class PostVersionOut(Answer):
    """One text of a post while it was the current one."""

    number: int
    valid_from: datetime
    valid_to: datetime | None
    title: str
    content: str
    text_norm_hash: str
    reason: str = said("posted, edited or returned.")


class PostVersionList(Listing[PostVersionOut]):
    """Every text a post had, oldest first, and the post as it is now."""

    post: RedditPostOut


class HourOut(Answer):
    """What one hour of crawling found and cost."""

    row = CrawlMetrics

    metric_date: date
    metric_hour: int
    cache_hit_rate: float = said("Share of reads that needed no cold store.")
    valid_posts_24h: int
    total_communities: int
    successful_crawls: int
    empty_crawls: int
    failed_crawls: int
    avg_latency_seconds: float
    total_new_posts: int
    total_updated_posts: int
    total_duplicates: int
    tier_assignments: dict[str, int] = said("How many communities each tier has.")
    requests: int
    gaps: int
    freshness_p50_seconds: float | None
    freshness_p95_seconds: float | None
    new_posts_per_request: float | None = said("Null when nothing was asked.")


class DayOut(Answer):
    """What one day of crawling found and cost."""

    row = CrawlDay

    metric_date: date
    requests: int
    successful_crawls: int
    empty_crawls: int
    failed_crawls: int
    total_new_posts: int
    total_updated_posts: int
    total_duplicates: int
    gaps: int
    cache_hit_rate: float | None
    avg_latency_seconds: float | None
    freshness_p50_seconds: float | None
    freshness_p95_seconds: float | None
    found_by_deep_walk: int = said("Posts that visits should have found and did not.")


class MetricsOut(Listing[HourOut]):
    """Hours that were measured, and days; oldest first, in one page."""

    days: list[DayOut]


def post_out(row: PostRaw) -> dict[str, Any]:
    return RedditPostOut.of(row, link=reddit_link(row.source_post_id))


def metrics_out(row: CrawlMetrics) -> dict[str, Any]:
    return HourOut.of(row)
