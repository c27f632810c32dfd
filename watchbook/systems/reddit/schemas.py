"""Types of the API's responses."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from watchbook.core.api.schemas import Answer, Kept, Listing, Mirrored, said
from watchbook.systems.reddit.models import (
    Comment,
    CommentListing,
    CommunityCache,
    Crawl,
    CrawlDay,
    CrawlMetrics,
    PostPoint,
    PostRaw,
)


class CommunityOut(Answer):
    """A community with its last seen post, tier, crawl counters and next crawl."""

    row = CommunityCache

    community_name: str = said("Name with prefix, for example r/webdev.")
    last_crawled_at: datetime | None
    last_seen_post_id: str | None = said("ID of the last seen post.")
    last_seen_created_at: datetime | None
    posts_cached: int
    avg_valid_posts: int = said("New valid posts per day, average of 7 days.")
    quality_tier: str = said("tier1, tier2 or tier3, depending on posts per day.")
    crawl_frequency_hours: int = said("The community is crawled at least this often.")
    empty_hit: int = said("Crawls that found no posts.")
    success_hit: int = said("Successful crawls.")
    failure_hit: int = said("Failed crawls.")
    next_due: datetime
    is_active: bool
    inactive_reason: str
    possible_gap: bool = said("The last crawl did not reach a known post, so posts may be missing.")
    gap_at: datetime | None
    gap_count: int
    last_outcome: str
    covered_from: datetime | None = said("All posts since this time are stored.")
    last_complete_at: datetime | None = said("Start of the last complete crawl.")
    deep_walked_at: datetime | None
    request_count: int


class CommunitiesEdited(Answer):
    """How many communities were changed."""

    changed: int
    added_tags: list[str] = said("Tags that these communities have now, as they are stored.")
    unused_tags: list[str] = said("Tags of `remove_tags` that none of these communities had.")


class CommunityPage(Mirrored[CommunityOut]):
    """Communities by name."""


class NewestPost(Kept):
    """A post from the cache, the hot store or the full store."""

    source_post_id: str
    title: str
    content: str
    score: int
    num_comments: int
    author: str
    created_at: datetime


class CommunityListed(CommunityOut):
    """A community with its priority and tags."""

    priority: str = said("high, medium or low; empty if the community is not in the list.")
    categories: list[str] = said("Tags.")
    comments: CommentListingOut | None = said("Null if comments were never crawled.")


class CommunityWhole(CommunityListed):
    """A community with its newest posts."""

    posts: list[NewestPost] = said("The 25 newest posts.")


class RedditPostOut(Answer):
    """A post with its current text and state."""

    row = PostRaw

    source: str
    source_post_id: str = said("ID without the prefix t3_.")
    subreddit: str = said("Name with prefix, for example r/webdev.")
    title: str
    content: str
    score: int = said("Score at observed_at. The same holds for num_comments.")
    num_comments: int
    created_at: datetime = said("Time of posting.")
    text_norm_hash: str = said("Hash of the normalised title, text and link.")
    version: int
    extra_data: dict[str, Any] = said("Other fields from Reddit.")
    first_seen_at: datetime
    valid_from: datetime
    valid_to: datetime | None = said("Null for the current text.")
    is_current: bool
    removed_by_category: str = said("Who removed the post, as given by Reddit. Empty if it was not removed.")
    author_deleted: bool
    author: str
    observed_at: datetime
    blanked_at: datetime | None = said("Time when the text was erased. Null if it was not erased.")
    found_by: str
    rising: float = said("Points per hour before the last recheck, as a multiple of what is usual; 0 if not known.")
    link: str = said("URL of the post on Reddit.")


class RedditCommentOut(Answer):
    """A comment with its current text and state."""

    row = Comment

    comment_id: str = said("ID without the prefix t1_.")
    post_id: str = said("ID of the thread, without the prefix t3_.")
    parent_id: str = said("What it answers, with prefix: t1_ is a comment, t3_ the post.")
    subreddit: str = said("Name with prefix, for example r/webdev.")
    thread_title: str = said("Title of the thread; empty if its text was erased.")
    content: str
    author: str
    score: int = said("Score at observed_at.")
    created_at: datetime
    edited_at: datetime | None = said("Time of the last edit as given by Reddit.")
    text_norm_hash: str
    version: int
    extra_data: dict[str, Any] = said("Other fields from Reddit.")
    first_seen_at: datetime
    valid_from: datetime
    removed_by_category: str = said("Who removed the comment. Empty if it was not removed.")
    author_deleted: bool
    found_by: str
    observed_at: datetime
    blanked_at: datetime | None = said("Time when the text was erased. Null if it was not erased.")
    link: str = said("URL of the comment on Reddit.")


class RedditCommentPage(Mirrored[RedditCommentOut]):
    """Comments, newest first."""


class CommentVersionOut(Answer):
    """One version of a comment."""

    number: int
    valid_from: datetime
    valid_to: datetime | None
    content: str
    text_norm_hash: str
    reason: str = said("posted, edited or returned.")


class CommentVersionList(Listing[CommentVersionOut]):
    """All versions of a comment, oldest first, and the current comment."""

    comment: RedditCommentOut


class ThreadOut(Listing[RedditCommentOut]):
    """Comments of one thread, oldest first."""

    post_id: str
    title: str
    post: RedditPostOut | None = said("Null if the post itself is not stored.")


class CommentListingOut(Answer):
    """How far the comments of a community were read."""

    row = CommentListing

    is_crawled: bool = said("Comments are crawled, by the setting of the community or by REDDIT_COMMENTS.")
    last_crawled_at: datetime | None
    last_seen_comment_id: str | None
    last_seen_created_at: datetime | None
    next_due: datetime
    rate: float = said("New comments per day, average of 7 days.")
    covered_from: datetime | None = said("All comments since this time are stored.")
    possible_gap: bool = said("The last crawl did not reach a known comment, so comments may be missing.")
    gap_at: datetime | None
    gap_count: int
    last_outcome: str
    last_complete_at: datetime | None
    deep_walked_at: datetime | None
    request_count: int


class AuthorHome(Answer):
    """A community in which an author posted."""

    community_name: str
    posts: int


class AuthorOut(Answer):
    """Stored posts of one author."""

    author: str = said("Name as Reddit writes it, without u/.")
    posts: int
    removed: int = said("Posts that were removed or deleted.")
    first_at: datetime = said("Time of the oldest stored post.")
    last_at: datetime = said("Time of the newest stored post.")
    communities: list[AuthorHome] = said("Communities, most posts first; at most 50.")


class AuthorErased(Answer):
    """What was erased of one author."""

    posts: int
    comments: int
    crossposts: int = said("Posts of others that held a text of this author; only that text was erased.")


class RedditPostPage(Mirrored[RedditPostOut]):
    """Posts, newest first."""


class PostVersionOut(Answer):
    """One version of a post."""

    number: int
    valid_from: datetime
    valid_to: datetime | None
    title: str
    content: str
    text_norm_hash: str
    reason: str = said("posted, edited or returned.")


class PostVersionList(Listing[PostVersionOut]):
    """All versions of a post, oldest first, and the current post."""

    post: RedditPostOut


class PointOut(Answer):
    """Score and comments of a post at one check."""

    row = PostPoint

    at: datetime
    step: int = said("0: first seen. 1, 2 and 3: recheck after 2, 24 and 72 hours.")
    score: int
    num_comments: int
    upvote_ratio: float | None
    per_hour: float | None = said("Points per hour since the point before. Null for the first one.")


class PointList(Listing[PointOut]):
    """Scores of a post over time, oldest first."""


class RedditCrawlOut(Answer):
    """One crawl of one community."""

    row = Crawl

    id: int
    community_name: str
    crawled_at: datetime
    kind: str = said("new, full (full scan), top (top listing), comments or comments_full.")
    outcome: str = said("ok, empty, or why nothing was read.")
    detail: str
    new_posts: int = said("New posts, or new comments if the crawl read comments. The same holds for the others.")
    updated_posts: int
    unchanged_posts: int
    versions: int
    requests: int
    duration_seconds: float
    possible_gap: bool


class RedditCrawlPage(Mirrored[RedditCrawlOut]):
    """Crawls, newest first."""


class HourOut(Answer):
    """Metrics of one hour."""

    row = CrawlMetrics

    metric_date: date
    metric_hour: int
    cache_hit_rate: float = said("Share of reads answered by the cache.")
    valid_posts_24h: int
    total_communities: int
    successful_crawls: int
    empty_crawls: int
    failed_crawls: int
    avg_latency_seconds: float
    total_new_posts: int
    total_updated_posts: int
    total_duplicates: int
    total_new_comments: int
    tier_assignments: dict[str, int] = said("Number of communities per tier.")
    requests: int
    gaps: int
    freshness_p50_seconds: float | None
    freshness_p95_seconds: float | None
    new_posts_per_request: float | None = said("Null if no requests were sent.")


class DayOut(Answer):
    """Metrics of one day."""

    row = CrawlDay

    metric_date: date
    requests: int
    successful_crawls: int
    empty_crawls: int
    failed_crawls: int
    total_new_posts: int
    total_updated_posts: int
    total_duplicates: int
    total_new_comments: int
    gaps: int
    cache_hit_rate: float | None
    avg_latency_seconds: float | None
    freshness_p50_seconds: float | None
    freshness_p95_seconds: float | None
    found_by_deep_walk: int = said("Posts that only a full scan found.")


class MetricsOut(Listing[HourOut]):
    """Metrics per hour and per day, oldest first."""

    days: list[DayOut]
