"""Lists of URLs as files, streamed however long they are."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from django.http import StreamingHttpResponse
from django.utils.text import slugify

from watchbook.base.store.scratch import scratch
from watchbook.sources.sitemaps.finding import ADDED, MODIFIED, NOISE, REMOVED, Item, Wanted, items_of
from watchbook.sources.sitemaps.models import ChangeRecord, MonitorTask, SitemapSnapshot
from watchbook.sources.sitemaps.store.lists import snapshot_urls

FORMATS = {"csv": "text/csv; charset=utf-8", "json": "application/json; charset=utf-8"}
# A cell that begins so is a formula to a spreadsheet.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
ROWS_AT_ONCE = 500
CHANGE_COLUMNS = ("kind", "url", "old_lastmod", "new_lastmod")
URL_COLUMNS = ("url", "lastmod", "changefreq", "priority")


def change_file(record: ChangeRecord, wanted: Wanted, form: str) -> StreamingHttpResponse:
    """What the page shows, without its limit."""
    items = (item for item in items_of(record, wanted.kind) if _is_wanted(item, wanted))
    if form == "csv":
        rows = ((item.kind, item.url, item.old_lastmod, item.new_lastmod) for item in items)
        pieces = csv_pieces(CHANGE_COLUMNS, rows)
    else:
        pieces = _change_json(record, wanted)
    return _file(pieces, form, record.monitor_task, "changes", record.created_at)


def snapshot_file(snapshot: SitemapSnapshot, wanted: Wanted, form: str) -> StreamingHttpResponse:
    rows = _wanted_urls(snapshot, wanted)
    if form == "csv":
        pieces = csv_pieces(URL_COLUMNS, ([row[name] for name in URL_COLUMNS] for row in rows))
    else:
        pieces = _json_list(rows)
    return _file(pieces, form, snapshot.monitor_task, "urls", snapshot.created_at)


def _is_wanted(item: Item, wanted: Wanted) -> bool:
    """A file of everything has the noise as well, marked as such."""
    return (wanted.takes(item.kind) or not wanted.kind) and wanted.matches(item.url)


def _wanted_urls(snapshot: SitemapSnapshot, wanted: Wanted) -> Iterator[dict[str, Any]]:
    with scratch("urls") as folder:
        for row in snapshot_urls(snapshot, folder):
            if wanted.matches(str(row["url"])):
                yield row


class _Echo:
    """Gives back what a csv writer writes."""

    def write(self, text: str) -> str:
        return text


def csv_pieces(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    batch = [writer.writerow(columns)]
    for row in rows:
        batch.append(writer.writerow([safe_cell(value) for value in row]))
        if len(batch) == ROWS_AT_ONCE:
            yield "".join(batch)
            batch = []
    yield "".join(batch)


def safe_cell(value: object) -> str:
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def _change_json(record: ChangeRecord, wanted: Wanted) -> Iterator[str]:
    """The head of the record and its three lists, in the shapes of the API."""
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
        wants = not wanted.kind or (MODIFIED if wanted.kind == NOISE else wanted.kind) == kind
        items = items_of(record, wanted.kind or kind) if wants else iter(())
        yield from _json_list(_entry(item) for item in items if _is_wanted(item, wanted))
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


def _file(pieces: Iterator[str], form: str, monitor: MonitorTask, what: str, moment: datetime) -> StreamingHttpResponse:
    # Letters that a header cannot carry are left out; a name without any others is the host's.
    name = slugify(monitor.name)[:60] or slugify(monitor.host)[:60] or "sitemap"
    stamp = f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    answer = StreamingHttpResponse(pieces, content_type=FORMATS[form])
    answer.headers["Content-Disposition"] = f'attachment; filename="{name}-{what}-{stamp}.{form}"'
    answer.headers["Cache-Control"] = "private, no-store"
    return answer
