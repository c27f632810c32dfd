"""Rows as programs get them: the columns under their own names, and a few numbers beside them.

The API speaks as the tables do: a thread is what the pages call a topic, a post is a floor, a forum is a board.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pydantic import Field

from watchbook.core.api.answers import Answer, Listing, said
from watchbook.sources.nga.models import (
    CrawlRun,
    CrawlRunThread,
    Forum,
    Post,
    PostRevision,
    Thread,
    ThreadFloorAuditPost,
    ThreadFloorAuditRun,
    ThreadFloorAuditThread,
)


class ForumOut(Answer):
    """A forum: a board that is archived, and how politely it is asked."""

    row = Forum

    id: int
    source_forum_id: int = said("The board's number at NGA, fid; may be negative.")
    forum_name: str | None
    list_url: str
    crawl_page_limit: int = said("Pages of a topic that one run reads at most.")
    request_rate_limit_per_sec: Decimal
    created_at: datetime
    updated_at: datetime


class ForumPage(Listing[ForumOut]):
    """Boards, in the order in which they were added."""


class ThreadOut(Answer):
    """A thread: a topic as its list row and its pages showed it, and how far it has been read."""

    row = Thread

    id: int
    source_thread_id: int
    title: str
    title_prefix_text: str | None = said("What stands in brackets before the title.")
    author_name: str
    author_source_user_id: int | None = said("uid; null where the forum does not tell it.")
    thread_created_at: datetime
    last_reply_at: datetime | None
    reply_count_display: int
    view_count_display: int | None
    is_pinned: bool
    is_digest: bool
    first_seen_on_list_page_number: int | None
    last_seen_on_list_page_number: int | None
    is_truncated_by_page_limit: bool = said("Not read to its end yet, because one run reads only so many pages.")
    truncated_at_page_number: int | None
    last_crawled_at: datetime | None
    last_detected_change_at: datetime | None
    crawl_page_total_last_seen: int | None
    crawl_backfill_next_page_number: int | None = said("Where the next run goes on; null when no page is owed.")
    is_skipped_by_page_total_limit: bool = said("Over a thousand pages: its floors are not read.")
    skipped_by_page_total_limit_at: datetime | None
    crawl_cursor_max_floor_number: int | None
    crawl_cursor_max_source_post_id: int | None
    title_last_changed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    tid: int = said("The topic's number at NGA; the same as source_thread_id.")
    fid: int = said("The board's number at NGA.")


class ThreadListed(ThreadOut):
    """A thread (topic) in a list. The last two are there when words were looked for."""

    is_title_hit: bool = Field(default=False, description="Are the words in the title? Only with `q`.")
    excerpt: str = Field(default="", description="The floor around the words. Only with `q`.")


class ThreadPage(Listing[ThreadListed]):
    """Threads (topics)."""


class TagOut(Answer):
    """A word that topics are sorted by."""

    tag_text: str
    tag_source: str = said("topic_tag or title_prefix.")


class ThreadWhole(ThreadOut):
    """A thread (topic) with its tags and gaps."""

    tags: list[TagOut]
    stored_post_count: int
    missing_floor_count: int
    missing_floor_numbers: list[int] = said("The first thousand of them.")
    is_newest_first: bool = said("The forum shows its newest floors first.")
    gone_at: datetime | None = said("When the forum was found to show it no more.")


class PostOut(Answer):
    """A post: one floor as it reads now."""

    row = Post

    id: int
    source_post_id: int = said("pid; 0 for the opening floor.")
    floor_number: int = said("0 for the opening floor.")
    author_name: str
    author_source_user_id: int | None
    post_created_at: datetime
    content_html: str = said("Cleaned; of a deleted floor what it said before.")
    content_fingerprint_sha256: str
    is_deleted_by_source: bool
    is_folded_by_source: bool
    content_last_changed_at: datetime | None
    created_at: datetime
    updated_at: datetime
    revision_count: int = said("How many older versions are kept.")
    parent_source_post_id: int | None = said("Of a note: the pid of the post under which it hangs. Null for any other.")


class PostPage(Listing[PostOut]):
    """Posts (floors) in the order of their numbers."""


class RevisionOut(Answer):
    """What a post (floor) said before."""

    row = PostRevision

    id: int
    post_id: int
    revision_created_at: datetime = said("When the change was found.")
    source_edited_at: datetime | None
    content_html: str
    content_fingerprint_sha256: str
    change_detected_reason: str = said("One or more words, joined by semicolons.")
    crawl_run_thread_id: int | None


class RevisionPage(Listing[RevisionOut]):
    """Versions, newest first."""


class CrawlOut(Answer):
    """One run over a board."""

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


class CrawlPage(Listing[CrawlOut]):
    """Runs, newest first."""


class CrawlThreadOut(Answer):
    """What a run did to one thread (topic)."""

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
    """In the order in which the run read them."""


class AuditOut(Answer):
    """One look for missing floors."""

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
    """A thread (topic) that lacks floors, and what a repair did."""

    row = ThreadFloorAuditThread

    id: int
    audit_run_id: int
    source_thread_id: int
    max_floor_number: int
    post_count: int
    missing_floor_count: int
    ignored_floor_count: int = said("Tried too often; not asked for again.")
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
    """A floor that is missing, and what a repair did."""

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
    """Missing floors of an audit."""


class AuditWhole(AuditOut):
    """An audit with its first topics and floors."""

    threads: list[AuditThreadOut]
    floors: list[AuditFloorOut]


def thread_out(thread: Thread) -> dict[str, Any]:
    return ThreadOut.of(thread, tid=thread.source_thread_id, fid=thread.forum.source_forum_id)


def post_out(post: Post) -> dict[str, Any]:
    return PostOut.of(
        post,
        revision_count=post.version_count,  # type: ignore[attr-defined]
        parent_source_post_id=post.parent_source_post_id,  # type: ignore[attr-defined]
    )


def run_out(run: CrawlRun, sums: dict[str, int]) -> dict[str, Any]:
    return CrawlOut.of(
        run,
        fid=run.forum.source_forum_id,
        new_post_count=sums["new"],
        updated_post_count=sums["updated"],
        failed_thread_count=sums["failed"],
    )


def run_thread_out(row: CrawlRunThread) -> dict[str, Any]:
    return CrawlThreadOut.of(row, tid=row.thread.source_thread_id, title=row.thread.title)
