"""The list of feeds, and the feeds themselves."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from watchbook.base import clock
from watchbook.base.text import clean_text
from watchbook.core import registry
from watchbook.core.accounts.access import person_of
from watchbook.core.stream import feeds
from watchbook.core.stream.filters import read_filters


class FeedForm(forms.Form):
    """A feed keeps the filters it was made with."""

    name = forms.CharField(
        max_length=100, label=gettext_lazy("Name"), help_text=gettext_lazy("For example the feed reader that uses it.")
    )
    source = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)
    kind = forms.CharField(required=False, max_length=60, widget=forms.HiddenInput)
    q = forms.CharField(
        required=False,
        max_length=400,
        label=gettext_lazy("Query"),
        help_text=gettext_lazy("The feed then has what the search finds. Empty: activity."),
    )


@never_cache
@require_http_methods(["GET", "POST"])
def own_feeds(request: HttpRequest) -> HttpResponse:
    """The list, and a new one; its address is in this one answer and nowhere else."""
    filters = read_filters(request.POST or request.GET)
    kept = {name: filters.cleaned_data.get(name, "") for name in ("source", "kind")}
    query = clean_text((request.POST or request.GET).get("q", ""))[:400].strip()
    context: dict[str, Any] = {"kept": kept, "words": _words(kept), "now": clock.now()}
    if request.method == "POST":
        form = FeedForm(request.POST)
        if form.is_valid() and feeds.of(person_of(request)).count() >= feeds.MOST:
            form.add_error("name", _("You have %(n)s feeds. Revoke one first.") % {"n": feeds.MOST})
        if form.is_valid():
            name = form.cleaned_data["name"]
            made, plain = feeds.make(person_of(request), name=name, query=query, request=request, **kept)
            context |= {"made": made, "addresses": [feeds.address(plain, ending) for ending in ("atom", "json")]}
            form = FeedForm(initial=kept)
    else:
        name = query[:60] or _words(kept) or _("Activity")
        form = FeedForm(initial={**kept, "q": query, "name": name})
    rows = [
        (feed, feed.query or _words({"source": feed.source, "kind": feed.kind}))
        for feed in feeds.of(person_of(request))
    ]
    context |= {"form": form, "feeds": rows}
    return render(request, "stream/feeds.html", context, status=422 if form.errors else 200)


@require_POST
def revoke_feed(request: HttpRequest, pk: int) -> HttpResponse:
    feed = get_object_or_404(feeds.of(person_of(request)), pk=pk)
    feeds.revoke(feed, request=request)
    messages.success(request, _("Feed revoked: %(name)s. Its address no longer works.") % {"name": feed.name})
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
        (feeds.atom(head, items), feeds.ATOM) if ending == "atom" else (feeds.json_feed(head, items), feeds.JSON)
    )
    return feeds.answer(request, body, content_type)


def _words(kept: dict[str, str]) -> str:
    """The filters in words."""
    source = next((source for source in registry.publishing_sources() if source.slug == kept["source"]), None)
    if source is None:
        return ""
    return ", ".join(
        filter(None, [_(source.title), registry.stream_kind_title(source.slug, kept["kind"]) if kept["kind"] else ""])
    )
