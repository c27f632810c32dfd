"""Search and saved-search endpoints."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from watchbook.core.accounts.access import person_of, viewer_scopes
from watchbook.core.api.errors import must_be_known
from watchbook.core.api.lists import PageQuery, keyset
from watchbook.core.api.schemas import Answer, Listing, said
from watchbook.core.notify.actions import own_channels
from watchbook.core.search import query as queries
from watchbook.core.search import saved as actions
from watchbook.core.search.compiling import known_kinds
from watchbook.core.search.find import Hit, find
from watchbook.core.search.highlight import Segment
from watchbook.core.search.models import SavedSearch

router = Router()


class SegmentOut(Answer):
    """Part of a title or an excerpt."""

    text: str
    is_match: bool = said("True if this part matches a word of the query.")


class HitOut(Answer):
    """An item of any source that contains all words of the query."""

    kind: str = said("Type of the item; `kind` and `id` also name it for a clip.")
    id: str
    source: str = said("Slug of the source.")
    title: str
    url: str = said("Page of the item.")
    occurred_at: datetime
    is_title_hit: bool
    title_parts: list[SegmentOut]
    body_parts: list[SegmentOut] = said("Excerpt around the matching words.")


class HitPage(Listing[HitOut]):
    """Search results. A page can have fewer items than `limit` and still have a next page."""


class SearchQuery(PageQuery):
    """`q` is in the query language: words, "phrases", OR, -, brackets, `title:`, `author:`, `in:`, `type:`, `site:`,
    `before:`, `after:`, `score>=`; anything else is a word. `kind` can be given several times."""

    q: str = ""
    kind: list[str] = []
    since: datetime | None = None


class PreviewQuery(Schema):
    """A query, and types of items; `kind` can be given several times."""

    q: str = ""
    kind: list[str] = []


class MentionOut(Answer):
    """Matches of one day."""

    day: date
    matches: int | None = said("Null if there were too many matches to count this far back.")


class MentionList(Listing[MentionOut]):
    """Matches by day, oldest first."""


class PreviewOut(Answer):
    """What a saved search would have matched."""

    matches: int
    is_whole: bool = said("False if there are more matches than were counted.")
    days: int = said("How many days were counted, up to now.")


class SavedIn(Schema):
    name: str
    query: str
    kinds: list[str] = []
    channel_ids: list[UUID] = Field(default=[], max_length=50)


class SavedPatch(Schema):
    """What is not given stays as it is. With another query or other types, only later matches are notified."""

    name: str | None = None
    query: str | None = None
    kinds: list[str] | None = None
    channel_ids: list[UUID] | None = Field(default=None, max_length=50)
    is_active: bool | None = None


class SavedOut(Answer):
    """A search that notifies you of new matches."""

    row = SavedSearch

    id: int
    name: str
    query: str
    kinds: list[str] = said("Only items of these types; empty for all.")
    channel_ids: list[UUID]
    is_active: bool
    match_count: int = said("Number of matches so far.")
    last_match_at: datetime | None
    created_at: datetime


class SavedPage(Listing[SavedOut]):
    """Saved searches, newest first."""


@router.get("/search", response=HitPage)
def search(request: HttpRequest, asked: Query[SearchQuery]) -> Any:
    """Search everything you can see. Title matches come first, then the newest items."""
    _check_kinds(asked.kind)
    page = find(
        queries.read(asked.q),
        scopes=viewer_scopes(request.user),
        kinds=asked.kind or None,
        since=asked.since,
        limit=asked.limit,
        before=asked.cursor or None,
    )
    return {"items": [hit_out(hit) for hit in page.items], "next": page.next or None}


def _check_kinds(kinds: list[str]) -> None:
    known = known_kinds()
    for kind in kinds:
        must_be_known("kind", kind, known)


@router.get("/search/preview", response=PreviewOut)
def preview_search(request: HttpRequest, asked: Query[PreviewQuery]) -> Any:
    """Count what a saved search would have matched in the last 7 days."""
    _check_kinds(asked.kind)
    found = actions.preview(person_of(request), queries.read(asked.q), asked.kind)
    return {"matches": found.matches, "is_whole": found.is_whole, "days": found.days}


@router.get("/search/mentions", response=MentionList)
def count_mentions(request: HttpRequest, asked: Query[PreviewQuery]) -> Any:
    """Count the matches of the last 30 days by the day on which they were published, oldest day first."""
    _check_kinds(asked.kind)
    found = actions.mentions(person_of(request), queries.read(asked.q), asked.kind)
    return {"items": [{"day": day, "matches": matches} for day, matches in found], "next": None}


@router.get("/saved-searches", response=SavedPage)
def list_saved(request: HttpRequest, page: Query[PageQuery]) -> Any:
    """List your saved searches."""
    rows = SavedSearch.objects.of(person_of(request)).prefetch_related("channels")
    return keyset(rows, page, by="-id", make=saved_out)


@router.post("/saved-searches", response={201: SavedOut})
def save_search(request: HttpRequest, given: SavedIn) -> Any:
    """Save a search. Its channels receive one notification for each new match."""
    user = person_of(request)
    channels = own_channels(user, given.channel_ids)
    saved = actions.save(user, name=given.name, query=given.query, kinds=given.kinds, channels=channels)
    return Status(201, saved_out(saved))


@router.patch("/saved-searches/{int:saved_id}", response=SavedOut)
def change_saved(request: HttpRequest, saved_id: int, given: SavedPatch) -> Any:
    """Change a saved search, or enable or disable it."""
    user = person_of(request)
    saved = get_object_or_404(SavedSearch.objects.of(user).select_related("user"), pk=saved_id)
    values = {name: value for name, value in given.dict().items() if value is not None}
    active = values.pop("is_active", None)
    ids = values.pop("channel_ids", None)
    if values or ids is not None:
        kept = {"name": saved.name, "query": saved.query, "kinds": saved.kinds}
        channels = saved.channels.all() if ids is None else own_channels(user, ids)
        actions.change(saved, **kept | values, channels=channels)
    if active is not None:
        actions.set_active(saved, active=active)
    return saved_out(saved)


@router.delete("/saved-searches/{int:saved_id}", response={204: None})
def remove_saved(request: HttpRequest, saved_id: int) -> Any:
    """Delete a saved search."""
    actions.remove(get_object_or_404(SavedSearch.objects.of(person_of(request)), pk=saved_id))
    return Status(204, None)


def hit_out(hit: Hit) -> dict[str, Any]:
    return {
        "kind": hit.kind,
        "id": hit.object_id,
        "source": hit.source,
        "title": hit.title,
        "url": f"{settings.PUBLIC_URL}{hit.url_path}" if hit.url_path.startswith("/") else hit.url_path,
        "occurred_at": hit.occurred_at,
        "is_title_hit": hit.is_title_hit,
        "title_parts": _parts(hit.title_parts),
        "body_parts": _parts(hit.body_parts),
    }


def _parts(segments: tuple[Segment, ...]) -> list[dict[str, Any]]:
    return [{"text": segment.text, "is_match": segment.is_match} for segment in segments]


def saved_out(saved: SavedSearch) -> dict[str, Any]:
    plain = ("id", "name", "query", "kinds", "is_active", "match_count", "last_match_at", "created_at")
    return {name: getattr(saved, name) for name in plain} | {"channel_ids": [each.pk for each in saved.channels.all()]}
