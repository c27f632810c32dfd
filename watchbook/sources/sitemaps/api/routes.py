"""Monitors, changes and snapshots for programs. Everybody sees his own and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Field, Query, Router, Schema, Status

from watchbook.base import sandbox
from watchbook.base.store.scratch import scratch
from watchbook.base.text import clean_text
from watchbook.base.web.errors import WebError
from watchbook.core.api.document import refuses
from watchbook.core.api.errors import Conflict, Invalid
from watchbook.core.api.paging import PageQuery, keyset
from watchbook.core.jobs.api import STARTED, started
from watchbook.sources.sitemaps import actions
from watchbook.sources.sitemaps.actions import WrongMonitor
from watchbook.sources.sitemaps.api.shapes import (
    ChangeHead,
    ChangeOut,
    ChangePage,
    ListedUrls,
    MonitorList,
    MonitorOut,
    SnapshotHead,
    SnapshotPage,
    monitor_out,
)
from watchbook.sources.sitemaps.finding import LONGEST_URL
from watchbook.sources.sitemaps.jobs.looking import SiteInstead
from watchbook.sources.sitemaps.models import ChangeRecord, MonitorTask, SitemapSnapshot
from watchbook.sources.sitemaps.parse import Unreadable
from watchbook.sources.sitemaps.sentences import error_text, said
from watchbook.sources.sitemaps.store.lists import change_items, snapshot_urls

router = Router()


class MonitorIn(Schema):
    name: str
    sitemap_url: str
    check_interval_minutes: int = 60
    channel_ids: list[UUID] = Field(default_factory=list)
    include_patterns: list[str] = Field(default_factory=list)
    exclude_patterns: list[str] = Field(default_factory=list)
    tell_minor: bool = False
    tell_removals: bool = True


class MonitorPatch(Schema):
    name: str | None = None
    sitemap_url: str | None = None
    check_interval_minutes: int | None = None
    channel_ids: list[UUID] | None = None
    include_patterns: list[str] | None = None
    exclude_patterns: list[str] | None = None
    tell_minor: bool | None = None
    tell_removals: bool | None = None


class ChangesQuery(PageQuery):
    type: Literal["", "initial", "no_change", "changed"] = ""


@router.get("/monitors", response=MonitorList)
def monitors(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    """Your monitors, newest first."""
    rows = MonitorTask.objects.of(request.user).select_related("current_snapshot").prefetch_related("channels")
    return keyset(rows, page, by="-created_at", make=monitor_out)


@router.post("/monitors", response={201: MonitorOut}, openapi_extra=refuses(409))
def add(request: HttpRequest, body: MonitorIn) -> Status[dict[str, Any]]:
    """Looks at the address first: what is not a sitemap, feed or list is refused with what was found instead."""
    monitor = _try(lambda: actions.add_monitor(request.user, body.dict())[0])
    return Status(201, monitor_out(monitor))


@router.get("/monitors/{uuid:monitor_id}", response=MonitorOut)
def monitor(request: HttpRequest, monitor_id: UUID) -> dict[str, Any]:
    """One monitor as it stands now."""
    return monitor_out(own(request, monitor_id))


@router.patch("/monitors/{uuid:monitor_id}", response=MonitorOut, openapi_extra=refuses(409))
def change(request: HttpRequest, monitor_id: UUID, body: MonitorPatch) -> dict[str, Any]:
    """Change what is given. A new address is looked at first and begins a new baseline."""
    found = own(request, monitor_id)
    given = {name: value for name, value in body.dict(exclude_unset=True).items() if value is not None}
    return monitor_out(_try(lambda: actions.change_monitor(found, given)))


@router.delete("/monitors/{uuid:monitor_id}", response={204: None})
def delete(request: HttpRequest, monitor_id: UUID) -> Status[None]:
    """Delete the monitor. The same sitemap can be added again."""
    actions.delete(own(request, monitor_id))
    return Status(204, None)


@router.post("/monitors/{uuid:monitor_id}/check", response=STARTED, openapi_extra=refuses(409), url_name="check")
def check(request: HttpRequest, monitor_id: UUID) -> Status[dict[str, Any]]:
    """Put a check into the queue."""
    return started(_try(lambda: actions.check_now(own(request, monitor_id))))


STEPS = {
    "pause": (actions.pause, "Pause the monitor until it is resumed."),
    "resume": (actions.resume, "Make a paused monitor active and check it now."),
    "retry": (actions.retry, "Make a monitor in error active and check it now."),
}


def _step(name: str) -> Any:
    """POST …/pause, resume, retry: does it and answers the monitor as it is then."""
    action, sentence = STEPS[name]

    def step(request: HttpRequest, monitor_id: UUID) -> dict[str, Any]:
        found = own(request, monitor_id)
        _try(lambda: action(found))
        return monitor_out(found)

    step.__name__, step.__doc__ = name, sentence
    return step


for _name in STEPS:
    router.post(f"/monitors/{{uuid:monitor_id}}/{_name}", response=MonitorOut, url_name=_name)(_step(_name))


@router.get("/monitors/{uuid:monitor_id}/changes", response=ChangePage)
def changes(request: HttpRequest, monitor_id: UUID, page: Query[ChangesQuery]) -> dict[str, Any]:
    """Newest first. `type` keeps one kind: initial, no_change or changed."""
    rows = ChangeRecord.objects.filter(monitor_task=own(request, monitor_id))
    if page.type:
        rows = rows.filter(change_type=page.type)
    return keyset(rows.defer("changes"), page, by="-created_at", make=ChangeHead.of)


@router.get("/monitors/{uuid:monitor_id}/snapshots", response=SnapshotPage)
def snapshots(request: HttpRequest, monitor_id: UUID, page: Query[PageQuery]) -> dict[str, Any]:
    """What the sitemap listed and since when, newest first; the URLs have an endpoint of their own."""
    rows = SitemapSnapshot.objects.filter(monitor_task=own(request, monitor_id)).defer("urls")
    return keyset(rows, page, by="-created_at", make=SnapshotHead.of)


@router.get("/changes/{uuid:change_id}", response=ChangeOut)
def one_change(request: HttpRequest, change_id: UUID) -> HttpResponse | StreamingHttpResponse:
    """The whole record with every URL, streamed however long it is."""
    record = get_object_or_404(ChangeRecord, pk=change_id, monitor_task__in=MonitorTask.objects.of(request.user))
    return streamed(change_pieces(record))


@router.get("/snapshots/{uuid:snapshot_id}/urls", response=ListedUrls)
def urls(request: HttpRequest, snapshot_id: UUID, page: Query[PageQuery]) -> dict[str, Any]:
    """What the sitemap listed, in the order of its URLs; the cursor is the last URL."""
    snapshot = get_object_or_404(SitemapSnapshot, pk=snapshot_id, monitor_task__in=MonitorTask.objects.of(request.user))
    with scratch("urls") as folder:
        rows = snapshot_urls(snapshot, folder, clean_text(page.cursor)[:LONGEST_URL])
        found = list(islice(rows, page.limit + 1))
    shown = found[: page.limit]
    return {"items": shown, "next": shown[-1]["url"] if len(found) > page.limit else None}


def own(request: HttpRequest, monitor_id: UUID) -> MonitorTask:
    return get_object_or_404(MonitorTask.objects.of(request.user).select_related("current_snapshot"), pk=monitor_id)


def _try(step: Any) -> Any:
    """What a person may have got wrong, in the words of the API."""
    try:
        return step()
    except WrongMonitor as error:
        kind = Conflict if error.code in ("already_watched", "paused", "too_many") else Invalid
        raise kind(error.message, code=error.code, details=[{"field": error.field, "message": error.message}]) from None
    except SiteInstead as found:
        message = _("This is a page, not a sitemap. The site names these sitemaps: choose one.")
        raise Invalid(message, code="site_instead", details={"sitemaps": found.sitemaps}) from None
    except (WebError, Unreadable, sandbox.TaskError) as error:
        message = error_text(said(error))
        raise Invalid(message, code=error.code, details=[{"field": "sitemap_url", "message": message}]) from None


def change_pieces(record: ChangeRecord) -> Iterator[str]:
    """The record as JSON, with `changes` in the three lists of its seed."""
    head = json.dumps(ChangeHead.of(record), ensure_ascii=False, cls=DjangoJSONEncoder)
    yield f'{head[:-1]}, "extras": {json.dumps(record.extras, ensure_ascii=False)}, "changes": {{'
    for number, kind in enumerate(("added", "removed", "modified")):
        yield f'{", " if number else ""}"{kind}": ['
        for position, item in enumerate(change_items(record, kind)):
            yield (", " if position else "") + json.dumps(item, ensure_ascii=False)
        yield "]"
    yield "}}"


def streamed(pieces: Iterator[str]) -> StreamingHttpResponse:
    return StreamingHttpResponse(pieces, content_type="application/json; charset=utf-8")
