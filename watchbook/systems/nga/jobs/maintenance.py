"""Slow work beside crawling: posts from before posts were searched, and files of posts that are new or edited.

The first puts old posts into the search, some thousand in each run; the second queues files, which core.media fetches.
"""

from __future__ import annotations

from datetime import datetime
from itertools import groupby

from watchbook.base.work import crash_point
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.jobs.runner import NOTHING_TO_DO, JobContext, Outcome
from watchbook.systems.nga import options
from watchbook.systems.nga.models import Post, PostIndexing, PostRevision, Thread
from watchbook.systems.nga.store import media
from watchbook.systems.nga.store.publish import IndexedPost, index_posts

POSTS_A_STEP = 500
STEPS_A_RUN = 40


def indexing_is_wanted(now: datetime) -> bool:
    return not PostIndexing.objects.filter(finished_at__isnull=False).exists()


def index_old_posts(ctx: JobContext) -> Outcome:
    """Each step is its own transaction and moves the place with it; the next run continues where one ended."""
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


JOB = "nga.media"
# Names of the place; others than those of the job that stored pictures itself, so that each post is read once more.
POST, REVISION = "file_post_id", "file_revision_id"


def media_is_wanted(now: datetime) -> bool:
    return bool(options.MEDIA.value)


def find_files(ctx: JobContext) -> Outcome:
    if not options.MEDIA.value:
        return NOTHING_TO_DO
    last = JobRun.objects.filter(name=JOB, state=State.DONE).order_by("-pk").first()
    place = {name: int((last.progress if last else {}).get(name, 0)) for name in (POST, REVISION)}
    queued = 0
    while posts := list(Post.objects.filter(pk__gt=place[POST]).order_by("pk")[:POSTS_A_STEP]):
        queued += _want(ctx, posts)
        place[POST] = posts[-1].pk
        ctx.report(queued=queued)
    edits = PostRevision.objects.order_by("pk").values_list("pk", "post_id")
    while pairs := list(edits.filter(pk__gt=place[REVISION])[:POSTS_A_STEP]):
        queued += _want(ctx, list(Post.objects.filter(pk__in={post_id for _pk, post_id in pairs})))
        place[REVISION] = pairs[-1][0]
        ctx.report(queued=queued)
    return Outcome("done" if queued else "nothing_to_do", {**place, "queued": queued})


def _want(ctx: JobContext, posts: list[Post]) -> int:
    with ctx.writing():
        count = media.want_files(posts)
        crash_point("nga.files_queued")
    return count
