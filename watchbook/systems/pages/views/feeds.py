"""Feeds of websites and pages: the page that creates and revokes their addresses, and the feed behind an address."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from watchbook.core.accounts.access import person_of
from watchbook.core.stream import feeds as stream_feeds
from watchbook.systems.pages import feeds
from watchbook.systems.pages.feeds import Subject
from watchbook.systems.pages.store.pages import SOURCE
from watchbook.systems.pages.views import header_context, own_page, own_site


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


def _own_feed(request: HttpRequest, subject: Subject) -> HttpResponse:
    """Show the addresses and create a new one, which is shown only in this response."""
    user = person_of(request)
    context: dict[str, Any] = {**header_context(subject.site, "" if subject.page else "feed"), "subject": subject}
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
    stream_feeds.revoke(feed, request=request)
    messages.success(request, _("Revoked. This feed address no longer works."))
    names = {"site": "pages:site_feed", "page": "pages:page_feed"}
    return redirect(names[kind], int(number)) if kind in names else redirect("pages:sites")


@login_not_required  # the token in the address is the proof
@require_safe
def feed(request: HttpRequest, token: str, kind: str, number: int) -> HttpResponse:
    subject = feeds.find(token, kind, number)
    if subject is None:
        raise Http404
    return stream_feeds.answer(request, feeds.document(subject, token), stream_feeds.ATOM)
