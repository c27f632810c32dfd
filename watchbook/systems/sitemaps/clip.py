"""A change as a library page: its counts and its first URLs."""

from __future__ import annotations

from uuid import UUID

from django.utils.html import format_html, format_html_join

from watchbook.core.accounts.models import User
from watchbook.core.stream.clip import Address, Clip
from watchbook.systems.sitemaps.filters import SIGNS, Filters, counts_text, find
from watchbook.systems.sitemaps.models import ChangeRecord, MonitorTask

KIND = "sitemap_change"
URLS = 200


def clip(kind: str, object_id: str, user: User) -> Clip | None:
    """Return the clip of a change, or None if it is unknown or belongs to another user."""
    record = _record(object_id, user) if kind == KIND else None
    if record is None:
        return None
    monitor: MonitorTask = record.monitor_task
    counts, found = counts_text(record), find(record, Filters(), URLS)
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


def _record(object_id: str, user: User) -> ChangeRecord | None:
    try:
        filters = UUID(object_id)
    except ValueError:
        return None
    own = ChangeRecord.objects.filter(monitor_task__in=MonitorTask.objects.of(user))
    return own.select_related("monitor_task").filter(pk=filters).first()


def address(asked: Address) -> tuple[str, str] | None:
    """Return the change that an address shows."""
    return (KIND, str(asked.values["change_id"])) if asked.name == "change" else None
