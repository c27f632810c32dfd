"""The stream for programs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from ninja import Query, Router, Schema

from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.api.paging import PageQuery, keyset
from watchbook.core.search.find import bounded
from watchbook.core.stream.models import StreamEntry

router = Router()


class EntryOut(Schema):
    id: int
    source: str
    kind: str
    title: str
    summary: str
    url: str
    object_kind: str
    object_id: str
    occurred_at: datetime
    data: dict[str, Any]


class EntryPage(Schema):
    items: list[EntryOut]
    next: str | None


class StreamQuery(PageQuery):
    """What happened, newest first: of a system, of a kind, from a moment on, before a moment."""

    source: str = ""
    kind: str = ""
    since: datetime | None = None
    until: datetime | None = None


@router.get("/stream", response=EntryPage)
def list_stream(request: HttpRequest, page: Query[StreamQuery]) -> Any:
    """What changed lately in everything you may see, newest first."""
    rows = StreamEntry.objects.visible_to(viewer_scopes(request.user))
    if page.source:
        rows = rows.filter(source=page.source)
    if page.kind:
        rows = rows.filter(kind=page.kind)
    if since := bounded(page.since):
        rows = rows.filter(occurred_at__gte=since)
    if until := bounded(page.until):
        rows = rows.filter(occurred_at__lt=until)
    return keyset(rows, page, by="-occurred_at", make=entry_out)


def entry_out(entry: StreamEntry) -> dict[str, Any]:
    plain = ("id", "source", "kind", "title", "summary", "object_kind", "object_id", "occurred_at", "data")
    path = entry.url_path
    address = f"{settings.PUBLIC_URL}{path}" if path.startswith("/") else path
    return {name: getattr(entry, name) for name in plain} | {"url": address}
