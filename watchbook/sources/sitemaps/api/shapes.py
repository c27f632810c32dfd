"""What the endpoints answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field

from watchbook.core.api.answers import Answer, Kept, Listing, said
from watchbook.sources.sitemaps.models import ChangeRecord, MonitorTask, SitemapSnapshot


class MonitorOut(Answer):
    """A sitemap that is watched."""

    row = MonitorTask

    id: UUID
    name: str
    sitemap_url: str
    check_interval_minutes: int
    status: str = said("active, paused or error.")
    health: str = said("new, ok, degraded, suspect, failing, blocked or not_a_sitemap: what the last check found.")
    kind: str = said("What stands at the address: a sitemap, an index, a feed, a list.")
    last_check_at: datetime | None
    next_check_at: datetime
    last_error: str | None
    error_count: int = said("Failed checks in a row.")
    url_count: int | None = said("Listed now; null before the first check.")
    channel_ids: list[UUID]
    include_patterns: list[str]
    exclude_patterns: list[str]
    tell_minor: bool
    tell_removals: bool
    created_at: datetime
    updated_at: datetime


class MonitorList(Listing[MonitorOut]):
    """Monitors, newest first."""


class SitemapNote(Kept):
    """Something odd about a sitemap."""

    code: str
    count: int
    message: str
    part: str | None = Field(default=None, description="The file it is about; null for the sitemap as a whole.")


class ChangeHead(Answer):
    """One check that was taken as true, without its lists."""

    row = ChangeRecord

    id: UUID
    monitor_task_id: UUID
    old_snapshot_id: UUID | None
    new_snapshot_id: UUID
    change_type: str = said("initial, no_change or changed.")
    added_count: int
    removed_count: int
    modified_count: int
    noisy_count: int = said("Of the modified ones, those that change at nearly every check: listed, not told.")
    minor_count: int = said("Only changefreq or priority is different.")
    rolled_off_count: int = said("Of the removed ones, those that left a news sitemap by age: listed, not told.")
    health: str
    notes: list[SitemapNote]
    created_at: datetime


class ChangePage(Listing[ChangeHead]):
    """Checks that were taken as true, newest first."""


class AddedUrl(Answer):
    """A URL that is listed now and was not."""

    url: str
    lastmod: str | None


class RemovedUrl(Answer):
    """A URL that was listed and is not."""

    url: str


class ModifiedUrl(Answer):
    """A URL whose lastmod is another."""

    url: str
    old_lastmod: str | None
    new_lastmod: str | None


class ChangeLists(Answer):
    """Every URL of a change."""

    added: list[AddedUrl]
    removed: list[RemovedUrl]
    modified: list[ModifiedUrl]


class MinorUrl(Kept):
    """A URL whose changefreq or priority is another; each a pair of old and new."""

    url: str
    changefreq: list[str | None]
    priority: list[str | None]


class RestampOut(Kept):
    """One lastmod that very many URLs got at once."""

    lastmod: str
    count: int


class ChangeExtras(Kept):
    """What is beside a change; keys that do not apply are not there. Lists hold their first thousand."""

    noisy: list[str] = Field(default=[], description="URLs that change at nearly every check.")
    minor: list[MinorUrl] = []
    restamp: RestampOut | None = None


class ChangeOut(ChangeHead):
    """A change with every URL."""

    extras: ChangeExtras
    changes: ChangeLists


class PartOut(Kept):
    """One file that a snapshot was read from."""

    url: str
    sha256: str
    url_count: int
    complete: bool
    outcome: str
    news: bool = False


class SnapshotHead(Answer):
    """What a sitemap listed and since when, without the URLs."""

    row = SitemapSnapshot

    id: UUID
    monitor_task_id: UUID
    url_count: int
    url_hash: str
    fetch_duration_ms: int
    parse_duration_ms: int
    is_complete: bool
    parts: list[PartOut]
    notes: list[SitemapNote]
    created_at: datetime


class SnapshotPage(Listing[SnapshotHead]):
    """Snapshots, newest first."""


class ListedUrl(Answer):
    """A URL as the sitemap lists it; what it does not say is null."""

    url: str
    lastmod: str | None
    changefreq: str | None
    priority: str | None


class ListedUrls(Listing[ListedUrl]):
    """URLs in their own order; `next` is the last of them."""


def monitor_out(monitor: MonitorTask) -> dict[str, Any]:
    snapshot = monitor.current_snapshot
    return MonitorOut.of(
        monitor,
        url_count=snapshot.url_count if snapshot else None,
        channel_ids=[channel.pk for channel in monitor.channels.all()],
    )
