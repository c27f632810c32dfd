"""The day that has ended, summed up from its hours and posts."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from watchbook.base.clock import SHANGHAI
from watchbook.core.jobs.context import JobContext, Outcome
from watchbook.sources.reddit.store import days


def generate_daily(ctx: JobContext, day: str = "") -> Outcome:
    """Yesterday, or the day given as 2026-03-02. Made again it comes out the same."""
    chosen = date.fromisoformat(day) if day else ctx.now.astimezone(SHANGHAI).date() - timedelta(days=1)
    start = datetime.combine(chosen, time(0), tzinfo=SHANGHAI)
    with ctx.writing():
        row = days.store_day(chosen, start, start + timedelta(days=1))
    return Outcome("done", {"day": str(chosen), "requests": row.requests, "new_posts": row.total_new_posts})
