"""Pages of the inbox: the list, one entry beside it, marking, how many are new; the list of feeds, and the feeds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe

from watchbook.base import clock
from watchbook.base.text import clean_text
from watchbook.core import registry
from watchbook.core.accounts.access import person_of, safe_next, viewer_scopes
from watchbook.core.stream import entries, feeds, inbox, reading, selection
from watchbook.core.stream.inbox import PERIOD_TITLES, UNREAD, VIEW_COOKIE, VIEWS, FilterForm, read_filters
from watchbook.core.stream.models import StreamEntry
from watchbook.core.stream.reading import Reader, reader_for, unread_of
from watchbook.kit.formatting import keep_in_cookie


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


LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Opened:
    """The entry in the reading pane."""

    entry: StreamEntry
    listed: entries.ListedEntry
    source: str
    is_unread: bool

    @property
    def title(self) -> str:
        return self.entry.title or self.entry.object_id


@require_GET
def stream(request: HttpRequest) -> HttpResponse:
    """List entries; the pane is empty until one is opened."""
    form = read_filters(request.GET)
    reader = reader_for(request)
    return render(request, "stream/inbox.html", _list(request, form, reader))


@require_GET
def open_entry(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one entry: the pane alone for htmx, else beside its list."""
    form = read_filters(request.GET)
    reader = reader_for(request)
    entry = reader.entries.filter(pk=min(pk, LARGEST)).first()
    if entry is None:
        raise Http404
    context = {"query": form.query(), "here": request.get_full_path(), **_opened(request, reader, entry)}
    asked = request.GET.get("view", "")
    view = next((each for each in (asked, request.COOKIES.get(VIEW_COOKIE, "")) if each in VIEWS), "inline")
    here = reverse("stream_entry", args=[entry.pk])
    context["views"] = [
        (title, here + _with(form.query(), "view", name), name == view) for name, title in VIEWS.items()
    ]
    context["is_beside"] = view == "side"
    if request.headers.get("HX-Target") == "read":
        response = render(request, "stream/_reading.html", context)
    else:
        response = render(request, "stream/inbox.html", {**_list(request, form, reader), **context})
    if asked in VIEWS:
        keep_in_cookie(response, VIEW_COOKIE, asked)
    return response


def _opened(request: HttpRequest, reader: Reader, entry: StreamEntry) -> dict[str, Any]:
    detail = inbox.find_detail(entry, person_of(request))
    (listed,) = entries.listed([entry])
    title = next((_(source.title) for source in registry.sources() if source.slug == entry.source), entry.source)
    return {
        "opened": Opened(entry, listed, title, bool(reading.unread_among(reader, [entry.pk]))),
        "detail": detail,
        "earlier": detail.earlier or inbox.earlier_changes(reader, entry),
    }


def _list(request: HttpRequest, form: FilterForm, reader: Reader) -> dict[str, Any]:
    page = inbox.read_page(reader, form, request.GET)
    unread_ids = reading.unread_among(reader, [entry.pk for entry in page])
    query, base = form.query(), reverse("stream")
    return {
        "form": form,
        "chosen": form.cleaned_data,
        "page": page,
        "days": inbox.by_day(page.items, unread_ids, by_arrival=form.is_unread),
        "by_arrival": form.is_unread,
        "unread": unread_of(request),
        "newest": reader.newest,
        "is_part": bool(form.cleaned_data.get("q")) and reader.newest > inbox.SEARCHED,
        "searched": inbox.SEARCHED,
        "can_save": registry.clip_source() is not None,
        "now": clock.now(),
        "here": request.get_full_path(),
        "query": query,
        "feed_query": _feed_query(form),
        "live_query": f"{query}{'&' if query else '?'}after={reader.newest}",
        "newer_url": f"{base}{_with(query, 'newer', page.newer)}",
        "older_url": f"{base}{_with(query, 'older', page.older)}",
        **_filters(form, base),
    }


def _feed_query(form: FilterForm) -> str:
    return form.query(show=None, period=None, day=None, start=None, end=None, q=None)


def _filters(form: FilterForm, base: str) -> dict[str, Any]:
    chosen = form.cleaned_data
    first, last = form.days() if not chosen.get("period") else (None, None)
    source = chosen.get("source", "")
    periods = [
        (name, title, base + form.query(period=None if is_on else name, day=None, start=None, end=None), is_on)
        for name, title in PERIOD_TITLES
        for is_on in [chosen.get("period") == name]
    ]
    return {
        "sources": registry.publishing_sources(),
        "kinds": registry.stream_kinds_of(source) if source else [],
        "periods": periods,
        "first": first,
        "last": last,
        "unread_url": base + form.query(show=UNREAD),
        "all_url": base + form.query(show=None),
        "cleared_url": base + (f"?show={UNREAD}" if form.is_unread else ""),
    }


def _with(query: str, name: str, value: str) -> str:
    made = QueryDict(query.removeprefix("?"), mutable=True)
    made[name] = value
    return f"?{made.urlencode()}"


@require_GET
def new_entries(request: HttpRequest) -> HttpResponse:
    """Say how many entries of this list arrived since it was loaded; the list itself stays as it is."""
    form = read_filters(request.GET)
    reader = reader_for(request)
    after = _number(request.GET.get("after", "")) or reader.newest
    query = form.query()
    context = {
        "new": reading.count_new(reader, form.filter(reader.entries), after),
        "unread": unread_of(request),
        "query": query,
        "live_query": f"{query}{'&' if query else '?'}after={after}",
    }
    return render(request, "stream/_new.html", context)


@require_POST
def mark(request: HttpRequest) -> HttpResponse:
    """Mark entries as read or unread, or take them to the page that saves them."""
    given = [*request.POST.getlist("ids"), request.GET.get("ids", "")]
    ids = [number for part in given for text in part.split(",") if (number := _number(text))]
    ids = list(dict.fromkeys(ids))
    act = request.POST.get("act") or request.GET.get("act") or ""
    target = safe_next(request, request.POST.get("next", ""), "stream")
    if not ids or act not in ("read", "unread", "save"):
        messages.warning(request, _("Select at least one entry."))
        return redirect(target)
    if len(ids) > reading.MOST_MARKED:
        messages.error(request, _("Select at most %(most)s entries.") % {"most": reading.MOST_MARKED})
        return redirect(target)
    if act == "save":
        return _save(request, ids, target)
    user = person_of(request)
    seen = reading.mark(user, ids, read=act == "read")
    words = _marked_words(len(seen), act)
    if request.headers.get("HX-Request"):
        return _marked(request, ids, act, words)
    messages.success(request, words)
    return redirect(target)


def _marked_words(count: int, act: str) -> str:
    if act == "read":
        return ngettext("%(n)s entry marked as read.", "%(n)s entries marked as read.", count) % {"n": count}
    return ngettext("%(n)s entry marked as unread.", "%(n)s entries marked as unread.", count) % {"n": count}


def _marked(request: HttpRequest, ids: list[int], act: str, words: str) -> HttpResponse:
    """Let the page change its rows and offer to undo."""
    unread = unread_of(request)
    opposite = "unread" if act == "read" else "read"
    undo = f"{reverse('stream_mark')}?act={opposite}&ids={','.join(map(str, ids))}"
    numbers = {"count": str(unread), "words": _("%(n)s unread") % {"n": unread}}
    events = {
        "marked": {"ids": ids, "read": act == "read", "unread": numbers},
        "toast": {"text": words, "undo": undo},
    }
    return HttpResponse(status=204, headers={"HX-Trigger": json.dumps(events)})


def _save(request: HttpRequest, ids: list[int], target: str) -> HttpResponse:
    """Open the page that saves the items of these entries; entries whose item cannot be saved are counted."""
    found = StreamEntry.objects.visible_to(viewer_scopes(request.user)).filter(pk__in=ids).order_by("-pk")
    items = [(entry.object_kind, entry.object_id) for entry in found if entry.title]
    return selection.save(request, items, target, asked=len(ids))


@require_POST
def read_all(request: HttpRequest) -> HttpResponse:
    """Mark as read what the page could show: entries that arrived later stay unread."""
    form = read_filters(request.POST)
    user = person_of(request)
    until = _number(request.POST.get("until", "")) or reading.reader_of(user).newest
    target = reverse("stream") + form.query()
    if not form.number_in_use:
        reading.mark_all_read(user, until=until)
        messages.success(request, _("All entries are marked as read."))
        return redirect(target)
    rows = form.filter(StreamEntry.objects.visible_to(viewer_scopes(user)))
    count, is_left = reading.mark_rows_read(user, rows, until=until)
    messages.success(request, _marked_words(count, "read"))
    if is_left:
        messages.warning(request, _("More entries match. Select Mark all matches read again."))
    return redirect(target)


def _number(text: str) -> int | None:
    """A positive number that a database can hold, or None."""
    return int(text) if text.isascii() and text.isdigit() and 0 < int(text[:20]) <= LARGEST and len(text) < 20 else None
