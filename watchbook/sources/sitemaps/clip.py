"""A change as something to file in the library: its counts and its first URLs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils.html import format_html, format_html_join

from watchbook.core.stream.clip import Clip
from watchbook.sources.sitemaps.finding import SIGNS, Wanted, counts_text, find
from watchbook.sources.sitemaps.models import ChangeRecord, MonitorTask

KIND = "sitemap_change"
URLS = 200


def clip(kind: str, object_id: str, user: Any) -> Clip | None:
    """None for other kinds, for what is not there, and for what belongs to somebody else."""
    record = _record(object_id, user) if kind == KIND else None
    if record is None:
        return None
    monitor: MonitorTask = record.monitor_task
    counts, found = counts_text(record), find(record, Wanted(), URLS)
    lines = [(SIGNS[item.kind], item.url) for item in found.items]
    return Clip(
        kind=KIND,
        id=str(record.pk),
        source="sitemaps",
        title=f"{monitor.name}: {counts}",
        html=format_html("<p>{}</p><ul>{}</ul>", counts, format_html_join("", "<li>{} {}</li>", lines)),
        text="\n".join([counts, *(f"{sign} {url}" for sign, url in lines)]),
        source_link=monitor.sitemap_url,
        source_at=record.created_at,
        version=str(record.new_snapshot_id),
    )


def _record(object_id: str, user: Any) -> ChangeRecord | None:
    try:
        wanted = UUID(object_id)
    except ValueError:
        return None
    own = ChangeRecord.objects.filter(monitor_task__in=MonitorTask.objects.of(user))
    return own.select_related("monitor_task").filter(pk=wanted).first()
