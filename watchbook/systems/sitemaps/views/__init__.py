"""Pages of the sitemaps system. Here: what all of them share, texts for states and dates, and the page header."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from watchbook.base import clock
from watchbook.core import url_lists
from watchbook.core.accounts.access import person_of
from watchbook.core.health import HEALTHY
from watchbook.core.jobs.models import JobRun
from watchbook.kit import badges, formatting
from watchbook.systems.sitemaps.health import monitor_health
from watchbook.systems.sitemaps.jobs.check import CHECK_JOB
from watchbook.systems.sitemaps.models import ChangeRecord, ChangeType, MonitorTask, SitemapSnapshot, Status
from watchbook.systems.sitemaps.records import note_text

KINDS = {
    "urlset": gettext_lazy("Sitemap"),
    "index": gettext_lazy("Sitemap index"),
    "text": gettext_lazy("Text list"),
    "rss": gettext_lazy("RSS feed"),
    "atom": gettext_lazy("Atom feed"),
    "rdf": gettext_lazy("RDF feed"),
}
OUTCOMES = {
    "ok": pgettext_lazy("file", "read"),
    "not_modified": pgettext_lazy("file", "unchanged"),
    "incomplete": pgettext_lazy("file", "incomplete"),
    "over-limit": pgettext_lazy("file", "too large"),
    "failed": pgettext_lazy("file", "not read"),
    "carried": pgettext_lazy("file", "carried over"),
    "left_index": pgettext_lazy("file", "removed from index"),
}


def kind_text(kind: str) -> str:
    return str(KINDS.get(kind, kind))


def outcome_text(outcome: str) -> str:
    return str(OUTCOMES.get(outcome, outcome))


def monitor_badges(monitor: MonitorTask) -> list[badges.Badge]:
    """Return the badges of a monitor: its state and, if relevant, the result of the last check."""
    found = [badges.find("monitor", monitor.status)]
    state = monitor_health(monitor, clock.now())
    if monitor.status == Status.ACTIVE and state.state != HEALTHY:
        found.append(state.badge())
    return found


@dataclass
class GroupedNote:
    """One problem with the files that have it."""

    text: str
    parts: list[str] = field(default_factory=list)
    more: int = 0


PARTS_NAMED = 3


def group_notes(notes: Iterable[Mapping[str, Any]]) -> list[GroupedNote]:
    """Group notes by their text and collect the first files of each."""
    found: dict[str, GroupedNote] = {}
    for note in notes:
        grouped = found.setdefault(text := note_text(note), GroupedNote(text))
        part = str(note.get("part", ""))
        if part and len(grouped.parts) < PARTS_NAMED:
            grouped.parts.append(part)
        elif part:
            grouped.more += 1
    return list(found.values())


def requests_text(count: int) -> str:
    return ngettext("%(n)s request", "%(n)s requests", count) % {"n": formatting.number_text(count)}


def urls_text(count: int) -> str:
    return ngettext("%(n)s URL", "%(n)s URLs", count) % {"n": formatting.number_text(count)}


def span_of(days: tuple[date, date]) -> str:
    first, last = (formatting.day_text(day) for day in days)
    return first if first == last else _("%(first)s to %(last)s") % {"first": first, "last": last}


# Columns that may hold a thousand entries, and are shown on the page of one change or snapshot only.
LONG_COLUMNS = ("changes", "extras", "notes")


def own_monitors(request: HttpRequest) -> QuerySet[MonitorTask]:
    heads = MonitorTask.objects.of(person_of(request)).select_related("current_snapshot", "user")
    return heads.defer("current_snapshot__urls", "current_snapshot__notes")


def own_monitor(request: HttpRequest, monitor_id: UUID) -> MonitorTask:
    """Return the user's monitor with `change_count`, which all tabs show."""
    changed = ChangeRecord.objects.filter(monitor_task=OuterRef("pk"), change_type=ChangeType.CHANGED)
    counted = changed.order_by().values("monitor_task").annotate(number=Count("pk")).values("number")
    rows = own_monitors(request).annotate(change_count=Coalesce(Subquery(counted), 0))
    return get_object_or_404(rows, pk=monitor_id)


def own_change(request: HttpRequest, change_id: UUID) -> ChangeRecord:
    rows = ChangeRecord.objects.filter(monitor_task__in=MonitorTask.objects.of(person_of(request)))
    return get_object_or_404(with_snapshots(rows), pk=change_id)


def with_snapshots(records: QuerySet[ChangeRecord]) -> QuerySet[ChangeRecord]:
    """Add monitor and snapshots to change records, without their lists."""
    heads = records.select_related("monitor_task", "old_snapshot", "new_snapshot")
    return heads.defer("old_snapshot__urls", "new_snapshot__urls", "old_snapshot__notes", "new_snapshot__notes")


def own_snapshot(request: HttpRequest, snapshot_id: UUID) -> SitemapSnapshot:
    rows = SitemapSnapshot.objects.filter(monitor_task__in=MonitorTask.objects.of(person_of(request)))
    return get_object_or_404(rows.select_related("monitor_task"), pk=snapshot_id)


def live_run(monitor_id: UUID) -> JobRun | None:
    """Return the queued or running check. Call it before reading the monitor, which a check may change."""
    waiting = JobRun.objects.live().filter(name=CHECK_JOB)
    # A run that the schedule or a person asked for names the monitor in its key; one of a command in its arguments.
    mine = waiting.filter(Q(key__startswith=f"{CHECK_JOB}:{monitor_id}@") | Q(args__monitor_id=str(monitor_id)))
    return mine.order_by("-state", "pk").first()


def header_context(monitor: MonitorTask) -> dict[str, Any]:
    return {
        "monitor": monitor,
        "state": monitor_health(monitor, clock.now()),
        "badges": monitor_badges(monitor),
        "interval_seconds": monitor.check_interval_minutes * 60,
        "kind": kind_text(monitor.kind),
        "list_tabs": url_lists.tabs(monitor.user, f"sitemaps:{monitor.pk}"),
    }
