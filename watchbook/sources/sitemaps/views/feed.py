"""The page that makes and revokes feed addresses, and the feed itself."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from watchbook.base import clock
from watchbook.core.stream import atom
from watchbook.core.stream import feeds as stream_feeds
from watchbook.sources.sitemaps import feeds
from watchbook.sources.sitemaps.views.head import head
from watchbook.sources.sitemaps.views.own import own_monitor


@never_cache
@require_http_methods(["GET", "POST"])
def own_feed(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    """The addresses that work, and a new one; it is in this one answer and nowhere else."""
    found = own_monitor(request, monitor_id)
    context: dict[str, Any] = {**head(found), "tab": "feed", "now": clock.now()}
    if request.method == "POST":
        if stream_feeds.of(request.user).count() >= stream_feeds.MOST:
            messages.error(request, _("You have %(n)s feeds. Revoke one first.") % {"n": stream_feeds.MOST})
            return redirect("sitemaps:own_feed", found.pk)
        context["address"] = feeds.make(request.user, found, request)
    context["feeds"] = feeds.of(request.user, found)
    return render(request, "sitemaps/feed.html", context)


@require_POST
def revoke_feed(request: HttpRequest, monitor_id: UUID, pk: int) -> HttpResponse:
    found = own_monitor(request, monitor_id)
    stream_feeds.revoke(get_object_or_404(feeds.of(request.user, found), pk=pk), request=request)
    messages.success(request, _("Revoked. This address answers nothing any more."))
    return redirect("sitemaps:own_feed", found.pk)


@login_not_required  # the token in the address is the proof
@require_safe
def feed(request: HttpRequest, token: str, monitor_id: UUID) -> HttpResponse:
    monitor = feeds.find(token, monitor_id)
    if monitor is None:
        raise Http404
    return atom.answer(request, feeds.document(monitor, token), atom.ATOM)
