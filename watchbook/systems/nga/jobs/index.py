"""Puts posts that were stored before posts were searched into the search, some thousand in each run."""

from __future__ import annotations

from datetime import datetime
from itertools import groupby

from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.systems.nga.models import Post, PostIndexing, Thread
from watchbook.systems.nga.store.publish import IndexedPost, index_posts

POSTS_A_STEP = 500
STEPS_A_RUN = 40


def is_wanted(now: datetime) -> bool:
    return not PostIndexing.objects.filter(finished_at__isnull=False).exists()


def index_old_posts(ctx: JobContext) -> Outcome:
    """Each step is its own transaction and moves the place with it; a run that ends goes on in the next one."""
    place, _ = PostIndexing.objects.get_or_create(pk=1)
    if place.finished_at is not None:
        return NOTHING_TO_DO
    done = 0
    for _step in range(STEPS_A_RUN):
        posts = list(Post.objects.filter(pk__gte=place.next_post_id).order_by("pk")[:POSTS_A_STEP])
        with ctx.writing():
            _index(posts)
            place.next_post_id = posts[-1].pk + 1 if posts else place.next_post_id
            place.finished_at = ctx.now if len(posts) < POSTS_A_STEP else None
            place.save()
        done += len(posts)
        ctx.report(floors=done)
        if place.finished_at is not None:
            break
    return Outcome("done", {"floors": done})


def _index(posts: list[Post]) -> None:
    threads = Thread.objects.with_mirrors().in_bulk({post.thread_id for post in posts})
    for thread_id, rows in groupby(sorted(posts, key=lambda post: post.thread_id), key=lambda post: post.thread_id):
        index_posts(
            threads[thread_id],
            [
                IndexedPost(row.pk, row.floor_number, row.author_name, row.post_created_at, row.content_html)
                for row in rows
            ],
        )
