"""Keeping house: expired hot posts go, and what was deleted at Reddit is blanked here."""

from __future__ import annotations

from datetime import datetime

from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.sources.reddit import options
from watchbook.sources.reddit.store import hot
from watchbook.sources.reddit.store.blanking import blank_posts, next_to_blank


def cleanup_expired_posts_hot(ctx: JobContext) -> Outcome:
    removed = 0
    while True:
        with ctx.writing():
            gone = hot.forget_expired(ctx.now)
        removed += gone
        if not gone:
            break
        ctx.report(removed=removed)
    return Outcome("done" if removed else "nothing_to_do", {"removed": removed})


def deletions_honored(_now: datetime) -> bool:
    return options.HONOR_DELETIONS.value


def honor_deletions(ctx: JobContext) -> Outcome:
    """Blank every post that its author deleted or somebody removed. Switched off, nothing is blanked."""
    if not options.HONOR_DELETIONS.value:
        return NOTHING_TO_DO
    posts = versions = 0
    while rows := next_to_blank():
        with ctx.writing():
            versions += blank_posts(rows, ctx.now)
        posts += len(rows)
        ctx.report(posts=posts)
    return Outcome("done" if posts else "nothing_to_do", {"posts": posts, "versions": versions})
