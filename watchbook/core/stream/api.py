"""Activity endpoints."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from django.conf import settings
from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from watchbook.base.clock import bounded
from watchbook.core import registry
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.models import User
from watchbook.core.api.errors import must_be_known
from watchbook.core.api.lists import PageQuery, keyset
from watchbook.core.api.schemas import Answer, Listing, said
from watchbook.core.stream import reading
from watchbook.core.stream.models import StreamEntry, StreamEntryQuerySet
from watchbook.core.stream.reading import Reader
from watchbook.kit.paging import LARGEST, InvalidCursor, as_value, decode_cursor, encode_cursor

router = Router()


class EntryOut(Answer):
    """One change."""

    row = StreamEntry

    id: int
    source: str = said("Slug of the source.")
    kind: str = said("Type of the change.")
    title: str
    summary: str
    url: str = said("Page of the item.")
    object_kind: str = said("With `object_id`, the changed item; the same values as in search and clips.")
    object_id: str
    occurred_at: datetime
    unread: bool = said("Not read yet by the owner of the token.")
    data: dict[str, Any] = said("Numbers and names, depending on `kind`.")


class EntryPage(Listing[EntryOut]):
    """Changes, newest first."""


class StreamQuery(PageQuery):
    """Filters of the list: unread, source, type, and time range."""

    unread: bool = False
    source: str = ""
    kind: str = ""
    since: datetime | None = None
    until: datetime | None = None


class IdsIn(Schema):
    """Entries to mark."""

    ids: list[Annotated[int, Field(ge=1, lt=LARGEST)]] = Field(
        min_length=1, max_length=reading.MOST_MARKED, description="Ids of entries, at most 1,000."
    )


class ReadAllIn(Schema):
    """Which entries to mark as read; without filters all of them."""

    until: Annotated[int, Field(ge=1, lt=LARGEST)] | None = Field(
        None, description="Id of the last entry to mark; without it, the newest one."
    )
    source: str = ""
    kind: str = ""


class UnreadOut(Answer):
    """The number of unread entries."""

    unread: int = said("At most 999.")
    has_more: bool = said("There are more than were counted.")


class MarkedOut(UnreadOut):
    """What was marked, and the number of unread entries after it."""

    marked: int = said("Entries that you can see among those sent; 0 when the whole list was marked.")
    unknown_ids: list[int] = said("Ids among those sent that are not entries you can see. Nothing was marked for them.")
    is_left: bool = said("More entries match; send the request again.")


@router.get("/stream", response=EntryPage)
def list_stream(request: HttpRequest, page: Query[StreamQuery]) -> Any:
    """List recent changes of everything you can see, newest first; with `unread` in the order of arrival."""
    _check_filters(page.source, page.kind)
    reader = reading.reader_of(person_of(request))
    rows = _filtered(reader.entries, page.source, page.kind)
    if since := bounded(page.since):
        rows = rows.filter(occurred_at__gte=since)
    if until := bounded(page.until):
        rows = rows.filter(occurred_at__lt=until)
    if page.unread:
        return _unread_page(reader, rows, page)
    found = keyset(rows, page, by="-occurred_at")
    unread = reading.unread_among(reader, [entry.pk for entry in found["items"]])
    return found | {"items": [entry_out(entry, entry.pk in unread) for entry in found["items"]]}


def _unread_page(reader: Reader, rows: StreamEntryQuerySet, page: PageQuery) -> dict[str, Any]:
    before = None
    if page.cursor:
        name, text = decode_cursor(page.cursor, 2)
        if name != "unread":
            raise InvalidCursor
        before = as_value(StreamEntry._meta.pk, text)
    found = reading.unread_entries(reader, rows, before=before, size=page.limit + 1)
    shown = found[: page.limit]
    following = encode_cursor(["unread", str(shown[-1].pk)]) if len(found) > page.limit else None
    return {"items": [entry_out(entry, True) for entry in shown], "next": following}


@router.get("/stream/unread", response=UnreadOut)
def count_unread(request: HttpRequest) -> Any:
    """Return the number of your unread entries."""
    return _unread(person_of(request))


@router.post("/stream/read", response=MarkedOut)
def mark_read(request: HttpRequest, body: IdsIn) -> Any:
    """Mark entries as read. Ids of entries that you cannot see are listed in the response."""
    return _mark(request, body, read=True)


@router.post("/stream/unread", response=MarkedOut)
def mark_unread(request: HttpRequest, body: IdsIn) -> Any:
    """Mark entries as unread. Ids of entries that you cannot see are listed in the response."""
    return _mark(request, body, read=False)


@router.post("/stream/read-all", response=MarkedOut)
def mark_all_read(request: HttpRequest, body: ReadAllIn) -> Any:
    """Mark all entries as read, or those of one source and type, at most 10,000 at a time."""
    _check_filters(body.source, body.kind)
    user = person_of(request)
    if not body.source and not body.kind:
        reading.mark_all_read(user, until=body.until)
        return _unread(user) | {"marked": 0, "unknown_ids": [], "is_left": False}
    reader = reading.reader_of(user)
    rows = _filtered(reader.entries, body.source, body.kind)
    count, is_left = reading.mark_rows_read(user, rows, until=body.until or reader.newest)
    return _unread(user) | {"marked": count, "unknown_ids": [], "is_left": is_left}


def _mark(request: HttpRequest, body: IdsIn, *, read: bool) -> dict[str, Any]:
    user = person_of(request)
    seen = reading.mark(user, set(body.ids), read=read)
    unknown = sorted(set(body.ids).difference(seen))
    return _unread(user) | {"marked": len(seen), "unknown_ids": unknown, "is_left": False}


def _unread(user: User) -> dict[str, Any]:
    counted = reading.count_unread(reading.reader_of(user))
    return {"unread": counted.number, "has_more": counted.has_more}


def _check_filters(source: str, kind: str) -> None:
    must_be_known("source", source, (each.slug for each in registry.sources()))
    known = {name for slug, name in registry.stream_kind_titles() if source in ("", slug)}
    must_be_known("kind", kind, known)


def _filtered(rows: StreamEntryQuerySet, source: str, kind: str) -> StreamEntryQuerySet:
    if source:
        rows = rows.filter(source=source)
    return rows.filter(kind=kind) if kind else rows


def entry_out(entry: StreamEntry, unread: bool) -> dict[str, Any]:
    plain = ("id", "source", "kind", "title", "summary", "object_kind", "object_id", "occurred_at", "data")
    path = entry.url_path
    address = f"{settings.PUBLIC_URL}{path}" if path.startswith("/") else path
    return {name: getattr(entry, name) for name in plain} | {"url": address, "unread": unread}
