"""The list of websites, the pages of one website, and its noise."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urljoin

from django.db.models import Sum
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.core import url_lists
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.audit import export
from watchbook.core.health import Health
from watchbook.kit import formatting
from watchbook.kit.badges import Badge
from watchbook.kit.charts import Chart, bars, checks
from watchbook.kit.charts.svg import Series
from watchbook.kit.lists.shown import Total
from watchbook.kit.paging import keyset
from watchbook.systems.pages.filters import STATE_TITLES, completeness, find, pages_of, sections
from watchbook.systems.pages.health import site_health
from watchbook.systems.pages.models import Fate, Page, PageEvent, Site, SiteDay, url_digest
from watchbook.systems.pages.parse.noise import Mask
from watchbook.systems.pages.store import counts
from watchbook.systems.pages.views import field_names, header_context, own_site, page_badge

PER_PAGE = 50
DAYS = 30
MASKS_SHOWN = 50
# The chart of the first day: newest events that are counted, and where each is drawn.
MOST_EVENTS = 500
DRAWN: dict[str, int] = {PageEvent.CHANGED: 1, Fate.MOVED: 2, Fate.GONE: 2, Fate.DELISTED: 2}
COLOURS = ("c-add", "sys-pages", "c-del")


@dataclass(frozen=True)
class SiteRow:
    site: Site
    health: Health
    known: int
    read: int


@dataclass(frozen=True)
class PageRow:
    """A page in the list; `note` says what its last change was."""

    page: Page
    badge: Badge
    note: str


@require_GET
def sites(request: HttpRequest) -> HttpResponse:
    user, now = person_of(request), clock.now()
    own = Site.objects.of(user).defer("boilerplate", "robots")
    page = keyset(own, request.GET, by="created_at", size=PER_PAGE)
    counted = counts.of_sites(page.items)
    rows = [SiteRow(site, site_health(site, now), counted[site.pk].known, counted[site.pk].read) for site in page]
    has_lists = bool(url_lists.lists_of(user)) if not rows else True
    return render(request, "pages/sites.html", {"rows": rows, "page": page, "has_lists": has_lists, "now": now})


@require_GET
def site(request: HttpRequest, site_id: int) -> HttpResponseBase:
    found, now = own_site(request, site_id), clock.now()
    listing, filters = pages_of(found, request.GET, now)
    if file := export(request, listing):
        return file
    searched = find(found, filters, request.GET, now, PER_PAGE)
    listing.total = searched.total
    counted = completeness(found, now)
    robots = url_digest(urljoin(found.address, "/robots.txt"))
    context = {
        **header_context(found),
        "filters": filters,
        "page": searched.page,
        "listing": listing,
        "is_part": searched.is_part,
        "rows": [PageRow(one, page_badge(one), note_of(one)) for one in searched.page],
        "total": sum(counted[name] for name in ("known", "moved", "gone", "delisted", "asking")),
        "counts": counted,
        "due": Total(counted["due"], is_more=counted["has_more_due"]),
        "sections": sections(found),
        "sums": _sums(found),
        "robots_page": Page.objects.filter(site=found, url_digest=robots).first(),
        "chart": _chart(found),
        "is_first_day": _is_first_day(found),
        "states": _states(counted),
    }
    return render(request, "pages/site.html", context)


def _states(counted: dict[str, Any]) -> list[tuple[str, str, int]]:
    named = ((name, title, "never_read" if name == "never" else name) for name, title in STATE_TITLES.items())
    return [(name, title, counted[key]) for name, title, key in named if key in counted]


def note_of(page: Page) -> str:
    """What the last change of a page was, in a few words."""
    if page.moved_to:
        origin = "/".join(page.url.split("/")[:3])
        return _("to %(url)s") % {"url": page.moved_to.removeprefix(origin) or page.moved_to}
    if page.error:
        return _("%(error)s Not marked as gone.") % {"error": _(page.error)}
    if page.fate:
        return ""
    if page.version_count == 1:
        return _("first version")
    return field_names(page.changed_fields)


def _sums(found: Site) -> dict[str, int]:
    since = formatting.today() - timedelta(days=DAYS)
    names = ("new", "changed", "moved", "gone", "delisted", "requests", "looks")
    sums = SiteDay.objects.filter(site=found, day__gt=since).aggregate(**{name: Sum(name) for name in names})
    return {name: value or 0 for name, value in sums.items()}


def _chart(found: Site) -> Chart | None:
    """New, changed and removed pages per day; days without any look are not measured."""
    today = formatting.today()
    days = [today - timedelta(days=back) for back in range(DAYS - 1, -1, -1)]
    rows = {row.day: row for row in SiteDay.objects.filter(site=found, day__gte=days[0])}
    if not rows:
        return None
    taken = [day for day in days if day >= min(rows)]
    if _is_first_day(found):
        return _first_day(found, clock.now())
    series = [
        Series(pgettext("chart", "new"), [rows[day].new if day in rows else None for day in taken], "c-add"),
        Series(
            pgettext("chart", "changed"), [rows[day].changed if day in rows else None for day in taken], "sys-pages"
        ),
        Series(
            pgettext("chart", "removed"),
            [rows[day].gone + rows[day].moved + rows[day].delisted if day in rows else None for day in taken],
            "c-del",
        ),
    ]
    return bars(taken, series, label=_("New, changed and removed pages per day"))


def _is_first_day(found: Site) -> bool:
    return formatting.local(found.created_at).date() == formatting.today()


def _first_day(found: Site, now: datetime) -> Chart:
    """New, changed and removed pages of each minute: one bar per day says nothing on the first day."""
    listed = Page.objects.filter(site=found).order_by("first_seen_at").values_list("first_seen_at", flat=True)
    start = (listed.first() or found.created_at).replace(second=0, microsecond=0)
    new = listed.filter(first_seen_at__gt=start, is_baseline=False).reverse()[:MOST_EVENTS]
    events = PageEvent.objects.filter(site=found).order_by("-at").values_list("at", "kind")[:MOST_EVENTS]
    minutes: defaultdict[datetime, list[int]] = defaultdict(lambda: [0, 0, 0])
    for at, place in [*((at, 0) for at in new), *((at, DRAWN[kind]) for at, kind in events if kind in DRAWN)]:
        minutes[at.replace(second=0, microsecond=0)][place] += 1
    moments = sorted({start, *minutes})
    titles = (pgettext("chart", "new"), pgettext("chart", "changed"), pgettext("chart", "removed"))
    series = [Series(title, [minutes[at][n] for at in moments], COLOURS[n]) for n, title in enumerate(titles)]
    label = _("New, changed and removed pages on the first day")
    return checks(moments, series, now=now, first=_("first check"), label=label, below=titles[2:])


@require_GET
def noise(request: HttpRequest, site_id: int) -> HttpResponse:
    """What is ignored when pages of this website are compared."""
    found = own_site(request, site_id)
    masked = Page.objects.filter(site=found).exclude(mask={}).order_by("-last_read_at")[:MASKS_SHOWN]
    rows = [(page, mask) for page in masked if (mask := Mask.of(page.mask))]
    return render(request, "pages/noise.html", {**header_context(found, "noise"), "rows": rows})
