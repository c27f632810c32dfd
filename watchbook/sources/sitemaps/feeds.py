"""The Atom feed of a monitor's changes. Its address carries a token that opens this one feed and can be revoked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _

from watchbook.core.stream import feeds
from watchbook.core.stream.atom import Feed, Item, atom, full_address, stable_id
from watchbook.core.stream.models import StreamFeed
from watchbook.sources.sitemaps.finding import SIGNS, Found, counts_text, taste
from watchbook.sources.sitemaps.models import ChangeRecord, ChangeType, MonitorTask

SOURCE, CHANGED = "sitemaps", "changed"
ENTRIES = 30
URLS = 30


def make(user: Any, monitor: MonitorTask, request: HttpRequest) -> str:
    """A new address of the monitor's feed; nobody can read it again."""
    _feed, plain = feeds.make(user, name=monitor.name, source=SOURCE, kind=_kind(monitor), request=request)
    return full_address(path(monitor, plain))


def of(user: Any, monitor: MonitorTask) -> QuerySet[StreamFeed]:
    """The addresses of this monitor's feed that still work."""
    rows: QuerySet[StreamFeed] = feeds.of(user).filter(source=SOURCE, kind=_kind(monitor))
    return rows


def find(plain: str, monitor_id: UUID) -> MonitorTask | None:
    """The monitor, when the token opens its feed: one of its own, or one that opens all of the stream."""
    feed = feeds.find(plain)
    if feed is None or feed.source not in ("", SOURCE):
        return None
    monitor = MonitorTask.objects.of(feed.user).select_related("user").filter(pk=monitor_id).first()
    return monitor if monitor is not None and feed.kind in ("", CHANGED, _kind(monitor)) else None


def document(monitor: MonitorTask, plain: str) -> bytes:
    """The newest changes, each with its first URLs, in the owner's language."""
    language = monitor.user.language or "en"
    with translation.override(language):
        head = Feed(
            id=stable_id(SOURCE, "monitor", monitor.pk),
            title=f"Watchbook: {monitor.name}",
            link=reverse("sitemaps:monitor", args=[monitor.pk]),
            self_link=path(monitor, plain),
            language="zh-Hans" if language.startswith("zh") else "en",
        )
        return atom(head, [_item(monitor, record) for record in _records(monitor)])


def path(monitor: MonitorTask, plain: str) -> str:
    return reverse("sitemaps:feed", args=[plain, monitor.pk])


def _kind(monitor: MonitorTask) -> str:
    """The stream knows no such kind, so that the token opens nothing of it."""
    return f"monitor:{monitor.pk}"


def _records(monitor: MonitorTask) -> QuerySet[ChangeRecord]:
    rows = ChangeRecord.objects.filter(monitor_task=monitor, change_type=ChangeType.CHANGED)
    return rows.order_by("-created_at", "-pk")[:ENTRIES]


def _item(monitor: MonitorTask, record: ChangeRecord) -> Item:
    return Item(
        id=stable_id(SOURCE, "change", record.pk),
        title=f"{monitor.name}: {counts_text(record) or _('noise only')}",
        text="\n".join(_lines(monitor, taste(record, URLS))),
        link=reverse("sitemaps:change", args=[record.pk]),
        updated_at=record.created_at,
        categories=(SOURCE, f"{SOURCE}.{CHANGED}"),
    )


def _lines(monitor: MonitorTask, found: Found) -> Iterator[str]:
    yield monitor.sitemap_url
    yield from (f"{SIGNS[item.kind]} {item.url}" for item in found.items)
    if found.more > 0:
        yield _("… and %(count)d more") % {"count": found.more}
