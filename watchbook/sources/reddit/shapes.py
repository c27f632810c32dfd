"""Rows as programs get them: the API and `--json` speak alike."""

from __future__ import annotations

from typing import Any

from watchbook.sources.reddit.models import CommunityCache, CrawlDay, CrawlMetrics, PostRaw
from watchbook.sources.reddit.places import reddit_link

COMMUNITY = (
    "community_name", "last_crawled_at", "last_seen_post_id", "last_seen_created_at", "posts_cached",
    "avg_valid_posts", "quality_tier", "crawl_frequency_hours", "empty_hit", "success_hit", "failure_hit", "next_due",
    "is_active", "inactive_reason", "possible_gap", "gap_at", "gap_count", "last_outcome", "covered_from",
    "last_complete_at", "deep_walked_at", "request_count",
)  # fmt: skip
POST = (
    "source", "source_post_id", "subreddit", "title", "content", "score", "num_comments", "created_at",
    "text_norm_hash", "version", "extra_data", "first_seen_at", "valid_from", "valid_to", "is_current",
    "removed_by_category", "author_deleted", "author", "observed_at", "blanked_at", "found_by",
)  # fmt: skip
METRICS = (
    "metric_date", "metric_hour", "cache_hit_rate", "valid_posts_24h", "total_communities", "successful_crawls",
    "empty_crawls", "failed_crawls", "avg_latency_seconds", "total_new_posts", "total_updated_posts",
    "total_duplicates", "tier_assignments", "requests", "gaps", "freshness_p50_seconds", "freshness_p95_seconds",
    "new_posts_per_request",
)  # fmt: skip


def community_out(row: CommunityCache) -> dict[str, Any]:
    return _named(row, COMMUNITY)


def post_out(row: PostRaw) -> dict[str, Any]:
    return {**_named(row, POST), "link": reddit_link(row.source_post_id)}


def metrics_out(row: CrawlMetrics) -> dict[str, Any]:
    return _named(row, METRICS)


def day_out(row: CrawlDay) -> dict[str, Any]:
    return _named(row, tuple(field.name for field in CrawlDay._meta.concrete_fields if field.name != "id"))


def _named(row: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}
