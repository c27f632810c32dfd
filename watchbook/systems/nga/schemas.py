"""API schemas: the columns under their own names, plus a few computed numbers.

The API uses the names of the tables: a thread is a topic, a forum is a board.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from pydantic import Field

from watchbook.core.api.schemas import Answer, Listing, Mirrored, said
from watchbook.systems.nga.filters import Match
from watchbook.systems.nga.models import (
    CrawlRun,
    CrawlRunThread,
    FollowedAuthor,
    Forum,
    Post,
    PostRevision,
    Subscription,
    Thread,
    ThreadFloorAuditPost,
    ThreadFloorAuditRun,
    ThreadFloorAuditThread,
)


class ForumOut(Answer):
    """A forum: an archived board with its limits."""

    row = Forum

    id: int
    source_forum_id: int = said("Board number on NGA (fid); can be negative.")
    forum_name: str | None
    list_url: str
    crawl_page_limit: int = said("Maximum pages per topic and run.")
    request_rate_limit_per_sec: Decimal
    is_crawled: bool = said("False if only single topics of the board are archived.")
    created_at: datetime
    updated_at: datetime


class ForumPage(Listing[ForumOut]):
    """Boards, oldest first."""


class ThreadOut(Answer):
    """A thread: a topic with its list fields and crawl progress."""

    row = Thread

    id: int
    source_thread_id: int
    title: str
    title_prefix_text: str | None = said("Text in brackets before the title.")
    author_name: str
    author_source_user_id: int | None = said("User ID (uid); null if the site does not show it.")
    thread_created_at: datetime
    last_reply_at: datetime | None
    reply_count_display: int
    view_count_display: int | None
    is_pinned: bool
    is_digest: bool
    first_seen_on_list_page_number: int | None
    last_seen_on_list_page_number: int | None
    is_truncated_by_page_limit: bool = said("Not crawled to the end yet because of the page limit.")
    truncated_at_page_number: int | None
    last_crawled_at: datetime | None
    last_detected_change_at: datetime | None
    crawl_page_total_last_seen: int | None
    crawl_backfill_next_page_number: int | None = said(
        "Page where the next run continues; null if the topic is complete."
    )
    is_skipped_by_page_total_limit: bool = said("Over 1,000 pages: posts are not crawled.")
    skipped_by_page_total_limit_at: datetime | None
    crawl_cursor_max_floor_number: int | None
    crawl_cursor_max_source_post_id: int | None
    title_last_changed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    tid: int = said("Topic number on NGA; same as source_thread_id.")
    fid: int = said("Board number on NGA.")
    edits_known_until: datetime | None = said(
        "When the page was read that was not read for the longest time; later edits on it are not known."
    )


class ThreadListed(ThreadOut):
    """A thread (topic) in a list. The last two fields are present with `q` only."""

    is_title_hit: bool = Field(default=False, description="Whether the words are in the title. Only with `q`.")
    excerpt: str = Field(default="", description="Excerpt of the opening post around the words. Only with `q`.")


class ThreadPage(Mirrored[ThreadListed]):
    """Threads (topics)."""


class PostFound(Answer):
    """A title, opening post or other post that holds the words."""

    tid: int
    fid: int
    title: str
    floor_number: int = said("Number within the topic; 0 for the title and the opening post.")
    post_id: int | None = said("ID of the post; null for the title and the opening post.")
    author_name: str
    author_source_user_id: int | None
    post_created_at: datetime
    is_title_hit: bool = said("Whether the words are in the title.")
    excerpt: str = said("Excerpt of the text around the words.")


class PostFoundPage(Listing[PostFound]):
    """Matches: titles first, then the newest."""


class TagOut(Answer):
    """A tag of topics."""

    tag_text: str
    tag_source: str = said("topic_tag or title_prefix.")


class PageReadOut(Answer):
    """A page of 20 posts, by post number."""

    page_number: int
    read_at: datetime = said("When the page was last read whole; later edits on it are not known.")


class ThreadDetail(ThreadOut):
    """A thread (topic) with its tags and gaps."""

    tags: list[TagOut]
    stored_post_count: int
    missing_floor_count: int
    missing_floor_numbers: list[int] = said("The first 1,000.")
    is_newest_first: bool = said("The site shows the newest posts first.")
    gone_at: datetime | None = said("When the site was found to have deleted or hidden the topic.")
    followed_since: datetime | None = said("Since when the topic is checked for new posts; null if it is not followed.")
    next_check_at: datetime | None = said("The next check of a followed topic.")
    pages: list[PageReadOut]


class PostOut(Answer):
    """A post in its current version."""

    row = Post

    id: int
    source_post_id: int = said("Post ID (pid); 0 for the opening post.")
    floor_number: int = said("Number within the topic; 0 for the opening post.")
    author_name: str
    author_source_user_id: int | None
    post_created_at: datetime
    content_html: str = said("Sanitized HTML; for a deleted post the last known text.")
    content_fingerprint_sha256: str
    is_deleted_by_source: bool
    is_folded_by_source: bool
    content_last_changed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    revision_count: int = said("Number of earlier versions.")
    up_vote_count: int = said("Up-votes when the page was last read.")
    source_edited_at: datetime | None = said("Last edit, as the site gives it.")
    client_text: str = said("Code and model of the author's device, as the site gives them.")
    parent_source_post_id: int | None = said("For a comment: pid of the post it belongs to. Otherwise null.")


class PostPage(Mirrored[PostOut]):
    """Posts by number."""


class RevisionOut(Answer):
    """An earlier version of a post."""

    row = PostRevision

    id: int
    post_id: int
    revision_created_at: datetime = said("When the change was detected.")
    source_edited_at: datetime | None
    content_html: str
    content_fingerprint_sha256: str
    change_detected_reason: str = said("One or more codes, separated by semicolons.")
    crawl_run_thread_id: int | None


class RevisionPage(Listing[RevisionOut]):
    """Versions, newest first."""


class FollowedAuthorOut(Answer):
    """An author whose topics and replies are archived."""

    row = FollowedAuthor

    author_source_user_id: int = said("User ID (uid).")
    author_name: str
    followed_at: datetime
    next_check_at: datetime
    past_page_number: int | None = said("Next page of the older topics; null when they are not wanted or all listed.")


class FollowedAuthorPage(Listing[FollowedAuthorOut]):
    """Followed authors by number."""


class SubscriptionOut(Answer):
    """A topic or an author of which a user is notified."""

    row = Subscription

    id: int
    tid: int | None = said("Topic number; null for an author.")
    title: str = said("Title of the topic, or name of the author.")
    author_source_user_id: int | None
    notifies_posts: bool
    notifies_edits: bool
    is_starter_only: bool = said("Only posts of the topic's author.")
    channel_ids: list[UUID]
    created_at: datetime


class SubscriptionPage(Listing[SubscriptionOut]):
    """Topics and authors, oldest choice first."""


class CrawlOut(Answer):
    """One run for a board."""

    row = CrawlRun

    id: int
    run_started_at: datetime
    run_finished_at: datetime | None
    run_trigger_text: str
    date_window_start: date
    date_window_end: date
    thread_scanned_count: int
    thread_change_detected_count: int
    thread_updated_count: int
    http_request_count: int
    created_at: datetime
    updated_at: datetime
    fid: int
    new_post_count: int
    updated_post_count: int
    failed_thread_count: int
    is_list_complete: bool = said("Whether the topic list was read to its end.")
    error_code: str = said("Why the run stopped; empty if nothing stopped it.")
    error_summary: str


class CrawlPage(Listing[CrawlOut]):
    """Runs, newest first."""


class CrawlThreadOut(Answer):
    """The result of a run for one thread (topic)."""

    row = CrawlRunThread

    id: int
    crawl_run_id: int
    change_detected_by_last_reply_at: bool
    detected_last_reply_at: datetime | None
    fetched_page_count: int
    page_limit_applied: bool
    new_post_count: int
    updated_post_count: int
    http_error_code: int | None
    error_summary: str | None
    started_at: datetime
    finished_at: datetime | None
    tid: int
    title: str


class CrawlThreadPage(Listing[CrawlThreadOut]):
    """Results in crawl order."""


class AuditOut(Answer):
    """One audit for missing posts."""

    row = ThreadFloorAuditRun

    id: int
    run_started_at: datetime
    run_finished_at: datetime | None
    run_trigger_text: str
    repair_enabled: bool
    total_thread_count: int
    missing_thread_count: int
    repaired_thread_count: int
    partial_thread_count: int
    failed_thread_count: int
    failed_http_count: int
    failed_parse_count: int
    failed_db_count: int
    failed_unknown_count: int
    created_at: datetime
    updated_at: datetime


class AuditPage(Listing[AuditOut]):
    """Audits, newest first."""


class AuditThreadOut(Answer):
    """A thread (topic) with missing posts and the repair result."""

    row = ThreadFloorAuditThread

    id: int
    audit_run_id: int
    source_thread_id: int
    max_floor_number: int
    post_count: int
    missing_floor_count: int
    ignored_floor_count: int = said("Posts given up after 3 attempts.")
    repair_status: str = said("missing, repaired, partial, failed or skipped.")
    repair_crawl_run_id: int | None
    repair_attempted_at: datetime | None
    repair_finished_at: datetime | None
    repair_after_max_floor_number: int | None
    repair_after_post_count: int | None
    repair_remaining_floor_count: int | None
    repair_error_summary: str | None
    repair_error_category: str | None = said("http, parse, db or unknown.")
    repair_http_error_code: int | None


class AuditThreadPage(Listing[AuditThreadOut]):
    """Threads (topics) of an audit."""


class AuditFloorOut(Answer):
    """A missing post and the repair result."""

    row = ThreadFloorAuditPost

    id: int
    audit_thread_id: int
    source_thread_id: int
    floor_number: int
    repair_status: str = said("missing, ignored, repaired, still_missing or failed.")
    attempt_count_before: int
    attempt_count_after: int | None
    repair_error_category: str | None
    repair_http_error_code: int | None
    repair_error_summary: str | None


class AuditFloorPage(Listing[AuditFloorOut]):
    """Missing posts of an audit."""


class AuditDetail(AuditOut):
    """An audit with its first topics and missing posts."""

    threads: list[AuditThreadOut]
    floors: list[AuditFloorOut]


def thread_out(thread: Thread, read: Mapping[int, datetime] | None = None) -> dict[str, Any]:
    """`thread` was read `with_readings`, or `read` has the times of its pages."""
    if read is None:
        known: datetime | None = thread.edits_known_until  # type: ignore[attr-defined]
    else:
        known = min(read.values(), default=None)
    fid = thread.forum.source_forum_id
    return ThreadOut.of(thread, tid=thread.source_thread_id, fid=fid, edits_known_until=known)


def found_out(match: Match) -> dict[str, Any]:
    return {
        "tid": match.thread.source_thread_id,
        "fid": match.thread.forum.source_forum_id,
        "title": match.thread.title,
        "floor_number": match.floor_number,
        "post_id": match.post.pk if match.post else None,
        "author_name": match.writer.author_name,
        "author_source_user_id": match.writer.author_source_user_id,
        "post_created_at": match.posted_at,
        "is_title_hit": match.hit.is_title_hit,
        "excerpt": match.excerpt,
    }


def post_out(post: Post) -> dict[str, Any]:
    """`post` was read with its facts (`select_related`)."""
    facts = getattr(post, "facts", None)
    return PostOut.of(
        post,
        up_vote_count=facts.up_vote_count if facts else 0,
        source_edited_at=facts.source_edited_at if facts else None,
        client_text=facts.client_text if facts else "",
        revision_count=post.version_count,  # type: ignore[attr-defined]
        parent_source_post_id=post.parent_source_post_id,  # type: ignore[attr-defined]
    )


def subscription_out(chosen: Subscription) -> dict[str, Any]:
    return SubscriptionOut.of(
        chosen,
        tid=chosen.thread.source_thread_id if chosen.thread else None,
        title=str(chosen),
        channel_ids=[channel.pk for channel in chosen.channels.all()],
    )


def run_out(run: CrawlRun, sums: dict[str, int]) -> dict[str, Any]:
    result = getattr(run, "result", None)
    return CrawlOut.of(
        run,
        fid=run.forum.source_forum_id,
        new_post_count=sums["new"],
        updated_post_count=sums["updated"],
        failed_thread_count=sums["failed"],
        is_list_complete=bool(result and result.is_list_complete),
        error_code=result.error_code if result else "",
        error_summary=result.error_summary if result else "",
    )


def run_thread_out(row: CrawlRunThread) -> dict[str, Any]:
    return CrawlThreadOut.of(row, tid=row.thread.source_thread_id, title=row.thread.title)
