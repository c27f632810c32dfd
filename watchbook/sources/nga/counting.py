"""Sums over many rows that pages and API show alike: each is one query for any number of topics or runs."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Count, Q, Sum

from watchbook.sources.nga.models import CrawlRunThread, Post, Thread

FAILED = Q(error_summary__isnull=False) | Q(http_error_code__isnull=False)
NOTHING = {"topics": 0, "pages": 0, "new": 0, "updated": 0, "failed": 0, "limited": 0}


def stored_counts(ids: Sequence[int]) -> dict[int, int]:
    """How many floors of each topic are stored; read from the index alone."""
    counted = Post.objects.filter(thread_id__in=ids).order_by().values("thread_id").annotate(number=Count("pk"))
    return dict(counted.values_list("thread_id", "number"))


def missing_numbers(thread: Thread) -> list[int]:
    """Floors below the highest stored one that are not there."""
    if thread.crawl_cursor_max_floor_number is None:
        return []
    stored = set(Post.objects.filter(thread=thread).values_list("floor_number", flat=True))
    return [number for number in range(thread.crawl_cursor_max_floor_number + 1) if number not in stored]


def run_sums(ids: Sequence[int]) -> dict[int, dict[str, int]]:
    """Per run: topics, pages, floors that are new or changed, topics that failed or were cut by the limit."""
    rows = CrawlRunThread.objects.filter(crawl_run_id__in=ids).order_by().values("crawl_run_id")
    counted = rows.annotate(
        topics=Count("pk"),
        pages=Sum("fetched_page_count"),
        new=Sum("new_post_count"),
        updated=Sum("updated_post_count"),
        failed=Count("pk", filter=FAILED),
        limited=Count("pk", filter=Q(page_limit_applied=True)),
    )
    return {row.pop("crawl_run_id"): row for row in counted}
