"""What the head of every forum page shows: the board, its last run, the next one, what runs now, open gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpRequest

from watchbook.base import clock
from watchbook.core.jobs.models import JobRun, JobSchedule, State
from watchbook.core.jobs.shown import ShownRun
from watchbook.sources.nga.actions import AUDIT, CRAWL, THREAD
from watchbook.sources.nga.finding import boards
from watchbook.sources.nga.models import CrawlRun, Forum, ThreadFloorAuditThread


def head(request: HttpRequest, tab: str, fid: int | None = None) -> dict[str, Any]:
    forums = boards()
    forum = chosen(forums, fid)
    return {
        "tab": tab,
        "forum": forum,
        "forums": forums,
        "last_run": last_run(forum),
        "next_at": next_run(CRAWL),
        "work": live_work(),
        "gap_count": ThreadFloorAuditThread.objects.open_in_newest().count(),
        "is_operator": bool(getattr(request.user, "is_staff", False)),
        "now": clock.now(),
    }


def chosen(forums: Sequence[Forum], fid: int | None) -> Forum | None:
    """The board that is asked for; without a number the first."""
    if fid is None:
        return forums[0] if forums else None
    for forum in forums:
        if forum.source_forum_id == fid:
            return forum
    raise Http404


def last_run(forum: Forum | None) -> CrawlRun | None:
    """The newest run that ended."""
    if forum is None:
        return None
    ended = CrawlRun.objects.filter(forum=forum, run_finished_at__isnull=False)
    return ended.order_by("-run_started_at", "-pk").first()


def next_run(job: str) -> Any:
    schedule = JobSchedule.objects.filter(name=job, is_enabled=True).first()
    return schedule.next_at if schedule else None


def live_work() -> ShownRun | None:
    """The crawl, audit or reading that waits or runs now. What waits for its hour is not work."""
    now = clock.now()
    rows = JobRun.objects.live().filter(name__in=(CRAWL, AUDIT, THREAD), due_at__lte=now)
    found = list(rows.select_related("requested_by").order_by("pk")[:10])
    running = [run for run in found if run.state == State.RUNNING]
    return ShownRun((running or found)[0], now) if found else None
