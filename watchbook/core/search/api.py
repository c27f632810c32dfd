"""Search and saved searches for programs."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema, Status
from pydantic import Field

from watchbook.core import registry
from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.api.answers import Answer, Listing, said
from watchbook.core.api.errors import Invalid, must_be_known
from watchbook.core.api.paging import PageQuery, keyset
from watchbook.core.notify.models import NotificationChannel
from watchbook.core.search import query as queries
from watchbook.core.search import saved as actions
from watchbook.core.search.find import BadCursor, Hit, find
from watchbook.core.search.highlight import Segment
from watchbook.core.search.models import SavedSearch

router = Router()


class SegmentOut(Answer):
    """A piece of a title or an excerpt."""

    text: str
    is_match: bool = said("Is it one of the words that were looked for?")


class HitOut(Answer):
    """An item of any system that holds all the words."""

    kind: str = said("What it is; `kind` and `id` name it for a clip, too.")
    id: str
    source: str = said("The system it belongs to.")
    title: str
    url: str = said("The page that shows it.")
    occurred_at: datetime
    is_title_hit: bool
    title_parts: list[SegmentOut]
    body_parts: list[SegmentOut] = said("An excerpt around the words.")


class HitPage(Listing[HitOut]):
    """A page may be short and still have a next one."""


class SearchQuery(PageQuery):
    """Every word of `q` must be there; "quoted words" stand side by side. `kind` may be given several times."""

    q: str = ""
    kind: list[str] = []
    since: datetime | None = None


class SavedIn(Schema):
    name: str
    query: str
    kinds: list[str] = []
    channel_ids: list[UUID] = Field(default=[], max_length=50)


class SavedPatch(Schema):
    is_active: bool


class SavedOut(Answer):
    """A search whose new hits are told."""

    row = SavedSearch

    id: int
    name: str
    query: str
    kinds: list[str] = said("Only items of these kinds; empty for all.")
    channel_ids: list[UUID]
    is_active: bool
    match_count: int = said("How many hits it has told so far.")
    last_match_at: datetime | None
    created_at: datetime


class SavedPage(Listing[SavedOut]):
    """Saved searches, newest first."""


@router.get("/search", response=HitPage)
def search(request: HttpRequest, asked: Query[SearchQuery]) -> Any:
    """Everything you may see that holds all the words; title hits first, then newest."""
    known = {kind.name for source in registry.sources() for kind in source.search_kinds}
    for kind in asked.kind:
        must_be_known("kind", kind, known)
    try:
        page = find(
            queries.read(asked.q),
            scopes=viewer_scopes(request.user),
            kinds=asked.kind or None,
            since=asked.since,
            limit=asked.limit,
            before=asked.cursor or None,
        )
    except BadCursor as error:
        raise Invalid(str(error), code="bad_cursor") from None
    return {"items": [hit_out(hit) for hit in page.items], "next": page.next or None}


@router.get("/saved-searches", response=SavedPage)
def list_saved(request: HttpRequest, page: Query[PageQuery]) -> Any:
    """Your saved searches."""
    rows = SavedSearch.objects.of(request.user).prefetch_related("channels")
    return keyset(rows, page, by="-id", make=saved_out)


@router.post("/saved-searches", response={201: SavedOut})
def save_search(request: HttpRequest, given: SavedIn) -> Any:
    """Save a search; new hits are told through its channels."""
    own = {channel.pk: channel for channel in NotificationChannel.objects.of(request.user)}
    if missing := [pk for pk in given.channel_ids if pk not in own]:
        raise Invalid(details=[{"field": "channel_ids", "message": f"there is no channel {missing[0]}"}])
    channels = [own[pk] for pk in dict.fromkeys(given.channel_ids)]
    saved = actions.save(request.user, name=given.name, query=given.query, kinds=given.kinds, channels=channels)
    return Status(201, saved_out(saved))


@router.patch("/saved-searches/{int:saved_id}", response=SavedOut)
def change_saved(request: HttpRequest, saved_id: int, given: SavedPatch) -> Any:
    """Switch a saved search on or off."""
    saved = get_object_or_404(SavedSearch.objects.of(request.user), pk=saved_id)
    actions.set_active(saved, active=given.is_active)
    return saved_out(saved)


@router.delete("/saved-searches/{int:saved_id}", response={204: None})
def remove_saved(request: HttpRequest, saved_id: int) -> Any:
    """Forget a saved search."""
    get_object_or_404(SavedSearch.objects.of(request.user), pk=saved_id).delete()
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
