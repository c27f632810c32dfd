"""The stream as a page, its feeds, and the feeds themselves."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from watchbook.base import clock
from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.stream import atom, feeds, kinds, lines
from watchbook.core.stream.forms import FeedForm, FilterForm
from watchbook.core.stream.models import StreamEntry
from watchbook.core.ui.paging import keyset

PER_PAGE = 50


@require_GET
def stream(request: HttpRequest) -> HttpResponse:
    form = FilterForm(request.GET)
    form.is_valid()
    rows = form.narrow(StreamEntry.objects.visible_to(viewer_scopes(request.user)))
    page = keyset(rows, request.GET, by="occurred_at", size=PER_PAGE)
    source = form.cleaned_data.get("source", "")
    context = {
        "form": form,
        "page": page,
        "days": lines.by_day(page.items),
        "sources": kinds.sources(),
        "kinds": kinds.kinds_of(source) if source else [],
        "now": clock.now(),
    }
    return render(request, "stream/stream.html", context)


@never_cache
@require_http_methods(["GET", "POST"])
def own_feeds(request: HttpRequest) -> HttpResponse:
    """The list, and a new one; its address is in this one answer and nowhere else."""
    filters = FilterForm(request.POST or request.GET)
    filters.is_valid()
    kept = {name: filters.cleaned_data.get(name, "") for name in ("source", "kind")}
    context: dict[str, Any] = {"kept": kept, "words": _words(kept), "now": clock.now()}
    if request.method == "POST":
        form = FeedForm(request.POST)
        if form.is_valid() and feeds.of(request.user).count() >= feeds.MOST:
            form.add_error("name", _("You have %(n)s feeds. Revoke one first.") % {"n": feeds.MOST})
        if form.is_valid():
            made, plain = feeds.make(request.user, name=form.cleaned_data["name"], request=request, **kept)
            context |= {"made": made, "addresses": [feeds.address(plain, ending) for ending in ("atom", "json")]}
            form = FeedForm(initial=kept)
    else:
        form = FeedForm(initial={**kept, "name": _words(kept) or _("Stream")})
    rows = [(feed, _words({"source": feed.source, "kind": feed.kind})) for feed in feeds.of(request.user)]
    context |= {"form": form, "feeds": rows}
    return render(request, "stream/feeds.html", context, status=422 if form.errors else 200)


@require_POST
def revoke_feed(request: HttpRequest, pk: int) -> HttpResponse:
    feed = get_object_or_404(feeds.of(request.user), pk=pk)
    feeds.revoke(feed, request=request)
    messages.success(request, _("Revoked: %(name)s. Its address answers nothing any more.") % {"name": feed.name})
    return redirect("stream_feeds")


@login_not_required
@require_safe
def feed_atom(request: HttpRequest, token: str) -> HttpResponse:
    return _feed(request, token, "atom")


@login_not_required
@require_safe
def feed_json(request: HttpRequest, token: str) -> HttpResponse:
    return _feed(request, token, "json")


def _feed(request: HttpRequest, token: str, ending: str) -> HttpResponse:
    feed = feeds.find(token)
    if feed is None:
        raise Http404
    items = feeds.items(feed)
    head = feeds.head(feed, token, ending)
    body, content_type = (
        (atom.atom(head, items), atom.ATOM) if ending == "atom" else (atom.json_feed(head, items), atom.JSON)
    )
    return atom.answer(request, body, content_type)


def _words(kept: dict[str, str]) -> str:
    """The filters in words."""
    source = next((source for source in kinds.sources() if source.slug == kept["source"]), None)
    if source is None:
        return ""
    return ", ".join(filter(None, [_(source.title), kinds.title_of(source.slug, kept["kind"]) if kept["kind"] else ""]))
