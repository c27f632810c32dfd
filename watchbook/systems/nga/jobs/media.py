"""Pictures, where the operator wants them kept: found in floors, fetched politely, stored by what is in them."""

from __future__ import annotations

from datetime import datetime

from watchbook.base.web.errors import Busy, WebError
from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.core.jobs.models import JobRun, State
from watchbook.systems.nga import options
from watchbook.systems.nga.fetch.requests import fetch_picture
from watchbook.systems.nga.models import Post, PostMediaMap, PostRevision
from watchbook.systems.nga.store import media

JOB = "nga.media"
FLOORS_A_STEP = 500
PICTURES_A_RUN = 300


def is_wanted(now: datetime) -> bool:
    return bool(options.MEDIA.value)


def keep_pictures(ctx: JobContext) -> Outcome:
    if not options.MEDIA.value:
        return NOTHING_TO_DO
    place = _look(ctx)
    figures = {"kept": 0, "failed": 0}
    for url in _wanted():
        figures["kept" if _keep(ctx, url) else "failed"] += 1
        ctx.report(**figures)
    return Outcome("done" if figures["kept"] or figures["failed"] else "nothing_to_do", {**place, **figures})


def _look(ctx: JobContext) -> dict[str, int]:
    """Floors that are new or changed since the last run: their pictures become rows."""
    last = JobRun.objects.filter(name=JOB, state=State.DONE).order_by("-pk").first()
    place = {name: int((last.progress if last else {}).get(name, 0)) for name in ("post_id", "revision_id")}
    while posts := list(Post.objects.filter(pk__gt=place["post_id"]).order_by("pk")[:FLOORS_A_STEP]):
        with ctx.writing():
            media.add_pictures(posts, ctx.now)
        place["post_id"] = posts[-1].pk
    while kept := list(
        PostRevision.objects.filter(pk__gt=place["revision_id"])
        .order_by("pk")
        .values_list("pk", "post_id")[:FLOORS_A_STEP]
    ):
        with ctx.writing():
            media.add_pictures(Post.objects.filter(pk__in={post_id for _, post_id in kept}), ctx.now)
        place["revision_id"] = kept[-1][0]
    return place


def _wanted() -> list[str]:
    """Addresses without a file, each once, the longest waiting first."""
    rows = PostMediaMap.objects.filter(media_asset=None, attempt_count__lt=media.MOST_ATTEMPTS).order_by("pk")
    return list(dict.fromkeys(rows.values_list("source_url", flat=True)[:PICTURES_A_RUN]))


def _keep(ctx: JobContext, url: str) -> bool:
    url_digest = media.digest(url)
    known = media.known_asset(url_digest)
    try:
        body, media_format = (b"", "") if known else fetch_picture(url)
    except Busy:
        raise  # its host's turn is somebody else's: the run goes back to the queue
    except WebError as error:
        with ctx.writing():
            media.record_failure(url_digest, f"{error.code}: {error.message}", ctx.now)
        return False
    name = known.content_sha256 if known else media.write_file(body)
    with ctx.writing():
        asset = known or media.store_asset(name, media_format, len(body), ctx.now)
        media.attach(url_digest, asset, ctx.now)
    return True
