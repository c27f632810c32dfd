"""Executions and their locks: the list, and one with what became of each note."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from watchbook.core.ui import badges
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.paging import keyset
from watchbook.sources.notes.models import Candidate, CandidateStatus, Execution, ExecutionStatus
from watchbook.sources.notes.rules import LOCK_TIMEOUT_MINUTES
from watchbook.sources.notes.views.candidates import Line
from watchbook.sources.notes.views.head import head, named
from watchbook.sources.notes.views.words import execution_badge

PER_PAGE = 30
ITEMS_PER_PAGE = 50


@dataclass(frozen=True)
class Run:
    row: Execution

    @property
    def badge(self) -> Badge:
        return execution_badge(self.row)

    @property
    def is_running(self) -> bool:
        return self.row.status == ExecutionStatus.RUNNING

    @property
    def lock_until(self) -> datetime:
        return self.row.heartbeat_at + timedelta(minutes=LOCK_TIMEOUT_MINUTES)

    @property
    def took(self) -> timedelta | None:
        return self.row.completed_at - self.row.started_at if self.row.completed_at else None


@require_GET
def executions(request: HttpRequest) -> HttpResponse:
    page = keyset(Execution.objects.all(), request.GET, by="started_at", size=PER_PAGE)
    context = {**head(request, "executions"), "page": page, "runs": [Run(row) for row in page]}
    return render(request, "notes/executions.html", context)


@require_GET
def execution(request: HttpRequest, execution_id: str) -> HttpResponse:
    row = get_object_or_404(Execution, execution_id=named(execution_id, 100))
    mine = Candidate.objects.filter(claimed_by=row.execution_id)
    counts = dict(mine.order_by().values_list("status").annotate(n=Count("pk")))
    show = request.GET.get("show", "") if request.GET.get("show") in CandidateStatus.values else ""
    page = keyset(mine.filter(status=show) if show else mine, request.GET, size=ITEMS_PER_PAGE)
    context: dict[str, Any] = {
        **head(request, "executions"),
        "run": Run(row),
        "execution": row,
        "show": show,
        "page": page,
        "lines": [Line(one) for one in page],
        "counts": [
            (value, badges.find("candidate", value), counts[value])
            for value in CandidateStatus.values
            if counts.get(value)
        ],
        "known": sum(counts.values()),
        # Asked for again by a later execution, under which they stand now.
        "moved_on": max(row.items_claimed - sum(counts.values()), 0),
        "failed_ids": [one.note_id for one in page if one.status == CandidateStatus.FAILED],
    }
    return render(request, "notes/execution.html", context)
