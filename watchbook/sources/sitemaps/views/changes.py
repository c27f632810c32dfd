"""The changes of a monitor, one change with its URLs, and the same as files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.core.notify.models import Delivery
from watchbook.core.ui.paging import keyset
from watchbook.sources.sitemaps.compare import Rename, pair_renames
from watchbook.sources.sitemaps.finding import (
    ADDED,
    MODIFIED,
    NOISE,
    REMOVED,
    Found,
    Item,
    Wanted,
    counts_of,
    find,
    items_of,
)
from watchbook.sources.sitemaps.models import ChangeRecord, MonitorTask, MonitorTaskChannel
from watchbook.sources.sitemaps.views import downloads
from watchbook.sources.sitemaps.views.head import head
from watchbook.sources.sitemaps.views.lines import by_day, change_line, changes_of, checks_of, lines_of
from watchbook.sources.sitemaps.views.own import own_change, own_monitor
from watchbook.sources.sitemaps.views.words import gather, lastmod_text

PER_PAGE = 50
CHECKS_PER_PAGE = 100
# Pairs are looked for where reading both lists costs little.
PAIRED_TOTAL, PAIRS_SHOWN = 20_000, 20
MINOR_SHOWN = 50


@require_GET
def changes(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    """What changed, newest first; or every check, also those that found nothing."""
    found = own_monitor(request, monitor_id)
    show = "checks" if request.GET.get("show") == "checks" else ""
    context = {**head(found), "tab": "changes", "show": show, "now": clock.now()}
    if show:
        page = keyset(checks_of(found), request.GET, by="created_at", size=CHECKS_PER_PAGE)
        lines = lines_of(page.items)
        context |= {"page": page, "days": by_day(lines)}
    else:
        records = keyset(changes_of(found), request.GET, by="created_at", size=PER_PAGE)
        told = [change_line(record, record.told) for record in records]  # type: ignore[attr-defined]
        context |= {"page": records, "days": by_day(told)}
    return render(request, "sitemaps/changes.html", context)


@require_GET
def change(request: HttpRequest, change_id: UUID) -> HttpResponse:
    record = own_change(request, change_id)
    wanted = Wanted.of(request.GET)
    if not wanted.kind and not counts_of(record)[""] and record.noisy_count:
        wanted = Wanted(NOISE, wanted.text, wanted.words)
    context = {
        **head(record.monitor_task),
        **detail(record, find(record, wanted), wanted),
        "renames": _renames(record) if not wanted.kind and not wanted.words else [],
        "notes": gather(record.notes),
        "minor": record.extras.get("minor", [])[:MINOR_SHOWN],
        "now": clock.now(),
    }
    return render(request, "sitemaps/change.html", context)


@require_GET
def change_file(request: HttpRequest, change_id: UUID, form: str) -> HttpResponseBase:
    if form not in downloads.FORMATS:
        raise Http404
    return downloads.change_file(own_change(request, change_id), Wanted.of(request.GET), form)


@dataclass(frozen=True)
class Shown:
    """A changed URL with everything that its line says."""

    css: str
    sign: str
    label: str
    url: str
    lastmod: str = ""
    old: str = ""
    new: str = ""
    raw: str = ""


def detail(record: ChangeRecord, found: Found, wanted: Wanted | None = None) -> dict[str, Any]:
    """One change as both its own page and the page of its monitor show it."""
    counts = counts_of(record)
    deliveries = list(deliveries_of(record))
    return {
        "record": record,
        "wanted": wanted or Wanted(),
        "found": found,
        "shown": [_shown(item) for item in found.items],
        "counts": counts,
        "kinds": _kinds(counts),
        "part_count": len(record.new_snapshot.parts),
        "is_confirmed": any(note["code"] == "confirmed_in_2_checks" for note in record.notes),
        "restamp": record.extras.get("restamp"),
        "deliveries": deliveries,
        "only_removals": not counts[ADDED] and not counts[MODIFIED],
        "had_channels": not deliveries and _had_channels(record),
    }


def _had_channels(record: ChangeRecord) -> bool:
    """Channels were chosen when it was found: that none was told means that they were off."""
    return MonitorTaskChannel.objects.filter(
        monitor_task=record.monitor_task_id, created_at__lte=record.created_at
    ).exists()


def _kinds(counts: dict[str, int]) -> list[tuple[str, str, int]]:
    """The filters: kind, title, how many. Noise stands there only when there is some."""
    titles = {"": _("All"), ADDED: _("Added"), REMOVED: _("Removed"), MODIFIED: _("Modified"), NOISE: _("Noise")}
    return [(kind, title, counts[kind]) for kind, title in titles.items() if kind != NOISE or counts[NOISE]]


def _shown(item: Item) -> Shown:
    if item.kind == ADDED:
        raw = item.new_lastmod or ""
        return Shown("is-add", "+", _("added"), item.url, lastmod=lastmod_text(raw) if raw else "", raw=raw)
    if item.kind == REMOVED:
        return Shown("is-del", "−", _("removed"), item.url)
    return Shown(
        "is-mod",
        "~",
        _("modified"),
        item.url,
        old=lastmod_text(item.old_lastmod),
        new=lastmod_text(item.new_lastmod),
        raw=f"{item.old_lastmod or '–'} → {item.new_lastmod or '–'}",
    )


def _renames(record: ChangeRecord) -> list[Rename]:
    """Pages that left and came under another address in the same check, as far as their names tell."""
    if not (record.added_count and record.removed_count) or counts_of(record)[""] > PAIRED_TOTAL:
        return []
    removed = (item.url for item in items_of(record, REMOVED))
    added = (item.url for item in items_of(record, ADDED))
    return pair_renames(removed, added)[:PAIRS_SHOWN]


def deliveries_of(record: ChangeRecord) -> QuerySet[Delivery]:
    """What was told of a change, to its owner's channels."""
    monitor: MonitorTask = record.monitor_task
    rows = Delivery.objects.filter(event_id=f"sitemaps.change:{record.pk}", channel__user_id=monitor.user_id)
    return rows.select_related("channel").defer("payload", "html", "text", "last_body").order_by("pk")
