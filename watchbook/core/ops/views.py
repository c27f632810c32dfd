"""Operations pages for operators: figures, backups, alerts, and health.

The Health page lists every source and channel, problems first, each with what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import Count
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.base import clock
from watchbook.base.store.folder import disk_usage
from watchbook.core import health as states
from watchbook.core import registry
from watchbook.core.accounts import audit
from watchbook.core.accounts.access import person_of, staff_required
from watchbook.core.alerts.models import Alert
from watchbook.core.health import HealthItem, all_health
from watchbook.core.jobs import actions, queue
from watchbook.core.jobs.models import JobRun, State, Worker
from watchbook.core.notify.models import Delivery
from watchbook.core.notify.models import State as DeliveryState
from watchbook.core.ops import backup, options
from watchbook.core.ops.health import SEGMENTS, Group, count_segments, groups, readiness, segment_title
from watchbook.kit import badges
from watchbook.kit.badges import Badge
from watchbook.kit.paging import keyset

BACKUP_JOB = "ops.backup"


@staff_required
@require_GET
def overview(request: HttpRequest) -> HttpResponse:
    """Is everything well, and if not, what is it."""
    now = clock.now()
    checks = readiness()
    shown = {
        "now": now,
        "checks": checks,
        "is_ready": all(check.ok for check in checks),
        "workers": Worker.objects.order_by("role", "name"),
        "alive_since": now - queue.ALIVE_FOR,
        "running": JobRun.objects.filter(state=State.RUNNING).count(),
        "waiting": JobRun.objects.ready(now).count(),
        "pending": Delivery.objects.filter(state=DeliveryState.PENDING).count(),
        "alerts": Alert.objects.filter(live_slot__isnull=False).count(),
        "disk": disk_usage(),
        "sources": [(registry.source(slug), each) for slug, each in all_health().items()],
    }
    return render(request, "ops/overview.html", shown)


@staff_required
@require_GET
def backups(request: HttpRequest) -> HttpResponse:
    running = JobRun.objects.live().filter(name=BACKUP_JOB).order_by("-pk").first()
    shown = {
        "backups": backup.listed(),
        "running": running,
        "is_daily": options.BACKUP_DAILY.value,
        "keep": options.BACKUP_KEEP.value,
        "folder": backup.folder(),
        "can_run": BACKUP_JOB in registry.jobs(),
    }
    return render(request, "ops/backups.html", shown)


@staff_required
@require_POST
def back_up_now(request: HttpRequest) -> HttpResponse:
    try:
        actions.run_soon(BACKUP_JOB, user=person_of(request), request=request)
    except actions.ManualRunNotAllowed:
        raise Http404 from None
    messages.success(request, _("Backup started. It appears here after verification."))
    return redirect("ops_backups")


@staff_required
@require_GET
def download(request: HttpRequest, name: str) -> HttpResponseBase:
    """Download a backup. It contains all data, so the audit log records who downloaded it."""
    path = backup.find(name)
    if path is None:
        raise Http404
    audit.record("export.made", subject=name, request=request)
    return FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type="application/x-tar")


# Rows until the user asks for all. More than ten thousand watched things would make the page too large.
SHOWN = 50
MOST = 10_000
LONGEST_QUERY = 200


@dataclass(frozen=True)
class Row:
    """One watched thing. The explanation of several rows with the same reason is shown under the first of them."""

    item: HealthItem
    explains: bool

    @property
    def tone(self) -> str:
        """Return the tone of the box: bad, warn or off."""
        return {"bad": "bad", "warn": "warn"}.get(self.item.health.badge().tone, "off")


@dataclass(frozen=True)
class Part:
    """The rows of one source that are shown, and the counts of all its things."""

    group: Group
    rows: Sequence[Row]
    problems: Sequence[Badge]


@staff_required
@require_GET
def health_page(request: HttpRequest) -> HttpResponse:
    segment = request.GET.get("state", "")
    segment = segment if segment in SEGMENTS else ""
    query = request.GET.get("q", "")[:LONGEST_QUERY].strip()
    found = groups(person_of(request), is_whole_server=True)
    everything = [item for group in found for item in group.items]
    limit = MOST if request.GET.get("all") else SHOWN
    parts, matching = _parts(found, segment, query, limit)
    shown = sum(len(part.rows) for part in parts)
    context = {
        "now": clock.now(),
        "groups": found,
        "parts": parts,
        "segments": _segments(everything, segment),
        "segment": segment,
        "query": query,
        "total": len(everything),
        "healthy": sum(group.healthy for group in found),
        "problems": problem_badges(count_segments(everything)),
        "shown": shown,
        "matching": matching,
    }
    return render(request, "ops/health.html", context)


def _parts(found: Sequence[Group], segment: str, query: str, limit: int) -> tuple[list[Part], int]:
    """Return the parts with at most `limit` rows, sources with problems first, and how many things match."""
    matching = {group.slug: [item for item in group.items if _matches(item, segment, query)] for group in found}
    parts: list[Part] = []
    left = limit
    for group in sorted(found, key=lambda group: -states.STATES.index(group.health.state)):
        items = matching[group.slug][:left]
        left -= len(items)
        if items:
            parts.append(Part(group, _rows(items), problem_badges(group.counts)))
    return parts, sum(len(items) for items in matching.values())


def _matches(item: HealthItem, segment: str, query: str) -> bool:
    if segment and item.health.state not in SEGMENTS[segment]:
        return False
    return query.lower() in f"{item.title} {item.kind}".lower()


def _rows(items: Sequence[HealthItem]) -> list[Row]:
    rows: list[Row] = []
    known: tuple[str, str] = ("", "")
    for item in items:
        text = (item.health.reason, item.health.remedy)
        rows.append(Row(item, explains=any(text) and text != known))
        known = text
    return rows


def _segments(items: Sequence[HealthItem], chosen: str) -> list[dict[str, Any]]:
    counts = count_segments(items)
    found = [{"name": "", "title": segment_title("all"), "count": len(items)}]
    found += [
        {"name": name, "title": segment_title(name), "count": count}
        for name, count in counts.items()
        if count or name == chosen
    ]
    return found


def problem_badges(counts: dict[str, int]) -> list[Badge]:
    """Return a badge such as "3 Failing" for each segment that needs attention."""
    found = []
    for name in ("failing", "late", "incomplete"):
        if counts[name]:
            badge = badges.find("health", "error" if name == "failing" else name)
            found.append(Badge(f"{counts[name]} {segment_title(name)}", badge.tone, badge.shape))
    return found


MOST_OPEN = 200


@require_GET
def alerts(request: HttpRequest) -> HttpResponse:
    visible = Alert.objects.visible_to(person_of(request))
    open_ = list(visible.open()[:MOST_OPEN])
    sent = dict(
        Delivery.objects.filter(event_id__in=[f"alert:{alert.pk}" for alert in open_], state=DeliveryState.SENT)
        .values_list("event_id")
        .annotate(count=Count("pk"))
    )
    shown = [(alert, sent.get(f"alert:{alert.pk}", 0)) for alert in open_]
    history = keyset(visible.past(), request.GET, by="opened_at", size=30)
    return render(request, "alerts/alerts.html", {"open": shown, "page": history, "now": clock.now()})
