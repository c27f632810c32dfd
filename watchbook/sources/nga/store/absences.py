"""Stored floors that a page read whole did not show. Two such readings in a row, in two runs, are a deletion."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from watchbook.sources.nga.models import Post, PostAbsence
from watchbook.sources.nga.store.versions import Change, absent

READINGS_OF_A_DELETION = 2


def note_absent(posts: Iterable[Post], crawl_run_id: int, now: datetime) -> list[Change]:
    """Count this reading for each; gives those that are deleted now. Two readings of one run count once."""
    first, again, gone = [], [], []
    for post in posts:
        before = absence_of(post)
        if post.is_deleted_by_source or (before is not None and before.crawl_run_id == crawl_run_id):
            continue
        if before is None:
            first.append(
                PostAbsence(post_id=post.pk, crawl_run_id=crawl_run_id, first_absent_at=now, last_absent_at=now)
            )
            continue
        before.reading_count += 1
        before.crawl_run_id, before.last_absent_at = crawl_run_id, now
        again.append(before)
        if before.reading_count >= READINGS_OF_A_DELETION:
            gone.append(absent(post))
    if first:
        PostAbsence.objects.bulk_create(first)
    if again:
        PostAbsence.objects.bulk_update(again, ["reading_count", "crawl_run_id", "last_absent_at"])
    return gone


def forget(posts: Sequence[Post]) -> None:
    """These are there again: the count begins anew."""
    known = [post.pk for post in posts if absence_of(post) is not None]
    if known:
        PostAbsence.objects.filter(pk__in=known).delete()


def absence_of(post: Post) -> PostAbsence | None:
    """Read together with the post (`select_related`): asking costs nothing."""
    return getattr(post, "absence", None)
