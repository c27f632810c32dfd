"""Response schemas of the sitemaps API."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field

from watchbook.base import clock
from watchbook.core.api.schemas import Answer, Kept, Listing, Mirrored, said
from watchbook.systems.sitemaps.health import monitor_health
from watchbook.systems.sitemaps.models import ChangeRecord, MonitorTask, SitemapSnapshot


class MonitorOut(Answer):
    """A monitor: one sitemap, feed or list that Watchbook checks."""

    row = MonitorTask

    id: UUID
    name: str
    sitemap_url: str
    check_interval_minutes: int
    schedule: str = said("A cron line instead of the interval; empty otherwise.")
    quiet_hours: str = said("Such as 22:00-07:00; empty for none.")
    folder: str
    tags: list[str]
    owner: str = said("Who is responsible, in words.")
    notes: str
    status: str = said("active, paused or error.")
    health: str = said("Result of the last check: new, ok, degraded, suspect, failing, blocked or not_a_sitemap.")
    state: str = said("healthy, incomplete, unconfirmed, failing, blocked, error, late, paused or never.")
    reason: str = said("Why the state asks for attention; empty otherwise.")
    remedy: str = said("What to do, or that no action is needed; may be empty.")
    last_success_at: datetime | None = said("The last check that read the sitemap; null before the first.")
    kind: str = said("Type of the document: urlset, index, text, rss, atom or rdf.")
    last_check_at: datetime | None
    next_check_at: datetime
    last_error: str | None
    error_count: int = said("Number of consecutive failed checks.")
    url_count: int | None = said("URLs in the current snapshot; null before the first check.")
    channel_ids: list[UUID]
    include_patterns: list[str]
    exclude_patterns: list[str]
    tell_added: bool
    tell_modified: bool
    tell_minor: bool
    tell_removals: bool
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = said("When you deleted it; only listed with `since`.")


class MonitorList(Mirrored[MonitorOut]):
    """Monitors, newest first."""


class SitemapNote(Kept):
    """A problem that the parser found in a sitemap."""

    code: str
    count: int
    message: str
    part: str | None = Field(default=None, description="Address of the file; null for the sitemap as a whole.")


class ChangeHead(Answer):
    """The result of one accepted check, without the lists of URLs."""

    row = ChangeRecord

    id: UUID
    monitor_task_id: UUID
    old_snapshot_id: UUID | None
    new_snapshot_id: UUID
    change_type: str = said("initial, no_change or changed.")
    added_count: int
    removed_count: int
    modified_count: int
    noisy_count: int = said("Modified URLs that change frequently: listed, not notified.")
    minor_count: int = said("URLs of which only changefreq or priority changed.")
    rolled_off_count: int = said("Removed URLs that left a news sitemap by age: listed, not notified.")
    health: str
    notes: list[SitemapNote]
    created_at: datetime


class ChangePage(Mirrored[ChangeHead]):
    """Results of accepted checks, newest first."""


class AddedUrl(Answer):
    """A URL that is new in the sitemap."""

    url: str
    lastmod: str | None


class RemovedUrl(Answer):
    """A URL that is no longer in the sitemap."""

    url: str


class ModifiedUrl(Answer):
    """A URL with a new lastmod."""

    url: str
    old_lastmod: str | None
    new_lastmod: str | None


class ChangeLists(Answer):
    """Every URL of a change."""

    added: list[AddedUrl]
    removed: list[RemovedUrl]
    modified: list[ModifiedUrl]


class MinorUrl(Kept):
    """A URL with a new changefreq or priority; each value is a pair of old and new."""

    url: str
    changefreq: list[str | None]
    priority: list[str | None]


class BulkDateOut(Kept):
    """A bulk date update: one lastmod that many URLs received in one check."""

    lastmod: str
    count: int


class ChangeExtras(Kept):
    """Details of a change. Keys that do not apply are absent. Lists hold at most 1,000 entries."""

    noisy: list[str] = Field(default=[], description="Frequently changing URLs.")
    minor: list[MinorUrl] = []
    restamp: BulkDateOut | None = None


class ChangeOut(ChangeHead):
    """A change with every URL."""

    extras: ChangeExtras
    changes: ChangeLists


class PartOut(Kept):
    """One file of a snapshot."""

    url: str
    sha256: str
    url_count: int
    complete: bool
    outcome: str
    news: bool = False


class SnapshotHead(Answer):
    """A snapshot without its URLs."""

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
    """A URL as the sitemap lists it; values that the sitemap does not give are null."""

    url: str
    lastmod: str | None
    changefreq: str | None
    priority: str | None


class ListedUrls(Listing[ListedUrl]):
    """URLs in alphabetical order; `next` is the last URL of this page."""


class ComparedCounts(Answer):
    """URLs of each kind in the difference of two snapshots."""

    added: int
    removed: int
    modified: int


class ComparedUrl(Answer):
    """A URL that differs between two snapshots."""

    kind: str = said("added, removed or modified.")
    url: str
    old_lastmod: str | None
    new_lastmod: str | None


class ComparedSnapshots(Answer):
    """The difference of two snapshots."""

    counts: ComparedCounts
    matched: int = said("URLs that fit the filters; `items` has the first of them, `format` returns all.")
    items: list[ComparedUrl]


class MonitorImportLine(Answer):
    """What became of one line of a file."""

    line: int
    address: str
    result: str = said("added, known (already monitored) or refused.")
    reason: str


class MonitorImportReport(Answer):
    """The report of an import, line by line."""

    added: int
    known: int
    refused: int
    lines: list[MonitorImportLine]


class MonitorsEdited(Answer):
    """How many monitors were changed."""

    changed: int
    added_tags: list[str] = said("Tags that these monitors have now, as they are stored.")
    unused_tags: list[str] = said("Tags of `remove_tags` that none of these monitors had.")


def monitor_out(monitor: MonitorTask) -> dict[str, Any]:
    snapshot = monitor.current_snapshot
    state = monitor_health(monitor, clock.now())
    return MonitorOut.of(
        monitor,
        tags=monitor.tag_list,
        state=state.state,
        reason=state.reason,
        remedy=state.remedy,
        url_count=snapshot.url_count if snapshot else None,
        channel_ids=sorted(channel.pk for channel in monitor.channels.all()),
    )
