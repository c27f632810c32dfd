"""What each run did: the list, one run with every counter, and what it did to each topic."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.core.ui import badges
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.paging import keyset
from watchbook.sources.nga.counting import FAILED, NOTHING, run_sums
from watchbook.sources.nga.models import CrawlRun, CrawlRunThread, Thread
from watchbook.sources.nga.views.head import head, live_work
from watchbook.sources.nga.views.paging import stretch
from watchbook.sources.nga.views.words import outcome_badge, own_title, trigger_text, trouble_text

PER_PAGE = 30
TOPICS_PER_PAGE = 50
SHOWN = ("changed", "failed", "new")


@dataclass(frozen=True)
class Run:
    """A run and what its topics add up to."""

    run: CrawlRun
    sums: dict[str, int]

    @property
    def badge(self) -> Badge:
        if self.run.run_finished_at is None:
            # A run that was cut off is taken up by the next one; its row keeps no end.
            is_fresh = clock.now() - self.run.run_started_at < timedelta(hours=1)
            return badges.find("job", "running" if is_fresh else "recovered")
        return badges.find("job", "partly" if self.sums["failed"] else "done")

    @property
    def trigger(self) -> str:
        return trigger_text(self.run.run_trigger_text)

    @property
    def took(self) -> timedelta | None:
        return self.run.run_finished_at - self.run.run_started_at if self.run.run_finished_at else None


@dataclass(frozen=True)
class Line:
    """What a run did to one topic."""

    row: CrawlRunThread
    title: str
    badge: Badge
    trouble: str


@require_GET
def runs(request: HttpRequest) -> HttpResponse:
    shown = head(request, "runs")
    page = keyset(CrawlRun.objects.select_related("forum"), request.GET, by="run_started_at", size=PER_PAGE)
    sums = run_sums([run.pk for run in page])
    rows = [Run(run, sums.get(run.pk, NOTHING)) for run in page]
    return render(request, "nga/runs.html", {**shown, "page": page, "runs": rows})


@require_GET
def run(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(CrawlRun.objects.select_related("forum"), pk=pk)
    wanted = request.GET.get("show", "") if request.GET.get("show") in SHOWN else ""
    rows = CrawlRunThread.objects.filter(crawl_run=found)
    rows = rows.prefetch_related(Prefetch("thread", Thread.objects.with_mirrors()))
    page = stretch(_narrowed(rows, wanted), request.GET, size=TOPICS_PER_PAGE)
    context: dict[str, Any] = {
        **head(request, "runs", found.forum.source_forum_id),
        "run": Run(found, run_sums([found.pk]).get(found.pk, NOTHING)),
        "show": wanted,
        "page": page,
        "lines": [_line(row) for row in page],
    }
    return render(request, "nga/run.html", context)


def _narrowed(rows: Any, wanted: str) -> Any:
    if wanted == "failed":
        return rows.filter(FAILED)
    if wanted == "new":
        return rows.filter(new_post_count__gt=0)
    return rows.filter(change_detected_by_last_reply_at=True) if wanted == "changed" else rows


def _line(row: CrawlRunThread) -> Line:
    return Line(row, own_title(row.thread), outcome_badge(row), trouble_text(row.error_summary))


@require_GET
def live(request: HttpRequest) -> HttpResponse:
    """The crawl or audit that goes on, swapped every two seconds; the page is loaded anew when it has ended."""
    if not getattr(request, "htmx", False):
        return redirect("nga:runs")
    work = live_work()
    if work is None:
        return HttpResponse(headers={"HX-Refresh": "true"})
    is_operator = bool(getattr(request.user, "is_staff", False))
    return render(request, "nga/_work.html", {"work": work, "now": clock.now(), "is_operator": is_operator})
