"""Fetches what waits: expiring addresses first, each host at its pace; an outage costs no file an attempt."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from django.db import transaction
from django.db.models import QuerySet, Sum
from django.utils.translation import gettext_noop

from watchbook.base import clock, files
from watchbook.base.files import Facts
from watchbook.base.store import blobs
from watchbook.base.store.folder import disk_usage, scratch
from watchbook.base.text import Sentence
from watchbook.base.web import client
from watchbook.base.web.errors import BadAnswer, Busy, Gone, Refused, TooLarge, TooManyRedirects, WebError
from watchbook.core.accounts.access import STAFF
from watchbook.core.alerts.conditions import open_alert, resolve_alert
from watchbook.core.alerts.models import Outage
from watchbook.core.alerts.outage import Guard, HostDown, classify
from watchbook.core.jobs.runner import NOTHING_TO_DO, GiveUp, JobContext, Outcome
from watchbook.core.media import options, store
from watchbook.core.media.models import ATTACHMENT, FileReference, FileState, KeptFile

SOURCE = "media"
MEGABYTE = 1_000_000
BATCH = 50
RUN_SECONDS = 240.0
SPACING_SECONDS = 0.5
SHORT_WAIT = timedelta(minutes=1)
# A host that has not responded for this long is not asked for the same files again.
GIVE_UP = timedelta(days=14)
NO_ROOM = "media:room"
PAGES = frozenset({files.HTML, files.XML, files.TEXT})
NOT_A_FILE = gettext_noop("The site sent a page instead of the file.")
EMPTY = gettext_noop("The site sent an empty file.")
HOST_AWAY = gettext_noop("The site has not responded for 14 days.")


def anything_waiting(now: datetime) -> bool:
    return _due().exists()


def fetch_waiting(ctx: JobContext) -> Outcome:
    """Fetch files until none is due or the time of one run is over."""
    fetch = Fetcher(ctx)
    until = time.monotonic() + RUN_SECONDS
    while fetch.has_room() and time.monotonic() < until:
        batch = _next_batch(fetch.closed)
        if not batch:
            break
        for file in batch:
            if file.host not in fetch.closed and fetch.has_room():
                fetch.one(file)
            ctx.report(**fetch.counts)
    if not fetch.counts:
        return NOTHING_TO_DO
    return Outcome("done" if fetch.counts["kept"] or not fetch.counts["postponed"] else "partly", dict(fetch.counts))


def queue_again(ctx: JobContext) -> Outcome:
    """Queue files that a changed setting allows now."""
    with ctx.writing():
        count = store.queue_again(options.FILE_MEGABYTES.value * MEGABYTE)
    return Outcome("done", {"queued": count}) if count else NOTHING_TO_DO


def _due() -> QuerySet[KeptFile]:
    now = clock.now()
    away = Outage.objects.filter(source=SOURCE, next_try_at__gt=now).values("host")
    return KeptFile.objects.filter(state=FileState.WAITING, next_try_at__lte=now).exclude(host__in=away)


def _next_batch(closed: set[str]) -> list[KeptFile]:
    """The files to fetch next: those whose address ends soonest, then those that have waited longest."""
    due = _due().exclude(host__in=closed)
    expiring = list(due.filter(use_before__gt=clock.now()).order_by("use_before", "pk")[:BATCH])
    return expiring or list(due.order_by("next_try_at", "pk")[:BATCH])


class Writer(Protocol):
    """Opens the transactions of a fetcher: a run with its lease, or nothing more than a transaction."""

    def writing(self) -> AbstractContextManager[Any]: ...


class _Plain:
    def writing(self) -> AbstractContextManager[Any]:
        return transaction.atomic()


def fetch_now(system: str, object_id: str, *, most: int, seconds: float) -> int:
    """Fetch files of one item while a user waits; after so many seconds the others wait for the job."""
    fetch = Fetcher(_Plain(), deadline_seconds=seconds)
    until = time.monotonic() + seconds
    mine = FileReference.objects.filter(system=system, object_id=object_id, file__in=_due())
    for row in mine.select_related("file").order_by("position", "pk")[:most]:
        fetch.deadline_seconds = until - time.monotonic()
        if fetch.deadline_seconds <= 0 or not fetch.has_room():
            break
        if row.file.host in fetch.closed:
            continue
        try:
            fetch.one(row.file)
        except GiveUp:  # the storage fails: the item is shown without its files
            break
    return fetch.counts["kept"]


class Fetcher:
    """One run: what was counted, the hosts that are not asked again, and the room that is left."""

    def __init__(self, ctx: Writer, *, deadline_seconds: float | None = None) -> None:
        self.ctx = ctx
        self.deadline_seconds = deadline_seconds
        self.counts: Counter[str] = Counter()
        self.closed: set[str] = set()
        self._has_room = False
        self._guard = Guard(SOURCE, scope=STAFF, level_of=_level)
        self._used = KeptFile.objects.filter(state=FileState.KEPT).aggregate(sum=Sum("size"))["sum"] or 0

    def room(self) -> int:
        """Bytes that may still be kept: by the quota and by the free space of the disk."""
        free = disk_usage().free - options.FREE_MEGABYTES.value * MEGABYTE
        quota = options.QUOTA_MEGABYTES.value * MEGABYTE
        return min(free, quota - self._used) if quota else free

    def has_room(self) -> bool:
        if self.room() > 0:
            if not self._has_room:
                resolve_alert(NO_ROOM)
            self._has_room = True
        else:
            self._report_no_room()
        return self._has_room

    def _report_no_room(self) -> None:
        self._has_room = False
        open_alert(
            NO_ROOM, level="P2", source="", title=Sentence(gettext_noop("No room for kept files")),
            message=Sentence(gettext_noop("Files of sources wait.")),
            remedy=Sentence(gettext_noop("Raise the limit of kept files under Settings, or free disk space.")),
            link="/jobs/", scope=STAFF,
        )  # fmt: skip
        self.counts["postponed"] += 1

    def one(self, file: KeptFile) -> None:
        """Fetch one file and record what came of it."""
        roles = list(FileReference.objects.filter(file=file).values_list("system", "role"))
        if not any(store.is_on(system) for system, _role in roles):
            with self.ctx.writing():
                store.turn_off([file])
            return
        with scratch("media") as folder:
            try:
                self._guard.check(file.host)
                facts = self._get(file, folder / "file", may_be_page=any(role == ATTACHMENT for _, role in roles))
            except HostDown as down:
                self._host_down(file, down)
            except WebError as error:
                self._failed(file, error)
            else:
                self._keep(file, folder / "file", facts)

    def _get(self, file: KeptFile, path: Path, *, may_be_page: bool) -> Facts:
        """Download to the path, from the first address that has the file. Raises the error of the last one."""
        addresses = [file.url, *file.others]
        for number, url in enumerate(addresses, start=1):
            try:
                answer = client.get(
                    url, headers={"Referer": file.referer} if file.referer else None, to_file=path,
                    max_bytes=min(options.FILE_MEGABYTES.value * MEGABYTE, self.room()),
                    deadline_seconds=self.deadline_seconds or options.TIMEOUT_SECONDS.value,
                    spacing_seconds=SPACING_SECONDS, wait_seconds=min(30.0, self.deadline_seconds or 30.0),
                )  # fmt: skip
                return _checked(path, answer.size, may_be_page=may_be_page)
            except WebError as error:
                if number == len(addresses) or classify(error):
                    raise
        raise AssertionError("a file has an address")

    def _keep(self, file: KeptFile, path: Path, facts: Facts) -> None:
        self._guard.succeeded(file.host)
        try:
            blob = blobs.put(path)  # outside the transaction: copying must not hold its lock
        except blobs.PlaceFailed as error:
            raise GiveUp(str(error), "storage_failed") from error
        with self.ctx.writing():
            if store.keep(file, blob, facts):
                self._used += blob.size
                self.counts.update(kept=1, bytes=blob.size)

    def _failed(self, file: KeptFile, error: WebError) -> None:
        limit = options.FILE_MEGABYTES.value * MEGABYTE
        try:
            is_ours = isinstance(error, Busy) or (isinstance(error, TooLarge) and self.room() < limit)
            kind = "" if is_ours or error.code == "not_a_file" else self._guard.failed(file.host, error)
        except HostDown as down:
            self._host_down(file, down)
            return
        if is_ours or kind:
            self.closed.add(file.host)
            with self.ctx.writing():
                store.delay(file, clock.now() + SHORT_WAIT, error.message)
            self.counts["postponed"] += 1
            return
        with self.ctx.writing():
            if isinstance(error, TooLarge):
                store.too_large(file, limit, error.message)
            else:
                is_final = isinstance(error, Refused | TooManyRedirects)
                store.failed(file, error.message, is_gone=isinstance(error, Gone), is_final=is_final)
        self.counts["failed"] += 1

    def _host_down(self, file: KeptFile, down: HostDown) -> None:
        self.closed.add(file.host)
        began = Outage.objects.filter(source=SOURCE, host=file.host).values_list("began_at", flat=True).first()
        with self.ctx.writing():
            if began is not None and began < clock.now() - GIVE_UP:
                self.counts["failed"] += store.give_up_host(file.host, HOST_AWAY)
            else:
                store.delay(file, down.next_try_at, down.reason)
                self.counts["postponed"] += 1


def _checked(path: Path, size: int, *, may_be_page: bool) -> Facts:
    """What was downloaded. A page in place of a picture or video is a failure of the file."""
    if not size:
        raise BadAnswer(code="not_a_file", message=EMPTY)
    facts = files.inspect(path)
    if facts.media_type in PAGES and not may_be_page:
        raise BadAnswer(code="not_a_file", message=NOT_A_FILE)
    return facts


def _level(host: str) -> str:
    """A host that never gave a file opens no alert: texts name many hosts that ended years ago."""
    return "P2" if KeptFile.objects.filter(host=host, state=FileState.KEPT).exists() else ""
