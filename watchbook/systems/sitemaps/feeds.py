"""The Atom feed of a monitor and the page that creates and revokes its addresses.

The address carries a token that gives access to this feed only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from watchbook.base import clock
from watchbook.core.accounts.access import person_of
from watchbook.core.accounts.models import User
from watchbook.core.stream import feeds
from watchbook.core.stream import feeds as stream_feeds
from watchbook.core.stream.feeds import Feed, Item, full_address, stable_id
from watchbook.core.stream.models import StreamFeed
from watchbook.systems.sitemaps.filters import SIGNS, Found, counts_text, sample
from watchbook.systems.sitemaps.models import ChangeRecord, ChangeType, MonitorTask
from watchbook.systems.sitemaps.views import header_context, own_monitor

SOURCE, CHANGED = "sitemaps", "changed"
ENTRIES = 30
URLS = 30


def make(user: User, monitor: MonitorTask, request: HttpRequest) -> str:
    """Create a feed address. The token is returned only here."""
    _feed, plain = stream_feeds.make(user, name=monitor.name, source=SOURCE, kind=_kind(monitor), request=request)
    return full_address(path(monitor, plain))


def of(user: User, monitor: MonitorTask) -> QuerySet[StreamFeed]:
    """Return the active feed addresses of a monitor."""
    rows: QuerySet[StreamFeed] = stream_feeds.of(user).filter(source=SOURCE, kind=_kind(monitor))
    return rows


def find(plain: str, monitor_id: UUID) -> MonitorTask | None:
    """Return the monitor if the token gives access to its feed."""
    feed = stream_feeds.find(plain)
    if feed is None or feed.source not in ("", SOURCE):
        return None
    monitor = MonitorTask.objects.of(feed.user).select_related("user").filter(pk=monitor_id).first()
    return monitor if monitor is not None and feed.kind in ("", CHANGED, _kind(monitor)) else None


def document(monitor: MonitorTask, plain: str) -> bytes:
    """Render the newest changes, each with its first URLs, in the owner's language."""
    language = monitor.user.language or "en"
    with translation.override(language):
        head = Feed(
            id=stable_id(SOURCE, "monitor", monitor.pk),
            title=f"Watchbook: {monitor.name}",
            link=reverse("sitemaps:monitor", args=[monitor.pk]),
            self_link=path(monitor, plain),
            language="zh-Hans" if language.startswith("zh") else "en",
        )
        return feeds.atom(head, [_item(monitor, record) for record in _records(monitor)])


def path(monitor: MonitorTask, plain: str) -> str:
    return reverse("sitemaps:feed", args=[plain, monitor.pk])


def _kind(monitor: MonitorTask) -> str:
    """Return the feed kind of a monitor. The activity has no such kind, so the token opens no other feed."""
    return f"monitor:{monitor.pk}"


def _records(monitor: MonitorTask) -> QuerySet[ChangeRecord]:
    rows = ChangeRecord.objects.filter(monitor_task=monitor, change_type=ChangeType.CHANGED)
    return rows.order_by("-created_at", "-pk")[:ENTRIES]


def _item(monitor: MonitorTask, record: ChangeRecord) -> Item:
    return Item(
        id=stable_id(SOURCE, "change", record.pk),
        title=f"{monitor.name}: {counts_text(record) or _('frequently changing URLs only')}",
        text="\n".join(_lines(monitor, sample(record, URLS))),
        link=reverse("sitemaps:change", args=[record.pk]),
        updated_at=record.created_at,
        categories=(SOURCE, f"{SOURCE}.{CHANGED}"),
    )


def _lines(monitor: MonitorTask, found: Found) -> Iterator[str]:
    yield monitor.sitemap_url
    yield from (f"{SIGNS[item.kind]} {item.url}" for item in found.items)
    if found.more > 0:
        yield _("… and %(count)d more") % {"count": found.more}


@never_cache
@require_http_methods(["GET", "POST"])
def own_feed(request: HttpRequest, monitor_id: UUID) -> HttpResponse:
    """Show the feed addresses and create a new one, which is shown only in this response."""
    found = own_monitor(request, monitor_id)
    context: dict[str, Any] = {**header_context(found), "tab": "feed", "now": clock.now()}
    if request.method == "POST":
        if stream_feeds.of(person_of(request)).count() >= stream_feeds.MOST:
            messages.error(request, _("You have %(n)s feeds. Revoke one first.") % {"n": stream_feeds.MOST})
            return redirect("sitemaps:own_feed", found.pk)
        context["address"] = make(person_of(request), found, request)
    mine = of(person_of(request), found)
    context["feeds"] = [(each, reverse("sitemaps:revoke_feed", args=[found.pk, each.pk])) for each in mine]
    return render(request, "sitemaps/feed.html", context)


@require_POST
def revoke_feed(request: HttpRequest, monitor_id: UUID, pk: int) -> HttpResponse:
    found = own_monitor(request, monitor_id)
    stream_feeds.revoke(get_object_or_404(of(person_of(request), found), pk=pk), request=request)
    messages.success(request, _("Revoked. This feed address no longer works."))
    return redirect("sitemaps:own_feed", found.pk)


@login_not_required  # the token in the address is the proof
@require_safe
def feed(request: HttpRequest, token: str, monitor_id: UUID) -> HttpResponse:
    monitor = find(token, monitor_id)
    if monitor is None:
        raise Http404
    return feeds.answer(request, document(monitor, token), feeds.ATOM)
