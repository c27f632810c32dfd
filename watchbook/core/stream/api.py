"""The stream for programs."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from ninja import Query, Router

from watchbook.core import registry
from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.api.answers import Answer, Listing, said
from watchbook.core.api.errors import must_be_known
from watchbook.core.api.paging import PageQuery, keyset
from watchbook.core.search.find import bounded
from watchbook.core.stream import kinds
from watchbook.core.stream.models import StreamEntry

router = Router()


class EntryOut(Answer):
    """Something that changed."""

    row = StreamEntry

    id: int
    source: str = said("The system it happened in.")
    kind: str = said("What happened.")
    title: str
    summary: str
    url: str = said("The page that shows it.")
    object_kind: str = said("With `object_id`, what it happened to; the same words as in search and clips.")
    object_id: str
    occurred_at: datetime
    data: dict[str, Any] = said("Numbers and names of this kind.")


class EntryPage(Listing[EntryOut]):
    """What changed, newest first."""


class StreamQuery(PageQuery):
    """What happened, newest first: of a system, of a kind, from a moment on, before a moment."""

    source: str = ""
    kind: str = ""
    since: datetime | None = None
    until: datetime | None = None


@router.get("/stream", response=EntryPage)
def list_stream(request: HttpRequest, page: Query[StreamQuery]) -> Any:
    """What changed lately in everything you may see, newest first."""
    must_be_known("source", page.source, (source.slug for source in registry.sources()))
    told = {kind for source, kind in kinds.titles() if page.source in ("", source)}
    must_be_known("kind", page.kind, told)
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
