"""Pages that answer questions: changes, sections, websites compared, the life of one URL. Each can be exported.

Feeds of websites and pages: the page that creates and revokes their addresses, and the feed behind an address.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from watchbook.base import clock
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.audit import export, export_table
from watchbook.core.stream import feeds as stream_feeds
from watchbook.kit.lists.exports import FORMATS, Column, Table
from watchbook.kit.lists.shown import FORMAT_TITLES
from watchbook.systems.pages import feeds, reports
from watchbook.systems.pages.feeds import Subject
from watchbook.systems.pages.filters import CHANGES, events_of, with_values
from watchbook.systems.pages.models import Site, SiteRule
from watchbook.systems.pages.store.pages import SOURCE
from watchbook.systems.pages.views import (
    field_names,
    header_context,
    own_page,
    own_site,
    page_badge,
)

COUNT_TITLES = {
    "new": gettext_lazy("New pages"),
    "changed": gettext_lazy("Changed pages"),
    "moved": pgettext_lazy("fate", "Moved"),
    "gone": pgettext_lazy("fate", "Gone"),
    "delisted": pgettext_lazy("fate", "No longer listed"),
}
MOMENT_TITLES = {
    "listed": gettext_lazy("First seen"),
    "left": gettext_lazy("Left the list"),
    "version": gettext_lazy("Version"),
}


@require_GET
def changes(request: HttpRequest, site_id: int | None = None) -> HttpResponseBase:
    """Every change of the pages of one website, or of all, newest first."""
    site = own_site(request, site_id) if site_id is not None else None
    sites = Site.objects.of(person_of(request))
    listing = CHANGES.show(events_of(sites.filter(pk=site.pk) if site else sites), request.GET)
    if file := export(request, listing):
        return file
    rows = [
        (change, change.pair("title"), change.pair("price"), field_names(change.names))
        for change in with_values(listing.page.items)
    ]
    context = {"listing": listing, "page": listing.page, "rows": rows, "month": clock.now().strftime("%Y-%m-01")}
    context |= header_context(site, "changes") if site else {"now": clock.now()}
    return render(request, "pages/changes.html" if site else "pages/all_changes.html", context)


@require_GET
def sections(request: HttpRequest, site_id: int) -> HttpResponseBase:
    """Sections of a website by path, with counts and trend."""
    site, now = own_site(request, site_id), clock.now()
    rows, more = reports.sections(site, now)
    names = ("section", "pages", "read", "new", "changed", "removed")
    if file := _file(request, f"{site.name} sections", names, rows):
        return file
    context = {**header_context(site, "sections"), "rows": rows, "more": more, "formats": FORMAT_TITLES.items()}
    return render(request, "pages/sections.html", context)


@require_GET
def compare(request: HttpRequest) -> HttpResponseBase:
    """Pages per week of all websites beside each other."""
    counted = request.GET.get("count", "new")
    counted = counted if counted in reports.COUNTED else "new"
    weeks, rows = reports.weekly(Site.objects.of(person_of(request)), counted, clock.now())
    if (form := _form(request)) is not None:
        columns = [Column("site", lambda row: row.site.name)]
        columns += [Column(week.isoformat(), _nth(place)) for place, week in enumerate(weeks)]
        table = Table(f"{counted} pages per week", [*columns, Column("total")], rows)
        return export_table(request, table, form)
    context = {
        "rows": rows,
        "weeks": weeks,
        "counted": counted,
        "titles": COUNT_TITLES.items(),
        "title": COUNT_TITLES[counted],
        "formats": FORMAT_TITLES.items(),
        "now": clock.now(),
    }
    return render(request, "pages/compare.html", context)


def _nth(place: int) -> Any:
    return lambda row: row.weeks[place]


@require_GET
def timeline(request: HttpRequest, page_id: int) -> HttpResponseBase:
    """Everything that is known about one URL."""
    page = own_page(request, page_id)
    moments = reports.timeline(page)
    names = ("at", "kind", "version", "fields", "words_added", "words_removed", "more")
    if file := _file(request, f"{page.path} timeline", names, moments):
        return file
    titles = {name: str(title) for name, title in (MOMENT_TITLES | COUNT_TITLES).items()} | {"rule": _("Rule")}
    rows = [(moment, titles.get(moment.kind, moment.kind)) for moment in moments]
    context = {
        **header_context(page.site),
        "page": page,
        "badge": page_badge(page),
        "rows": rows,
        "formats": FORMAT_TITLES.items(),
    }
    return render(request, "pages/timeline.html", context)


def _form(request: HttpRequest) -> str | None:
    form = request.GET.get("format", "")
    return form if form in FORMATS else None


def _file(request: HttpRequest, name: str, columns: Sequence[str], rows: Iterable[Any]) -> HttpResponseBase | None:
    form = _form(request)
    made = [Column(column, attrgetter(column)) for column in columns]
    return export_table(request, Table(name, made, rows), form) if form else None


@never_cache
@require_http_methods(["GET", "POST"])
def site_feed(request: HttpRequest, site_id: int) -> HttpResponse:
    """Addresses of the feed of a website."""
    return _own_feed(request, Subject(own_site(request, site_id)))


@never_cache
@require_http_methods(["GET", "POST"])
def page_feed(request: HttpRequest, page_id: int) -> HttpResponse:
    """Addresses of the feed of one page."""
    page = own_page(request, page_id)
    return _own_feed(request, Subject(page.site, page))


@never_cache
@require_http_methods(["GET", "POST"])
def rule_feed(request: HttpRequest, site_id: int, rule_id: int) -> HttpResponse:
    """Addresses of the feed of one rule."""
    site = own_site(request, site_id)
    return _own_feed(request, Subject(site, rule=get_object_or_404(SiteRule, site=site, pk=rule_id)))


def _own_feed(request: HttpRequest, subject: Subject) -> HttpResponse:
    """Show the addresses and create a new one, which is shown only in this response."""
    user = person_of(request)
    tab = "rules" if subject.rule else "" if subject.page else "feed"
    context: dict[str, Any] = {**header_context(subject.site, tab), "subject": subject}
    if request.method == "POST":
        if stream_feeds.of(user).count() >= stream_feeds.MOST:
            messages.error(request, _("You have %(n)s feeds. Revoke one first.") % {"n": stream_feeds.MOST})
            return redirect(subject.own_page)
        context["address"] = feeds.make(user, subject, request)
    context["feeds"] = [(each, reverse("pages:revoke_feed", args=[each.pk])) for each in feeds.of(user, subject)]
    context["page"] = subject.page
    return render(request, "pages/feed.html", context)


@require_POST
def revoke_feed(request: HttpRequest, pk: int) -> HttpResponse:
    feed = get_object_or_404(stream_feeds.of(person_of(request)).filter(source=SOURCE), pk=pk)
    kind, _colon, number = feed.kind.partition(":")
    subject = feeds.named(feed.user, kind, int(number)) if number.isdecimal() else None
    stream_feeds.revoke(feed, request=request)
    messages.success(request, _("Revoked. This feed address no longer works."))
    return redirect(subject.own_page if subject else "pages:sites")


@login_not_required  # the token in the address is the proof
@require_safe
def feed(request: HttpRequest, token: str, kind: str, number: int) -> HttpResponse:
    subject = feeds.find(token, kind, number)
    if subject is None:
        raise Http404
    return stream_feeds.answer(request, feeds.document(subject, token), stream_feeds.ATOM)
