"""Current URLs of monitors, for systems that read the pages behind them."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from django.db.models import QuerySet
from django.urls import reverse

from watchbook.base.store.folder import scratch
from watchbook.core.accounts.models import User
from watchbook.core.url_lists import ListedUrl, UrlList
from watchbook.systems.sitemaps.models import MonitorTask
from watchbook.systems.sitemaps.store.lists import snapshot_urls

SOURCE = "sitemaps"


def all_lists(user: User) -> list[UrlList]:
    """Return the lists of all monitors of this user, by name."""
    return [_list_of(monitor) for monitor in _monitors(user).order_by("name", "pk")]


def one_list(user: User, key: str) -> UrlList | None:
    monitor = _monitor(user, key)
    return _list_of(monitor) if monitor else None


def read_list(user: User, key: str) -> Iterator[ListedUrl]:
    """Yield the URLs of the current snapshot in alphabetical order."""
    monitor = _monitor(user, key, with_urls=True)
    if monitor is None or monitor.current_snapshot is None:
        return
    with scratch("url-list") as folder:
        for row in snapshot_urls(monitor.current_snapshot, folder):
            yield ListedUrl(str(row["url"]), row.get("lastmod") or "")


def _monitors(user: User, *, with_urls: bool = False) -> QuerySet[MonitorTask]:
    rows = MonitorTask.objects.of(user).select_related("current_snapshot")
    return rows if with_urls else rows.defer("current_snapshot__urls", "current_snapshot__notes")


def _monitor(user: User, key: str, *, with_urls: bool = False) -> MonitorTask | None:
    try:
        wanted = UUID(key)
    except ValueError:
        return None
    return _monitors(user, with_urls=with_urls).filter(pk=wanted).first()


def _list_of(monitor: MonitorTask) -> UrlList:
    snapshot = monitor.current_snapshot
    return UrlList(
        source=SOURCE,
        key=str(monitor.pk),
        title=monitor.name,
        address=monitor.sitemap_url,
        url=reverse("sitemaps:monitor", args=[monitor.pk]),
        owner_id=monitor.user_id,
        count=snapshot.url_count if snapshot else 0,
        version=snapshot.url_hash if snapshot else "",
        read_at=monitor.last_success_at,
        is_complete=snapshot.is_complete if snapshot else True,
    )
