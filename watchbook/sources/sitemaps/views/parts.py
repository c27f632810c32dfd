"""The files a sitemap is read from, what had to be repaired in them, and how far their dates can be believed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, Q, Value, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.base.store.scratch import scratch
from watchbook.sources.sitemaps.compare import LastmodFacts, count_lastmods, lastmod_honesty
from watchbook.sources.sitemaps.models import ChangeRecord, ChangeType, MonitorTask, SitemapPart, SitemapSnapshot
from watchbook.sources.sitemaps.parse.records import INDEX
from watchbook.sources.sitemaps.records import READ_WHOLE
from watchbook.sources.sitemaps.store.lists import snapshot_urls
from watchbook.sources.sitemaps.views.head import head
from watchbook.sources.sitemaps.views.own import own_monitor
from watchbook.sources.sitemaps.views.words import FAILED, gather, kind_text, outcome_text

SHOWN = 200
# Dates are judged by the first of them; more would say the same and take longer.
DATES_LOOKED_AT, PARTS_LOOKED_AT = 20_000, 5
RECORDS_LOOKED_AT, LOOK_BACK = 500, timedelta(days=30)
IN_TROUBLE = ~Q(outcome__in=READ_WHOLE) | Q(missing_since__isnull=False)


@dataclass(frozen=True)
class Part:
    """A file as a line of the table."""

    url: str
    kind: str
    is_index: bool
    count: int
    outcome: str
    is_read: bool
    read_at: datetime | None
    fail_count: int
    missing_since: datetime | None


@dataclass(frozen=True)
class Honesty:
    """A score from 0 to 100, and what it rests on."""

    score: int
    facts: LastmodFacts


@require_GET
def parts(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    found = own_monitor(request, monitor_id)
    rows = SitemapPart.objects.filter(monitor_task=found)
    # A check that failed as a whole asked for no file but the first; the rows still say how the one before went.
    is_failing = found.health in FAILED
    counts = rows.aggregate(
        total=Count("pk"),
        trouble=Count("pk", filter=IN_TROUBLE),
        indexes=Count("pk", filter=Q(summary__kind=INDEX)),
    )
    snapshot = (
        SitemapSnapshot.objects.filter(pk=found.current_snapshot_id).first() if found.current_snapshot_id else None
    )
    context = {
        **head(found),
        "tab": "parts",
        "counts": counts | ({"trouble": counts["total"]} if is_failing else {}),
        "parts": _parts(rows, is_failing=is_failing),
        "snapshot": snapshot,
        "notes": gather(snapshot.notes) if snapshot else [],
        "honesty": _honesty(found, snapshot, clock.now()) if snapshot else None,
        "now": clock.now(),
    }
    return render(request, "sitemaps/parts.html", context)


def _parts(rows: Any, *, is_failing: bool) -> list[Part]:
    """Those in trouble first. Only what is shown is read: an index names tens of thousands of children."""
    trouble = Case(When(IN_TROUBLE, then=Value(0)), default=Value(1))
    names = ("url", "summary__kind", "summary__count", "outcome", "read_at", "fail_count", "missing_since")
    found = rows.order_by(trouble, "position", "pk").values_list(*names)[:SHOWN]
    return [
        Part(
            url=url,
            kind=kind_text(kind or ""),
            is_index=kind == INDEX,
            count=count or 0,
            outcome=_outcome("failed" if is_failing else outcome, missing_since),
            is_read=outcome in READ_WHOLE and not is_failing,
            read_at=read_at,
            fail_count=fail_count,
            missing_since=missing_since,
        )
        for url, kind, count, outcome, read_at, fail_count, missing_since in found
    ]


def _outcome(outcome: str, missing_since: datetime | None) -> str:
    return outcome_text("left_index" if missing_since else outcome)


def _honesty(monitor: MonitorTask, snapshot: SitemapSnapshot, now: datetime) -> Honesty | None:
    with scratch("dates") as folder:
        sample = SitemapSnapshot(urls=snapshot.urls, parts=snapshot.parts[:PARTS_LOOKED_AT])
        rows = islice(snapshot_urls(sample, folder), DATES_LOOKED_AT)
        facts = count_lastmods((row["lastmod"] or "" for row in rows), now=now)
    late = ChangeRecord.objects.filter(
        monitor_task=monitor, change_type=ChangeType.CHANGED, created_at__gte=now - LOOK_BACK
    ).order_by("-created_at")
    changed = list(late.values_list("modified_count", "noisy_count", "extras__restamp__count")[:RECORDS_LOOKED_AT])
    facts = replace(
        facts,
        modified=sum(modified for modified, _noisy, _stamped in changed),
        always_changing=sum(noisy for _modified, noisy, _stamped in changed),
        restamped=sum(stamped or 0 for _modified, _noisy, stamped in changed),
    )
    score = lastmod_honesty(facts)
    return None if score is None else Honesty(score, facts)
