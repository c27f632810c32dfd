"""Pages of changes: the list of a monitor, one change with its URLs, downloads as streamed CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from operator import itemgetter
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from watchbook.base import clock
from watchbook.base.store.blobs import BlobMissing
from watchbook.base.store.folder import scratch
from watchbook.core.accounts.access import safe_next
from watchbook.core.accounts.audit import export, export_table
from watchbook.core.notify.models import Delivery
from watchbook.kit.lists import exports
from watchbook.kit.lists.shown import FORMAT_TITLES, Total
from watchbook.kit.paging import keyset
from watchbook.systems.sitemaps.compare import Rename, pair_renames
from watchbook.systems.sitemaps.filters import (
    ADDED,
    MODIFIED,
    NOISE,
    REMOVED,
    URLS,
    Filters,
    Found,
    Item,
    changes_and_baselines,
    compare_snapshots,
    compared_items,
    counts_of,
    find,
    in_order,
    items_of,
)
from watchbook.systems.sitemaps.models import ChangeRecord, MonitorTask, MonitorTaskChannel, SitemapSnapshot
from watchbook.systems.sitemaps.records import lastmod_text
from watchbook.systems.sitemaps.store.lists import snapshot_urls
from watchbook.systems.sitemaps.views import (
    group_notes,
    header_context,
    own_change,
    own_monitor,
    own_snapshot,
)
from watchbook.systems.sitemaps.views.log import by_day, change_entry, changes_of, checks_of, delivery_texts, entries_of

CHECKS_PER_PAGE = 100
# Renamed pages are searched only in short lists, where reading both costs little.
PAIRED_TOTAL, PAIRS_SHOWN = 20_000, 20
MINOR_SHOWN = 50


@require_GET
def changes(request: HttpRequest, monitor_id: UUID) -> HttpResponseBase:
    """List the changes of a monitor, or all its checks, newest first."""
    found = own_monitor(request, monitor_id)
    show = "checks" if request.GET.get("show") == "checks" else ""
    context = {**header_context(found), "tab": "changes", "show": show, "now": clock.now()}
    if show:
        page = keyset(checks_of(found), request.GET, by="created_at", size=CHECKS_PER_PAGE)
        context |= {"page": page, "days": by_day(entries_of(page.items))}
    else:
        listing = changes_and_baselines(found).show(changes_of(found), request.GET)
        if file := export(request, listing):
            return file
        entries = [change_entry(record) for record in listing.page]
        context |= {"listing": listing, "page": listing.page, "days": by_day(entries)}
    return render(request, "sitemaps/changes.html", context)


@require_GET
def change(request: HttpRequest, change_id: UUID) -> HttpResponse:
    record = own_change(request, change_id)
    filters = Filters.of(request.GET)
    if not filters.kind and not counts_of(record)[""] and record.noisy_count:
        filters = replace(filters, kind=NOISE)
    found = find(record, filters)
    listing = URLS.show_held((), request.GET, keep=("kind",))
    listing.total = Total(found.matched, is_more=not found.is_whole)
    context = {
        **header_context(record.monitor_task),
        **detail(record, found, filters),
        "kinds": _kinds(counts_of(record), listing.query()),
        "listing": listing,
        "can_choose": True,
        "formats": FORMAT_TITLES.items(),
        "renames": _renames(record) if not filters.kind and not filters.is_searched else [],
        "notes": group_notes(record.notes),
        "minor": record.extras.get("minor", [])[:MINOR_SHOWN],
        "now": clock.now(),
    }
    return render(request, "sitemaps/change.html", context)


@require_http_methods(["GET", "POST"])
def change_file(request: HttpRequest, change_id: UUID, form: str) -> HttpResponseBase:
    """The list as it is filtered and ordered; by POST the selected URLs of it alone."""
    if form not in FORMATS:
        raise Http404
    record = own_change(request, change_id)
    if refused := nothing_selected(request, reverse("sitemaps:change", args=[record.pk])):
        return refused
    return stream_changes(record, Filters.of(request.GET, request.POST.getlist("url")), form)


def nothing_selected(request: HttpRequest, target: str) -> HttpResponse | None:
    if request.method != "POST" or request.POST.getlist("url"):
        return None
    messages.warning(request, _("Select at least one row."))
    return redirect(safe_next(request, None, target))


@dataclass(frozen=True)
class Shown:
    """A changed URL as shown in a list."""

    css: str
    sign: str
    label: str
    url: str
    lastmod: str = ""
    old: str = ""
    new: str = ""
    raw: str = ""


def detail(record: ChangeRecord, found: Found, filters: Filters | None = None) -> dict[str, Any]:
    """Return the context of one change, for its own page and for the page of its monitor."""
    counts = counts_of(record)
    deliveries = list(deliveries_of(record))
    return {
        "record": record,
        "filters": filters or Filters(),
        "found": found,
        "shown": [_shown(item) for item in found.items],
        "counts": counts,
        "kinds": _kinds(counts, _words_query(filters)),
        "part_count": len(record.new_snapshot.parts),
        "is_confirmed": any(note["code"] == "confirmed_in_2_checks" for note in record.notes),
        "restamp": record.extras.get("restamp"),
        "deliveries": deliveries,
        "delivery_texts": delivery_texts(record),
        "is_muted": _is_muted(record, counts),
        "had_channels": not deliveries and _had_channels(record),
    }


def _is_muted(record: ChangeRecord, counts: dict[str, int]) -> bool:
    """Whether the monitor notifies about none of the kinds of this change."""
    monitor = record.monitor_task
    kinds = {ADDED: monitor.tell_added, MODIFIED: monitor.tell_modified, REMOVED: monitor.tell_removals}
    return not any(counts[name] and is_on for name, is_on in kinds.items())


def _had_channels(record: ChangeRecord) -> bool:
    """Whether channels were selected when the change was found. If none was notified, they were disabled."""
    return MonitorTaskChannel.objects.filter(
        monitor_task=record.monitor_task_id, created_at__lte=record.created_at
    ).exists()


def _kinds(counts: dict[str, int], query: str) -> list[tuple[str, str, int, str]]:
    """Return the filters: kind, title, count and query. Frequently changing appears only if there are some."""
    titles = {
        "": _("All"),
        ADDED: _("Added"),
        REMOVED: _("Removed"),
        MODIFIED: _("Modified"),
        NOISE: _("Frequently changing"),
    }
    return [
        (kind, title, counts[kind], _query(query, kind))
        for kind, title in titles.items()
        if kind != NOISE or counts[NOISE]
    ]


def _words_query(filters: Filters | None) -> str:
    return f"?{urlencode({'q': filters.text})}" if filters and filters.text else ""


def _query(query: str, kind: str) -> str:
    given = QueryDict(query.removeprefix("?"), mutable=True)
    given.pop("kind", None)
    if kind:
        given["kind"] = kind
    return f"?{given.urlencode()}" if given else ""


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
    """Return removed and added URLs with similar names in the same check."""
    if not (record.added_count and record.removed_count) or counts_of(record)[""] > PAIRED_TOTAL:
        return []
    removed = (item.url for item in items_of(record, REMOVED))
    added = (item.url for item in items_of(record, ADDED))
    return pair_renames(removed, added)[:PAIRS_SHOWN]


def deliveries_of(record: ChangeRecord) -> QuerySet[Delivery]:
    """Return the deliveries of a change to its owner's channels."""
    monitor: MonitorTask = record.monitor_task
    rows = Delivery.objects.filter(event_id=f"sitemaps.change:{record.pk}", channel__user_id=monitor.user_id)
    return rows.select_related("channel").defer("payload", "html", "text", "last_body").order_by("pk")


# The lists of URLs are files at their own addresses; as JSON they are one document.
FORMATS = {**exports.FORMATS, "json": "application/json; charset=utf-8"}
ROWS_AT_ONCE = 500
CHANGE_COLUMNS = tuple(exports.Column(name) for name in ("kind", "url", "old_lastmod", "new_lastmod"))
ITEM_COLUMNS = tuple(exports.Column(name, itemgetter(name)) for name in ("kind", "url", "old_lastmod", "new_lastmod"))
URL_COLUMNS = tuple(exports.Column(name, itemgetter(name)) for name in ("url", "lastmod", "changefreq", "priority"))


def stream_changes(record: ChangeRecord, filters: Filters, form: str) -> StreamingHttpResponse:
    """Return the filtered URLs of a change as a file, without the limit of the page."""
    name = _file_name(record.monitor_task, "changes")
    if form == "json":
        return _json_file(_change_json(record, filters), name, record.created_at)
    items = (asdict(item) for item in items_of(record, filters.kind) if _matches(item, filters))
    rows = in_order(items, lambda row: row["new_lastmod"] or row["old_lastmod"], filters)
    return exports.respond(exports.Table(name, ITEM_COLUMNS, rows), form, record.created_at)


def snapshot_file(snapshot: SitemapSnapshot, filters: Filters, form: str) -> StreamingHttpResponse:
    rows = in_order(_matching_urls(snapshot, filters), itemgetter("lastmod"), filters)
    name = _file_name(snapshot.monitor_task, "urls")
    if form == "json":
        return _json_file(_json_list(rows), name, snapshot.created_at)
    return exports.respond(exports.Table(name, URL_COLUMNS, rows), form, snapshot.created_at)


@require_GET
def compare(request: HttpRequest, old_id: UUID, new_id: UUID) -> HttpResponseBase:
    """The difference of any two snapshots, as a page or as a file."""
    old, new = own_snapshot(request, old_id), own_snapshot(request, new_id)
    filters = Filters.of(request.GET)
    form = request.GET.get("format", "")
    if form in exports.FORMATS:
        name = _file_name(new.monitor_task, "difference")
        table = exports.Table(name, CHANGE_COLUMNS, compared_items(old, new, filters))
        return export_table(request, table, form, new.created_at)
    try:
        found = compare_snapshots(old, new, filters)
    except BlobMissing:
        messages.error(request, _("A stored list of these snapshots was lost. They cannot be compared."))
        return redirect("sitemaps:snapshots", new.monitor_task_id)
    counts = found.counts | {"": sum(found.counts.values()), NOISE: 0}
    context = {
        **header_context(new.monitor_task),
        "old": old,
        "new": new,
        "filters": filters,
        "found": found,
        "shown": [_shown(item) for item in found.items],
        "more": found.matched - len(found.items),
        "kinds": _kinds(counts, _words_query(filters)),
        "formats": FORMAT_TITLES.items(),
    }
    return render(request, "sitemaps/compare.html", context)


@require_GET
def choose(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    """Lead from two chosen snapshots of a monitor to their difference."""
    found = own_monitor(request, monitor_id)
    try:
        old, new = UUID(request.GET.get("old", "")), UUID(request.GET.get("new", ""))
    except ValueError:
        messages.error(request, _("Choose two snapshots."))
        return redirect("sitemaps:snapshots", found.pk)
    return redirect("sitemaps:compare", old, new)


def _matches(item: Item, filters: Filters) -> bool:
    """Whether an item belongs to the file. A file of all kinds includes frequently changing URLs."""
    return (filters.takes(item.kind) or not filters.kind) and filters.takes_row(item.url, item.lastmod)


def _matching_urls(snapshot: SitemapSnapshot, filters: Filters) -> Iterator[dict[str, Any]]:
    with scratch("urls") as folder:
        for row in snapshot_urls(snapshot, folder):
            if filters.takes_row(str(row["url"]), row["lastmod"]):
                yield row


def _change_json(record: ChangeRecord, filters: Filters) -> Iterator[str]:
    """Yield the record and its three lists as JSON."""
    head = {
        "id": str(record.pk),
        "monitor_task_id": str(record.monitor_task_id),
        "sitemap_url": record.monitor_task.sitemap_url,
        "created_at": record.created_at.isoformat(),
        "change_type": record.change_type,
        "added_count": record.added_count,
        "removed_count": record.removed_count,
        "modified_count": record.modified_count,
        "noisy_count": record.noisy_count,
    }
    yield json.dumps(head, ensure_ascii=False)[:-1] + ', "changes": {'
    for number, kind in enumerate((ADDED, REMOVED, MODIFIED)):
        yield f'{", " if number else ""}"{kind}": '
        wants = not filters.kind or (MODIFIED if filters.kind == NOISE else filters.kind) == kind
        items = items_of(record, filters.kind or kind) if wants else iter(())
        yield from _json_list(_entry(item) for item in items if _matches(item, filters))
    yield "}}"


def _entry(item: Item) -> dict[str, str | None]:
    if item.kind == ADDED:
        return {"url": item.url, "lastmod": item.new_lastmod}
    if item.kind == REMOVED:
        return {"url": item.url}
    return {"url": item.url, "old_lastmod": item.old_lastmod, "new_lastmod": item.new_lastmod}


def _json_list(entries: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield "["
    batch: list[str] = []
    mark = ""
    for entry in entries:
        batch.append(json.dumps(entry, ensure_ascii=False))
        if len(batch) == ROWS_AT_ONCE:
            yield mark + ",\n".join(batch)
            batch, mark = [], ",\n"
    yield (mark + ",\n".join(batch) if batch else "") + "]"


def _file_name(monitor: MonitorTask, what: str) -> str:
    return f"{slugify(monitor.name)[:60] or slugify(monitor.host)[:60] or 'sitemap'}-{what}"


def _json_file(pieces: Iterator[str], name: str, moment: datetime) -> StreamingHttpResponse:
    answer = StreamingHttpResponse(pieces, content_type=FORMATS["json"])
    answer.headers["Content-Disposition"] = f'attachment; filename="{exports.file_name(name, "json", moment)}"'
    answer.headers["Cache-Control"] = "private, no-store"
    return answer
