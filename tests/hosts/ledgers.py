"""The world beside what an installation stored and sent. Django is set up before this is imported."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.utils import ConnectionHandler

from tests.crash.ledger.archive import Archive
from tests.crash.ledger.notifications import Notices
from tests.crash.report import Findings
from tests.crash.world import Pages
from tests.hosts.desk import Desk
from tests.hosts.life import LargePlace, Life
from watchbook.base.store.folder import scratch
from watchbook.base.store.models import Blob, SortedList
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.models import State as RunState
from watchbook.core.notify.message import message_id
from watchbook.core.notify.models import Delivery, NotificationChannel, State
from watchbook.systems.notes.models import Note
from watchbook.systems.sitemaps.models import ChangeRecord, ChangeType, MonitorTask, SitemapCheck, SitemapSnapshot
from watchbook.systems.sitemaps.store.lists import snapshot_urls

ADDRESS = re.compile(r"http://[\d.]+:8000")
# Words of checks and records that say that stored content was not there.
LOST = {"list_lost", "list_repaired"}


def use_database(url: str) -> None:
    """Let this process read another database from now on."""
    connections.close_all()
    if close_pool := getattr(connections["default"], "close_pool", None):
        close_pool()
    handler: Any = connections
    handler.settings.update(
        ConnectionHandler().configure_settings({"default": settings.DATABASE_FOR_URL(url, Path(settings.HOME))})
    )
    del connections["default"]


def listed(snapshot: SitemapSnapshot) -> Pages:
    """A long list is in a blob."""
    with scratch("ledger") as folder:
        return {str(page["url"]): page["lastmod"] for page in snapshot_urls(snapshot, folder)}


class HostNotices(Notices):
    """A restored installation has another address: the same notification has other links."""

    def _take(self, name: str, body: Any, findings: Findings) -> None:
        super()._take(name, ADDRESS.sub("http://watchbook", str(body)), findings)


class LargeArchive(Archive):
    """Only its end is compared with the site: its lists are long."""

    def read_on(self, findings: Findings) -> None:
        records = ChangeRecord.objects.filter(monitor_task=self.monitor).order_by("created_at", "pk")
        self.changed = [record.pk for record in records if record.change_type == ChangeType.CHANGED]
        assert isinstance(self.place, LargePlace)
        self.first = self.place.first
        last = records.last()
        self.pages = listed(last.new_snapshot) if last else {}
        added = sum(record.added_count for record in records if record.change_type == ChangeType.CHANGED)
        if added != self.place.came:
            findings.wrong.append(f"{self.name}: {added} URLs were added, the site added {self.place.came}")
        if self.pages != self.place.now():
            findings.lost.append(f"{self.name}: the archive is not what the site lists now")


class Ledgers:
    def __init__(self, life: Life, desk: Desk) -> None:
        self.life, self.desk = life, desk
        self.counts: Counter[str] = Counter()
        self.received: set[str] = set()

    def read_again(self) -> None:
        """Ask for the topics that differ: a deletion that only a killed worker was shown does not change the list."""
        for topic in {words.split()[1] for words in self.forum() if words.startswith("topic ")}:
            self.desk.ask("POST", f"/nga/threads/{topic.rstrip(':')}/read")

    def lagging(self) -> list[str]:
        """What the installation still has to do; empty when everything is done."""
        left = [f"deliveries: {n}" for n in [Delivery.objects.filter(state=State.PENDING).count()] if n]
        left += [f"monitor {number} is behind" for number in self.life.monitors if not self._has_caught_up(number)]
        left += [f"{what} differ" for what, found in self._systems() if found]
        return left

    def _has_caught_up(self, number: int) -> bool:
        monitor = MonitorTask.objects.select_related("current_snapshot").get(pk=self.life.monitors[number]["id"])
        place = self.life.world.places[number]
        if monitor.current_snapshot is None or listed(monitor.current_snapshot) != place.now():
            return False
        place.seen = place.came
        return True

    def _systems(self) -> list[tuple[str, list[str]]]:
        return [("forum", self.forum()), ("reddit", self.reddit()), ("notes", self.notes()), ("pages", self.pages())]

    def forum(self) -> list[str]:
        """Every floor that the board gave out, with its last text and whether it is deleted."""
        wanted = self.life.forum.board.expected_archive()
        threads = self.desk.everything("/nga/threads")
        found: list[str] = []
        self.counts["floors"] = self.counts["former texts"] = self.counts["texts that only killed workers got"] = 0
        if sorted(row["source_thread_id"] for row in threads) != sorted(wanted):
            return ["the topics differ"]
        for tid, floors in wanted.items():
            posts = self.desk.everything(f"/nga/threads/{tid}/posts")
            stored = {post["floor_number"]: post for post in posts}
            self.counts["floors"] += len(posts)
            if len(posts) != len(stored) or set(stored) != set(floors):
                found.append(f"topic {tid}: floors {sorted(set(stored) ^ set(floors))[:5]} differ")
                continue
            for number, floor in floors.items():
                post = stored[number]
                if post["is_deleted_by_source"] != floor.is_deleted:
                    found.append(f"topic {tid} floor {number}: deleted is {post['is_deleted_by_source']}")
                if post["revision_count"] > len(floor.versions):
                    found.append(f"topic {tid} floor {number}: more former texts than the board showed")
                self.counts["former texts"] += post["revision_count"]
                self.counts["texts that only killed workers got"] += len(floor.versions) - post["revision_count"]
        return found

    def reddit(self) -> list[str]:
        rows = self.desk.everything("/reddit/posts")
        wanted = self.life.communities.expected()
        self.counts["Reddit posts"] = len(rows)
        ids = [row["source_post_id"] for row in rows]
        gone = {row["source_post_id"]: bool(row["removed_by_category"] or row["author_deleted"]) for row in rows}
        found = [f"post {key} is stored twice" for key, count in Counter(ids).items() if count > 1]
        found += [f"post {key} is only on one side" for key in set(ids) ^ set(wanted)]
        found += [
            f"post {row['source_post_id']} has more texts than Reddit showed"
            for row in rows
            if row["version"] > wanted.get(row["source_post_id"], (row["version"],))[0]
        ]
        found += [
            f"post {key} is gone" for key, is_gone in gone.items() if is_gone and not wanted.get(key, (0, True))[1]
        ]
        comments = [row["comment_id"] for row in self.desk.everything("/reddit/comments")]
        self.counts["Reddit comments"] = len(comments)
        strange = set(comments) - set(self.life.communities.expected_comments())
        return (
            found
            + [f"comment {key} was never written" for key in strange]
            + ["twice"] * (len(comments) - len(set(comments)))
        )

    def notes(self) -> list[str]:
        rows = self.desk.everything("/notes/sources")
        wanted, deleted = self.life.notes.expected(), self.life.notes.dead()
        self.counts["notes"] = len(rows)
        ids = Counter(row["note_id"] for row in rows)
        found = [f"note {key} is stored {count} times" for key, count in ids.items() if count > 1]
        # A note that its author deleted is stored if it was read before.
        return found + [f"note {key} is only on one side" for key in (set(ids) ^ set(wanted)) - deleted]

    def authors(self) -> list[str]:
        """One hash for each author, whichever worker stored the note."""
        stored = dict(Note.objects.values_list("note_id", "author_id"))
        truth = {note.note_id: note.author_id for note in self.life.notes.platform.ledger.notes.values()}
        hashes: dict[str, set[str]] = {}
        for note_id, author in truth.items():
            if note_id in stored:
                hashes.setdefault(str(author), set()).add(stored[note_id])
        self.counts["authors of notes"] = len(hashes)
        return [f"an author of notes has {len(found)} hashes" for found in hashes.values() if len(found) > 1]

    def pages(self) -> list[str]:
        """Each page of the harbour was read, and its newest version has the words that the page has now."""
        harbour = self.life.harbour
        rows = self.desk.everything(f"/pages/sites/{harbour.site_id}/pages")
        self.counts["pages"] = len(rows)
        self.counts["versions of pages"] = sum(row["version_count"] for row in rows)
        return [] if rows and all(row["version_count"] for row in rows) else ["not all pages were read"]

    def check(self, *, with_notices: bool = True) -> Findings:
        """After everything has settled. The receivers of a restored installation know those of before, too."""
        findings = Findings()
        notices = self._changes(findings, with_notices=with_notices)
        findings.wrong += [entry for _what, found in self._systems() for entry in found] + self.authors()
        self._blobs(findings)
        given_up = Delivery.objects.filter(state__in=[State.FAILED, State.SKIPPED])
        findings.lost += [f"{row} was given up: {row.error_code}" for row in given_up]
        self.received = set(notices.bodies)
        self.counts["webhooks and mails"] = notices.told
        self.counts["sent twice with the same id"] = notices.duplicates
        return findings

    def archives(self) -> list[Archive]:
        places = self.life.world.places
        kinds = [LargeArchive if isinstance(place, LargePlace) else Archive for place in places]
        monitors = [MonitorTask.objects.get(pk=self.life.monitors[place.number]["id"]) for place in places]
        return [kind(place, monitor) for kind, place, monitor in zip(kinds, places, monitors, strict=True)]

    def _changes(self, findings: Findings, *, with_notices: bool) -> Notices:
        archives = self.archives()
        for archive in archives:
            archive.read_on(findings)
        channels = list(NotificationChannel.objects.filter(name__in=["hook", "mail"]))
        installation: Any = SimpleNamespace(world=self.life.world, channels=channels)
        notices = HostNotices(installation)
        notices.read_on(findings)
        if with_notices:
            notices.compare(archives, findings)
        changed = sum(len(archive.changed) for archive in archives)
        sent = Delivery.objects.filter(source="sitemaps", kind="changed").count()
        if sent != changed * len(channels):
            findings.doubled.append(f"{changed} changes have {sent} deliveries on {len(channels)} channels")
        self.counts["changes of sitemaps"] = changed
        self.counts["URLs"] = sum(len(archive.pages) for archive in archives)
        return notices

    def _blobs(self, findings: Findings) -> None:
        self.counts["blobs"] = Blob.objects.referenced().count()
        self.counts["checks"] = SitemapCheck.objects.count()
        self.counts["checks that failed"] = SitemapCheck.objects.exclude(error_code="").count()
        if not SortedList.objects.filter(data=None).exists():
            findings.wrong.append("no list is in a blob: the large site is too small")
        lost = SitemapCheck.objects.filter(error_code__in=LOST).count()
        notes = ChangeRecord.objects.values_list("notes", flat=True)
        lost += sum(bool(LOST & {note.get("code") for note in each or []}) for each in notes)
        findings.lost += [f"{lost} checks did not find a blob"] if lost else []
        broken = JobRun.objects.filter(error__icontains="blob").count()
        findings.lost += [f"{broken} runs did not find a blob"] if broken else []

    def failed_runs(self) -> dict[str, int]:
        """Job and reason -> how often; what killed workers left among them."""
        failed = JobRun.objects.filter(state=RunState.FAILED).values_list("name", "error")
        return dict(Counter(f"{name}: {error[:120]}" for name, error in failed))

    def failures(self) -> dict[str, int]:
        return dict(Counter(SitemapCheck.objects.exclude(error_code="").values_list("error_code", flat=True)))

    def sent_before(self, bodies: set[str]) -> list[str]:
        """In a restored backup: what it says was sent has been received."""
        sent = Delivery.objects.filter(state=State.SENT, source="sitemaps").values_list("event_id", "channel_id")
        return [
            f"{event} on {channel} was never received"
            for event, channel in sent
            if message_id(event, channel) not in bodies
        ]
