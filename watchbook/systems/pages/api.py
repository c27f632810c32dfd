"""API under /api/v1/pages: websites, pages, versions and changes of the signed-in user."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Status

from watchbook.base import clock
from watchbook.core import url_lists
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.audit import export
from watchbook.core.api.errors import must_be_known
from watchbook.core.api.lists import (
    MirrorQuery,
    PageQuery,
    asks_for_changes,
    given_filters,
    is_mirror,
    keyset,
    mirrored,
    refuse_unknown,
    show,
)
from watchbook.core.api.shell import refuses, sends_file
from watchbook.core.jobs.api import STARTED, started
from watchbook.kit import diff
from watchbook.kit.lists import Changes
from watchbook.kit.paging import InvalidCursor, read_cursor
from watchbook.systems.pages import actions, evidence, reports
from watchbook.systems.pages.file_schemas import (
    EvidenceQuery,
    ShotQuery,
    WebEvidenceList,
    WebEvidenceOut,
    WebShotList,
    WebShotOut,
)
from watchbook.systems.pages.filters import (
    CHANGES,
    PERIODS,
    Change,
    completeness,
    events_of,
    find_among,
    pages_of,
    sections,
    with_values,
)
from watchbook.systems.pages.health import site_health
from watchbook.systems.pages.models import Page, PageEvidence, PageShot, PageVersion, Site, SiteQuerySet, SiteRule
from watchbook.systems.pages.parse.noise import Mask
from watchbook.systems.pages.schemas import (
    SectionReports,
    SiteIn,
    SitePatch,
    UrlListOut,
    UrlListPage,
    UrlTimeline,
    WatchedPageIn,
    WebChangesQuery,
    WebPageDiff,
    WebPageEventList,
    WebPageList,
    WebPageOut,
    WebPagesQuery,
    WebPageText,
    WebPageVersionList,
    WebPageVersionOut,
    WebRuleIn,
    WebRuleList,
    WebRuleOut,
    WebRulePreview,
    WebSiteDetail,
    WebSiteList,
    WebSiteOut,
    WeeklyQuery,
    WeeklySites,
)
from watchbook.systems.pages.store.lists import requests_left
from watchbook.systems.pages.store.pages import changed_fields, masking, text_of

router = Router()


def site_out(site: Site, kind: type[WebSiteOut] = WebSiteOut, **more: Any) -> dict[str, Any]:
    now = clock.now()
    found = site_health(site, now)
    return kind.of(
        site, state=found.state, reason=found.reason, remedy=found.remedy, requests_left=requests_left(site, now),
        channel_ids=[channel.pk for channel in site.channels.all()], **more,
    )  # fmt: skip


@router.get("/lists", response=UrlListPage)
def lists(request: HttpRequest) -> dict[str, Any]:
    """List the lists of URLs whose pages can be read."""
    user = person_of(request)
    sites = dict(Site.objects.of(user).exclude(list_name="").values_list("list_name", "pk"))
    found = [UrlListOut.of(one, site_id=sites.get(one.name)) for one in url_lists.lists_of(user)]
    return {"items": found, "next": None}


@router.get("/sites", response=WebSiteList)
def list_sites(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    """List the websites whose pages are read, newest first."""
    rows = Site.objects.of(person_of(request)).prefetch_related("channels").defer("boilerplate", "robots")
    return keyset(rows, page, by="-created_at", make=site_out)


@router.post("/sites", response={201: WebSiteOut}, openapi_extra=refuses(409))
def add_site(request: HttpRequest, body: SiteIn) -> Status[dict[str, Any]]:
    """Read the pages behind a list of URLs from now on."""
    values = body.dict(exclude_none=True)
    with transaction.atomic():
        site = actions.add_site(person_of(request), values.pop("list_name"), values)
        actions.set_lists(site, values.get("more_lists", []))
        actions.set_channels(site, values.get("channel_ids", []))
    return Status(201, site_out(site))


@router.get("/sites/{int:site_id}", response=WebSiteDetail)
def get_site(request: HttpRequest, site_id: int) -> dict[str, Any]:
    """Return one website with its counts and sections."""
    site = _site(request, site_id)
    found = [{"section": name, "count": count} for name, count in sections(site)]
    return site_out(site, WebSiteDetail, counts=completeness(site, clock.now()), sections=found)


@router.patch("/sites/{int:site_id}", response=WebSiteOut)
def change_site(request: HttpRequest, site_id: int, body: SitePatch) -> dict[str, Any]:
    """Change the given fields."""
    site, values = _site(request, site_id), body.dict(exclude_unset=True)
    is_paused, more_lists = values.pop("is_paused", None), values.pop("more_lists", None)
    with transaction.atomic():
        actions.change_site(site, values)
        if more_lists is not None:
            actions.set_lists(site, more_lists)
        if values.get("channel_ids") is not None:
            actions.set_channels(site, values["channel_ids"])
    if is_paused is not None:
        (actions.pause if is_paused else actions.resume)(site)
    return site_out(site)


@router.delete("/sites/{int:site_id}", response={204: None})
def delete_site(request: HttpRequest, site_id: int) -> Status[None]:
    """Delete a website with its pages and versions."""
    actions.delete_site(_site(request, site_id), person_of(request))
    return Status(204, None)


@router.post("/sites/{int:site_id}/check", response=STARTED, openapi_extra=refuses(409), url_name="pages_check")
def check_site(request: HttpRequest, site_id: int) -> Status[dict[str, Any]]:
    """Queue a run that reads due pages."""
    return started(actions.check_now(_site(request, site_id), user=person_of(request)))


@router.get("/sites/{int:site_id}/pages", response=WebPageList)
def list_pages(request: HttpRequest, site_id: int, page: Query[WebPagesQuery]) -> Any:
    """List the pages of a website, most recently changed first; due pages by when they are due.

    `state` is a result, a fate, noindex, never or due; `q` are words of title or address. With `q`, `days`, or both
    `section` and `state` a response searches 10,000 pages: it may have few items or none, and `next` still leads on.
    """
    site, now = _site(request, site_id), clock.now()
    must_be_known("period", page.period, PERIODS)
    shown, filters = pages_of(site, given_filters(page), now, page.period)
    refuse_unknown(shown)
    if file := export(request, shown):
        return file
    rows = filters.apply(Page.objects.filter(site=site), now)
    if filters.is_indexed:
        by = "next_at" if filters.is_due else "-changed_at"
        return keyset(
            rows, page, by=by, make=WebPageOut.of, has_ties=True, is_never_null=filters.is_due, null=filters.null
        )
    if page.cursor and read_cursor(rows, "changed_at", page.cursor) is None:
        raise InvalidCursor
    found, _is_part = find_among(site, filters, {"older": page.cursor}, now, page.limit)
    return {"items": [WebPageOut.of(one) for one in found], "next": found.older or None}


@router.get("/changes", response=WebPageEventList)
def list_all_changes(request: HttpRequest, page: Query[WebChangesQuery]) -> Any:
    """List the changes of the pages of all websites, newest first."""
    return _changes(request, Site.objects.of(person_of(request)), page)


@router.get("/sites/{int:site_id}/changes", response=WebPageEventList)
def list_changes(request: HttpRequest, site_id: int, page: Query[WebChangesQuery]) -> Any:
    """List the changes of all pages of a website, newest first."""
    return _changes(request, Site.objects.of(person_of(request)).filter(pk=_site(request, site_id).pk), page)


def _changes(request: HttpRequest, sites: SiteQuerySet, page: WebChangesQuery) -> Any:
    is_changes = is_mirror(page)
    shown = show(CHANGES, events_of(sites), page, **({"since": ""} if is_changes else {}))
    if not is_changes and (file := export(request, shown)):
        return file
    if is_changes:
        found = mirrored(shown.rows, Changes("id", "at"), page, make=lambda event: event)
    else:
        by = "at" if shown.order.is_rising else "-at"
        found = keyset(shown.rows, page, by=by, make=lambda event: event)
    return {**found, "items": [_event(change) for change in with_values(found["items"])]}


def _event(change: Change) -> dict[str, Any]:
    event = change.event
    pairs = [(name, pair) for name in change.names if name != "text" and (pair := change.pair(name))]
    return {
        "id": event.pk, "kind": event.kind, "rule": event.rule, "at": event.at, "version": event.version or None,
        "fields": change.names, "values": [{"field": name, "old": old, "new": new} for name, (old, new) in pairs],
        "page": WebPageOut.of(event.page),
    }  # fmt: skip


@router.get("/sites/{int:site_id}/sections", response=SectionReports)
def list_sections(request: HttpRequest, site_id: int) -> dict[str, Any]:
    """List the sections of a website by path with counts and new pages per week."""
    rows, more = reports.sections(_site(request, site_id), clock.now())
    return {"items": [asdict(row) for row in rows], "next": None, "more": more}


@router.get("/compare", response=WeeklySites)
def compare_sites(request: HttpRequest, page: Query[WeeklyQuery]) -> dict[str, Any]:
    """Compare all websites by their pages per week: new, changed, moved, gone or delisted."""
    must_be_known("count", page.count, reports.COUNTED)
    weeks, rows = reports.weekly(Site.objects.of(person_of(request)), page.count or "new", clock.now())
    items = [{"site_id": row.site.pk, "name": row.site.name, "weeks": row.weeks, "total": row.total} for row in rows]
    return {"items": items, "next": None, "weeks": weeks}


@router.get("/{int:page_id}/timeline", response=UrlTimeline)
def get_timeline(request: HttpRequest, page_id: int) -> dict[str, Any]:
    """Return everything that is known about one URL, newest first, at most 1,000 entries."""
    return {"items": [asdict(moment) for moment in reports.timeline(_page(request, page_id))], "next": None}


@router.get("/sites/{int:site_id}/rules", response=WebRuleList)
def list_rules(request: HttpRequest, site_id: int, page: Query[PageQuery]) -> dict[str, Any]:
    """List the rules of a website, newest first."""
    rows = SiteRule.objects.filter(site=_site(request, site_id)).prefetch_related("channels")
    return keyset(rows, page, by="-id", make=_rule_out)


def _rule_out(rule: SiteRule) -> dict[str, Any]:
    return WebRuleOut.of(rule, channel_ids=[channel.pk for channel in rule.channels.all()])


@router.post("/sites/{int:site_id}/rules", response={201: WebRuleOut}, openapi_extra=refuses(409))
def add_rule(request: HttpRequest, site_id: int, body: WebRuleIn) -> Status[dict[str, Any]]:
    """Add a rule over pages of a website. One that notifies does so once whenever its condition becomes true."""
    return Status(201, _rule_out(actions.add_rule(_site(request, site_id), **body.dict())))


@router.put("/sites/{int:site_id}/rules/{int:rule_id}", response=WebRuleOut)
def change_rule(request: HttpRequest, site_id: int, rule_id: int, body: WebRuleIn) -> dict[str, Any]:
    """Replace a rule. Its feed and what it recorded stay."""
    return _rule_out(actions.change_rule(_rule(request, site_id, rule_id), **body.dict()))


@router.post("/sites/{int:site_id}/rules/preview", response=WebRulePreview, openapi_extra=refuses(409))
def preview_rule(request: HttpRequest, site_id: int, body: WebRuleIn) -> dict[str, Any]:
    """Try a rule on stored pages without adding it. A selector is tried on one page, which is read now."""
    found = actions.preview_rule(_site(request, site_id), **body.dict())
    pages = [WebPageOut.of(page) for page in found.pages]
    return {"count": found.count, "tried": found.tried, "pages": pages, "text": found.text}


@router.delete("/sites/{int:site_id}/rules/{int:rule_id}", response={204: None})
def delete_rule(request: HttpRequest, site_id: int, rule_id: int) -> Status[None]:
    """Delete a rule."""
    actions.delete_rule(_rule(request, site_id, rule_id))
    return Status(204, None)


def _rule(request: HttpRequest, site_id: int, rule_id: int) -> SiteRule:
    return get_object_or_404(SiteRule.objects.select_related("site"), site=_site(request, site_id), pk=rule_id)


@router.post("/watched", response={201: WebPageOut}, openapi_extra=refuses(409))
def add_page(request: HttpRequest, body: WatchedPageIn) -> Status[dict[str, Any]]:
    """Watch a single address."""
    page = actions.add_page(person_of(request), body.url, interval_minutes=body.interval_minutes)
    return Status(201, WebPageOut.of(page))


@router.get("/{int:page_id}", response=WebPageOut)
def get_page(request: HttpRequest, page_id: int) -> dict[str, Any]:
    """Return one page as it was last read."""
    return WebPageOut.of(_page(request, page_id))


@router.post("/{int:page_id}/check", response=STARTED, openapi_extra=refuses(409), url_name="pages_check_page")
def check_page(request: HttpRequest, page_id: int) -> Status[dict[str, Any]]:
    """Queue a run that reads this page first."""
    return started(actions.check_page(_page(request, page_id), user=person_of(request)))


@router.get("/{int:page_id}/versions", response=WebPageVersionList)
def list_versions(request: HttpRequest, page_id: int, page: Query[MirrorQuery]) -> dict[str, Any]:
    """List the versions of a page, newest first, without their texts."""
    rows = PageVersion.objects.filter(page=_page(request, page_id)).defer("data")
    if asks_for_changes(page):
        return mirrored(rows, Changes("number", "read_at"), page, make=WebPageVersionOut.of)
    return keyset(rows, page, by="-number", make=WebPageVersionOut.of)


@router.get("/{int:page_id}/versions/{int:number}", response=WebPageText)
def get_version(request: HttpRequest, page_id: int, number: int) -> dict[str, Any]:
    """Return one version of a page with its main text."""
    version = get_object_or_404(PageVersion, page=_page(request, page_id), number=number)
    return WebPageText.of(version, text=text_of(version))


@router.get("/{int:page_id}/evidence", response=WebEvidenceList)
def list_evidence(request: HttpRequest, page_id: int, page: Query[PageQuery]) -> dict[str, Any]:
    """List what was sent and received with the versions of a page, newest version first."""
    return keyset(PageEvidence.objects.filter(page=_page(request, page_id)), page, by="-number", make=WebEvidenceOut.of)


@router.get(
    "/{int:page_id}/evidence/{int:number}",
    openapi_extra=sends_file("application/octet-stream", "The requests and responses as WARC 1.1, or packed as WACZ."),
)
def get_evidence(request: HttpRequest, page_id: int, number: int, page: Query[EvidenceQuery]) -> HttpResponseBase:
    """Download what was sent and received with one version. `form` is warc or wacz."""
    must_be_known("form", page.form, evidence.FORMS)
    response = evidence.send(_page(request, page_id), number, page.form)
    response.headers["Content-Type"] = "application/octet-stream"
    return response


@router.get("/{int:page_id}/screenshots", response=WebShotList)
def list_screenshots(request: HttpRequest, page_id: int, page: Query[PageQuery]) -> dict[str, Any]:
    """List the screenshots of a page, newest version first."""
    return keyset(PageShot.objects.filter(page=_page(request, page_id)), page, by="-number", make=WebShotOut.of)


@router.get(
    "/{int:page_id}/screenshots/{int:number}",
    openapi_extra=sends_file("application/octet-stream", "The screenshot as PNG, or what differs from the one before."),
)
def get_screenshot(request: HttpRequest, page_id: int, number: int, page: Query[ShotQuery]) -> HttpResponseBase:
    """Download the screenshot of one version. `show` is picture or difference."""
    must_be_known("show", page.show, evidence.SHOWN)
    response = evidence.send_shot(request, _page(request, page_id), number, page.show)
    response.headers["Content-Type"] = "application/octet-stream"
    return response


@router.get("/{int:page_id}/diff/{int:old}/{int:new}", response=WebPageDiff)
def get_diff(request: HttpRequest, page_id: int, old: int, new: int) -> dict[str, Any]:
    """Compare two versions of a page word by word, without learned noise."""
    page = _page(request, page_id)
    first, second = (get_object_or_404(PageVersion, page=page, number=number) for number in (old, new))
    mask = Mask.of(page.mask)
    masked = masking(page.site, mask)
    found = diff.compare(masked.text(text_of(first)), masked.text(text_of(second)))
    pieces = [[asdict(piece) for piece in one.segments] for one in found.paragraphs if one.segments]
    return {
        "old": old, "new": new, "changed_fields": changed_fields(first.fields, second.fields, mask),
        "added": found.added, "removed": found.removed, "is_coarse": found.is_coarse,
        "is_too_large": found.is_too_large, "paragraphs": pieces,
    }  # fmt: skip


def _site(request: HttpRequest, site_id: int) -> Site:
    return get_object_or_404(Site.objects.of(person_of(request)).prefetch_related("channels"), pk=site_id)


def _page(request: HttpRequest, page_id: int) -> Page:
    return get_object_or_404(Page.objects.of(person_of(request)).select_related("site", "site__user"), pk=page_id)
