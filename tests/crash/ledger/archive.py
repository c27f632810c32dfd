"""Checks the records of one site: a chain without fork or repetition that matches what the site did."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from tests.crash.report import Findings
from tests.crash.world import Pages, Place
from watchbook.systems.sitemaps.models import ChangeRecord, ChangeType, MonitorTask


class Archive:
    def __init__(self, place: Place, monitor: MonitorTask) -> None:
        self.place = place
        self.monitor = monitor
        self.first: Pages = {}
        self.pages: Pages = {}
        self.changed: list[UUID] = []
        self.records = 0
        self._mark = 0
        self._head: UUID | None = None
        self._until: datetime | None = None
        self._seen: set[tuple[str, ...]] = set()

    @property
    def name(self) -> str:
        return f"monitor {self.place.number}"

    def read_on(self, findings: Findings) -> None:
        rows = ChangeRecord.objects.filter(monitor_task=self.monitor).select_related("new_snapshot")
        if self._until is not None:
            rows = rows.filter(created_at__gt=self._until)
        for record in rows.order_by("created_at", "pk"):
            self._read(record, findings)
            self._until = record.created_at
        self._compare_end(findings)

    def _read(self, record: ChangeRecord, findings: Findings) -> None:
        self.records += 1
        if record.old_snapshot_id != self._head:
            findings.doubled.append(f"{self.name}: record {record.pk} does not follow the one before it")
        if record.change_type == ChangeType.INITIAL:
            self.first = self.pages = _listed(record)
            self._find_mark(record, findings)
        elif record.change_type == ChangeType.CHANGED:
            self.changed.append(record.pk)
            self._apply(record, findings)
            self._find_mark(record, findings)
        elif record.new_snapshot_id != record.old_snapshot_id:
            findings.wrong.append(f"{self.name}: record {record.pk} says no change and has a new snapshot")
        self._head = record.new_snapshot_id

    def _apply(self, record: ChangeRecord, findings: Findings) -> None:
        """The archive is replayed: the snapshot before plus what the record says is the snapshot after."""
        pages = dict(self.pages)
        for item in record.changes["added"]:
            self._once(findings, "added", item["url"])
            pages[item["url"]] = item["lastmod"]
        for item in record.changes["removed"]:
            self._once(findings, "removed", item["url"])
            pages.pop(item["url"], None)
        for item in record.changes["modified"]:
            self._once(findings, "modified", item["url"], item["new_lastmod"])
            pages[item["url"]] = item["new_lastmod"]
        self.pages = _listed(record)
        if pages != self.pages:
            findings.wrong.append(f"{self.name}: record {record.pk} does not lead from its old snapshot to its new one")

    def _once(self, findings: Findings, *what: str) -> None:
        if what in self._seen:
            findings.doubled.append(f"{self.name}: recorded twice: {' '.join(what)}")
        self._seen.add(what)

    def _find_mark(self, record: ChangeRecord, findings: Findings) -> None:
        """A sitemap of one file shows one moment of the site; the next one shows a later moment."""
        if not self.place.is_whole:
            return
        states = self.place.states()
        mark = next((n for n in range(self._mark, len(states)) if states[n] == self.pages), None)
        if mark is None:
            findings.wrong.append(f"{self.name}: the snapshot of record {record.pk} was never so on the site")
            return
        if record.change_type == ChangeType.CHANGED:
            truth = self.place.site.changes_between(self._mark, mark)
            said = record.changes
            same = (
                [page.url for page in truth.added] == [item["url"] for item in said["added"]]
                and [page.url for page in truth.removed] == [item["url"] for item in said["removed"]]
                and [(m.url, m.new_lastmod) for m in truth.modified]
                == [(item["url"], item["new_lastmod"]) for item in said["modified"]]
            )
            if not same:
                findings.wrong.append(f"{self.name}: record {record.pk} is not what the site did")
        self._mark = mark

    def _compare_end(self, findings: Findings) -> None:
        now = self.place.now()
        if self.pages != now:
            few = sorted(set(now.items()) ^ set(self.pages.items()), key=str)[:3]
            findings.lost.append(f"{self.name}: the archive is not what the site lists now: {few}")


def _listed(record: ChangeRecord) -> Pages:
    return {page["url"]: page["lastmod"] for page in record.new_snapshot.urls}
