"""Rows as programs get them: the columns under their own names, and a few numbers beside them."""

from __future__ import annotations

from typing import Any

from watchbook.sources.nga.models import CrawlRun, CrawlRunThread, Post, Thread

THREAD = (
    "id", "source_thread_id", "title", "title_prefix_text", "author_name", "author_source_user_id",
    "thread_created_at", "last_reply_at", "reply_count_display", "view_count_display", "is_pinned", "is_digest",
    "first_seen_on_list_page_number", "last_seen_on_list_page_number", "is_truncated_by_page_limit",
    "truncated_at_page_number", "last_crawled_at", "last_detected_change_at", "crawl_page_total_last_seen",
    "crawl_backfill_next_page_number", "is_skipped_by_page_total_limit", "skipped_by_page_total_limit_at",
    "crawl_cursor_max_floor_number", "crawl_cursor_max_source_post_id", "title_last_changed_at", "created_at",
    "updated_at",
)  # fmt: skip
POST = (
    "id", "source_post_id", "floor_number", "author_name", "author_source_user_id", "post_created_at", "content_html",
    "content_fingerprint_sha256", "is_deleted_by_source", "is_folded_by_source", "content_last_changed_at",
    "created_at", "updated_at",
)  # fmt: skip
REVISION = (
    "id", "post_id", "revision_created_at", "source_edited_at", "content_html", "content_fingerprint_sha256",
    "change_detected_reason", "crawl_run_thread_id",
)  # fmt: skip
RUN = (
    "id", "run_started_at", "run_finished_at", "run_trigger_text", "date_window_start", "date_window_end",
    "thread_scanned_count", "thread_change_detected_count", "thread_updated_count", "http_request_count",
    "created_at", "updated_at",
)  # fmt: skip
RUN_THREAD = (
    "id", "crawl_run_id", "change_detected_by_last_reply_at", "detected_last_reply_at", "fetched_page_count",
    "page_limit_applied", "new_post_count", "updated_post_count", "http_error_code", "error_summary", "started_at",
    "finished_at",
)  # fmt: skip
AUDIT = (
    "id", "run_started_at", "run_finished_at", "run_trigger_text", "repair_enabled", "total_thread_count",
    "missing_thread_count", "repaired_thread_count", "partial_thread_count", "failed_thread_count",
    "failed_http_count", "failed_parse_count", "failed_db_count", "failed_unknown_count", "created_at", "updated_at",
)  # fmt: skip
AUDIT_THREAD = (
    "id", "audit_run_id", "source_thread_id", "max_floor_number", "post_count", "missing_floor_count",
    "ignored_floor_count", "repair_status", "repair_crawl_run_id", "repair_attempted_at", "repair_finished_at",
    "repair_after_max_floor_number", "repair_after_post_count", "repair_remaining_floor_count",
    "repair_error_summary", "repair_error_category", "repair_http_error_code",
)  # fmt: skip
AUDIT_POST = (
    "id", "audit_thread_id", "source_thread_id", "floor_number", "repair_status", "attempt_count_before",
    "attempt_count_after", "repair_error_category", "repair_http_error_code", "repair_error_summary",
)  # fmt: skip
FORUM = (
    "id", "source_forum_id", "forum_name", "list_url", "crawl_page_limit", "request_rate_limit_per_sec", "created_at",
    "updated_at",
)  # fmt: skip


def fields(row: Any, names: tuple[str, ...], **more: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names} | more


def thread_out(thread: Thread) -> dict[str, Any]:
    return fields(thread, THREAD, tid=thread.source_thread_id, fid=thread.forum.source_forum_id)


def post_out(post: Post) -> dict[str, Any]:
    return fields(post, POST, revision_count=post.version_count)  # type: ignore[attr-defined]


def run_out(run: CrawlRun, sums: dict[str, int]) -> dict[str, Any]:
    return fields(
        run,
        RUN,
        fid=run.forum.source_forum_id,
        new_post_count=sums["new"],
        updated_post_count=sums["updated"],
        failed_thread_count=sums["failed"],
    )


def run_thread_out(row: CrawlRunThread) -> dict[str, Any]:
    return fields(row, RUN_THREAD, tid=row.thread.source_thread_id, title=row.thread.title)
