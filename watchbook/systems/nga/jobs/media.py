"""Finds the files of posts that are new or edited and queues them; core.media fetches and stores them."""

from __future__ import annotations

from datetime import datetime

from watchbook.base.work import crash_point
from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.core.jobs.models import JobRun, State
from watchbook.systems.nga import options
from watchbook.systems.nga.models import Post, PostRevision
from watchbook.systems.nga.store import media

JOB = "nga.media"
POSTS_A_STEP = 500
# Names of the place; others than those of the job that stored pictures itself, so that all posts are looked at once.
POST, REVISION = "file_post_id", "file_revision_id"


def is_wanted(now: datetime) -> bool:
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
