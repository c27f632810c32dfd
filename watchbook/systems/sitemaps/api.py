"""API endpoints for monitors, changes and snapshots of the signed-in user."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import Any, Literal
from uuid import UUID

from django.core.serializers.json import DjangoJSONEncoder
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Field, Query, Router, Schema, Status
from pydantic import ConfigDict

from watchbook.base import sandbox
from watchbook.base.store.blobs import BlobMissing
from watchbook.base.store.folder import scratch
from watchbook.base.text import clean_text
from watchbook.base.web.errors import WebError
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.audit import export_table
from watchbook.core.api.errors import Conflict, Invalid
from watchbook.core.api.lists import DaysQuery, ListQuery, PageQuery, is_mirror, keyset, listed
from watchbook.core.api.shell import refuses
from watchbook.core.jobs.api import STARTED, started
from watchbook.kit.lists.exports import FORMATS, Column, Table
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.filters import (
    LONGEST_URL,
    Filters,
    compare_snapshots,
    compared_items,
    every_change,
    monitors_of,
)
from watchbook.systems.sitemaps.jobs.read import SiteFound
from watchbook.systems.sitemaps.models import ChangeRecord, MonitorTask, SitemapSnapshot
from watchbook.systems.sitemaps.parse.imports import InvalidFile, read_file
from watchbook.systems.sitemaps.parse.records import Unreadable
from watchbook.systems.sitemaps.records import error_message, error_text, file_error
from watchbook.systems.sitemaps.schemas import (
    ChangeHead,
    ChangeOut,
    ChangePage,
    ComparedSnapshots,
    ListedUrls,
    MonitorImportReport,
    MonitorList,
    MonitorOut,
    MonitorsEdited,
    SnapshotHead,
    SnapshotPage,
    monitor_out,
)
from watchbook.systems.sitemaps.store.lists import change_items, snapshot_urls

router = Router()


class MonitorIn(Schema):
    model_config = ConfigDict(extra="forbid")

    name: str
    sitemap_url: str
    check_interval_minutes: int = 60
    schedule: str = ""
    quiet_hours: str = ""
    folder: str = ""
    owner: str = ""
    notes: str = ""
    tags: list[str] = Field(default_factory=list)
    channel_ids: list[UUID] = Field(default_factory=list)
    include_patterns: list[str] = Field(default_factory=list)
    exclude_patterns: list[str] = Field(default_factory=list)
    tell_added: bool = True
    tell_modified: bool = True
    tell_minor: bool = False
    tell_removals: bool = True


class MonitorPatch(Schema):
    model_config = ConfigDict(extra="forbid")

    name: str | None = None
    sitemap_url: str | None = None
    check_interval_minutes: int | None = None
    schedule: str | None = None
    quiet_hours: str | None = None
    folder: str | None = None
    owner: str | None = None
    notes: str | None = None
    tags: list[str] | None = None
    channel_ids: list[UUID] | None = None
    include_patterns: list[str] | None = None
    exclude_patterns: list[str] | None = None
    tell_added: bool | None = None
    tell_modified: bool | None = None
    tell_minor: bool | None = None
    tell_removals: bool | None = None


class MonitorsQuery(DaysQuery):
    q: str = ""
    show: Literal["", "attention", "paused"] = ""
    folder: str = ""
    tag: str = ""
    order: Literal["", "newest", "name"] = ""


class MonitorImport(Schema):
    model_config = ConfigDict(extra="forbid")

    text: str = Field(max_length=2_000_000, description="A CSV with a head, or OPML.")


class MonitorsEdit(Schema):
    model_config = ConfigDict(extra="forbid")

    ids: list[UUID] = Field(min_length=1, max_length=1000)
    folder: str | None = None
    owner: str | None = None
    schedule: str | None = None
    quiet_hours: str | None = None
    check_interval_minutes: int | None = None
    add_tags: list[str] = Field(default_factory=list)
    remove_tags: list[str] = Field(default_factory=list)


class ChangesQuery(DaysQuery):
    q: str = Field("", description="Words of a URL of the change.")
    type: Literal["", "initial", "no_change", "changed"] = ""
    kind: Literal["", "added", "removed", "modified"] = ""
    incomplete: bool = False


class CompareQuery(ListQuery):
    kind: Literal["", "added", "removed", "modified"] = ""
    q: str = Field("", description="Words of the URL.")


@router.get("/monitors", response=MonitorList)
def monitors(request: HttpRequest, page: Query[MonitorsQuery]) -> Any:
    """List your monitors, newest first, with the filters of the page.

    With `since`, deleted monitors are listed as well, with `deleted_at`, until they are deleted permanently.
    """
    person = person_of(request)
    is_changes = is_mirror(page)
    own_rows = MonitorTask.objects.filter(user=person) if is_changes else MonitorTask.objects.of(person)
    rows = own_rows.select_related("current_snapshot").prefetch_related("channels")
    return listed(request, monitors_of(person), rows, page, make=monitor_out)


@router.post("/monitors", response={201: MonitorOut}, openapi_extra=refuses(409))
def add(request: HttpRequest, body: MonitorIn) -> Status[dict[str, Any]]:
    """Check the address and add a monitor. Other documents than sitemaps, feeds and lists are refused."""
    monitor = _try(lambda: actions.add_monitor(person_of(request), body.dict())[0])
    return Status(201, monitor_out(monitor))


@router.get("/monitors/{uuid:monitor_id}", response=MonitorOut)
def monitor(request: HttpRequest, monitor_id: UUID) -> dict[str, Any]:
    """Return one monitor."""
    return monitor_out(own(request, monitor_id))


@router.patch("/monitors/{uuid:monitor_id}", response=MonitorOut, openapi_extra=refuses(409))
def change(request: HttpRequest, monitor_id: UUID, body: MonitorPatch) -> dict[str, Any]:
    """Change the given fields. A new address is checked first and starts a new baseline."""
    found = own(request, monitor_id)
    given = {name: value for name, value in body.dict(exclude_unset=True).items() if value is not None}
    return monitor_out(_try(lambda: actions.change_monitor(found, given)))


@router.delete("/monitors/{uuid:monitor_id}", response={204: None})
def delete(request: HttpRequest, monitor_id: UUID) -> Status[None]:
    """Delete the monitor. You can add the same sitemap again."""
    actions.delete(own(request, monitor_id))
    return Status(204, None)


@router.post("/monitors/{uuid:monitor_id}/check", response=STARTED, openapi_extra=refuses(409), url_name="check")
def check(request: HttpRequest, monitor_id: UUID) -> Status[dict[str, Any]]:
    """Queue a check."""
    return started(_try(lambda: actions.check_now(own(request, monitor_id))))


STEPS = {
    "pause": (actions.pause, "Pause the monitor until it is resumed."),
    "resume": (actions.resume, "Resume a paused monitor and queue a check."),
    "retry": (actions.retry, "Reset a monitor in error and queue a check."),
}


def _step(name: str) -> Any:
    """Return the endpoint of one action: it runs the action and returns the changed monitor."""
    action, sentence = STEPS[name]

    def step(request: HttpRequest, monitor_id: UUID) -> dict[str, Any]:
        found = own(request, monitor_id)
        _try(lambda: action(found))
        return monitor_out(found)

    step.__name__, step.__doc__ = name, sentence
    return step


for _name in STEPS:
    router.post(f"/monitors/{{uuid:monitor_id}}/{_name}", response=MonitorOut, url_name=_name)(_step(_name))


@router.post("/import", response=MonitorImportReport)
def import_monitors(request: HttpRequest, body: MonitorImport) -> dict[str, Any]:
    """Add the monitors of a CSV or OPML file and return a report by line. Unknown columns are refused by name."""
    try:
        rows = read_file(body.text.encode())
    except InvalidFile as error:
        raise Invalid(details=[{"field": "text", "message": file_error(error)}]) from None
    report = actions.import_monitors(person_of(request), rows)
    counts = Counter(line.result for line in report)
    return {
        "added": counts["added"], "known": counts["known"], "refused": counts["refused"],
        "lines": [asdict(line) for line in report],
    }  # fmt: skip


@router.post("/bulk", response=MonitorsEdited)
def edit_many(request: HttpRequest, body: MonitorsEdit) -> dict[str, Any]:
    """Change folder, tags, responsible user, interval or schedule of many monitors. All or none."""
    values = body.dict(exclude_none=True)
    ids, add, remove = values.pop("ids"), values.pop("add_tags"), values.pop("remove_tags")
    found = list(MonitorTask.objects.of(person_of(request)).filter(pk__in=ids))
    if unknown := set(ids) - {monitor.pk for monitor in found}:
        words = _("The monitor does not exist.")
        raise Invalid(details=[{"field": "ids", "message": f"{words} {pk}"} for pk in sorted(unknown)])
    used = {tag for monitor in found for tag in monitor.tag_list}
    changed = actions.edit_many(found, values, add=",".join(add), remove=",".join(remove))
    unused = [tag for tag in actions.joined_tags(remove).split(",") if tag and tag not in used]
    added = [tag for tag in actions.joined_tags(add).split(",") if tag]
    return {"changed": changed, "added_tags": added, "unused_tags": unused}


@router.get("/monitors/{uuid:monitor_id}/changes", response=ChangePage)
def changes(request: HttpRequest, monitor_id: UUID, page: Query[ChangesQuery]) -> Any:
    """List check results, newest first. `type` filters: initial, no_change or changed."""
    monitor = own(request, monitor_id)
    rows = ChangeRecord.objects.filter(monitor_task=monitor).defer("changes")
    return listed(request, every_change(monitor), rows, page, make=ChangeHead.of)


@router.get("/monitors/{uuid:monitor_id}/snapshots", response=SnapshotPage)
def snapshots(request: HttpRequest, monitor_id: UUID, page: Query[PageQuery]) -> dict[str, Any]:
    """List snapshots without their URLs, newest first."""
    rows = SitemapSnapshot.objects.filter(monitor_task=own(request, monitor_id)).defer("urls")
    return keyset(rows, page, by="-created_at", make=SnapshotHead.of)


@router.get("/changes/{uuid:change_id}", response=ChangeOut)
def one_change(request: HttpRequest, change_id: UUID) -> HttpResponse | StreamingHttpResponse:
    """Return one change with all its URLs. The response is streamed."""
    record = get_object_or_404(ChangeRecord, pk=change_id, monitor_task__in=MonitorTask.objects.of(person_of(request)))
    return streamed(change_pieces(record))


@router.get("/snapshots/{uuid:snapshot_id}/urls", response=ListedUrls)
def urls(request: HttpRequest, snapshot_id: UUID, page: Query[PageQuery]) -> dict[str, Any]:
    """List the URLs of a snapshot in alphabetical order. The cursor is the last URL."""
    snapshot = get_object_or_404(
        SitemapSnapshot, pk=snapshot_id, monitor_task__in=MonitorTask.objects.of(person_of(request))
    )
    with scratch("urls") as folder:
        rows = snapshot_urls(snapshot, folder, clean_text(page.cursor)[:LONGEST_URL])
        found = list(islice(rows, page.limit + 1))
    shown = found[: page.limit]
    return {"items": shown, "next": shown[-1]["url"] if len(found) > page.limit else None}


@router.get("/snapshots/{uuid:old_id}/compare/{uuid:new_id}", response=ComparedSnapshots, openapi_extra=refuses(409))
def compare(request: HttpRequest, old_id: UUID, new_id: UUID, page: Query[CompareQuery]) -> Any:
    """Compare any two snapshots: added, removed and modified URLs. `format` returns the whole difference as a file."""
    own_rows = SitemapSnapshot.objects.filter(monitor_task__in=MonitorTask.objects.of(person_of(request)))
    old, new = (get_object_or_404(own_rows, pk=pk) for pk in (old_id, new_id))
    filters = Filters.of({"kind": page.kind, "q": page.q})
    if page.format in FORMATS:
        columns = [Column(name) for name in ("kind", "url", "old_lastmod", "new_lastmod")]
        return export_table(request, Table("difference", columns, compared_items(old, new, filters)), page.format)
    try:
        found = compare_snapshots(old, new, filters, page.limit)
    except BlobMissing:
        raise Conflict(_("A stored list of these snapshots was lost. They cannot be compared.")) from None
    return {"counts": found.counts, "matched": found.matched, "items": [asdict(item) for item in found.items]}


def own(request: HttpRequest, monitor_id: UUID) -> MonitorTask:
    return get_object_or_404(
        MonitorTask.objects.of(person_of(request)).select_related("current_snapshot"), pk=monitor_id
    )


def _try(step: Any) -> Any:
    """Run an action and turn its errors into API errors."""
    try:
        return step()
    except SiteFound as found:
        message = _("This is a web page, not a sitemap. Choose one of the sitemaps that the site lists.")
        raise Invalid(message, code="site_instead", details={"sitemaps": found.sitemaps}) from None
    except (WebError, Unreadable, sandbox.TaskError) as error:
        message = error_text(error_message(error))
        raise Invalid(message, code=error.code, details=[{"field": "sitemap_url", "message": message}]) from None


def change_pieces(record: ChangeRecord) -> Iterator[str]:
    """Yield the record as JSON text, with its changes in three lists."""
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
