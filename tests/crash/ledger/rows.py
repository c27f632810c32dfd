"""Checks the tables at the end of a scene: no duplicate, unfinished or damaged rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from django.db import connection
from django.db.models import Count, Q

from tests.crash.ledger.archive import Archive
from tests.crash.report import Findings
from watchbook.base import clock
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.models import State as RunState
from watchbook.core.notify.models import Delivery
from watchbook.core.notify.models import State as DeliveryState
from watchbook.core.search.models import SearchDocument
from watchbook.core.stream.models import StreamEntry
from watchbook.systems.sitemaps.models import ChangeRecord, NotificationLog, SitemapCheck, SitemapSnapshot

GRACE = timedelta(seconds=10)
# A check whose workers were killed three times, or whose database went away. The sites themselves never fail.
BROKEN_OFF = ("", "crashed", "unexpected")


def check_rows(archives: Sequence[Archive], findings: Findings) -> None:
    _check_chain(archives, findings)
    _check_told_once(archives, findings)
    _check_slots(archives, findings)
    _check_ends(findings)
    _check_database(findings)


def _check_chain(archives: Sequence[Archive], findings: Findings) -> None:
    """Every snapshot was made by one record; a second record that begins at the same snapshot would be a fork."""
    for archive in archives:
        records = ChangeRecord.objects.filter(monitor_task=archive.monitor)
        made = records.exclude(change_type="no_change").values("new_snapshot").annotate(n=Count("pk")).filter(n__gt=1)
        forks = records.filter(change_type="changed").values("old_snapshot").annotate(n=Count("pk")).filter(n__gt=1)
        findings.doubled += [f"{archive.name}: two records made one snapshot" for _ in made]
        findings.doubled += [f"{archive.name}: two records follow one snapshot" for _ in forks]
        orphans = SitemapSnapshot.objects.filter(monitor_task=archive.monitor, changes_to=None).count()
        if orphans:
            findings.doubled.append(f"{archive.name}: {orphans} snapshots belong to no record")


def _check_told_once(archives: Sequence[Archive], findings: Findings) -> None:
    changed = {str(record) for archive in archives for record in archive.changed}
    counts = {
        "outbox rows": Delivery.objects.filter(source="sitemaps", kind="changed").count() / 2,
        "notification logs": NotificationLog.objects.filter(status="sent").count() / 2,
        "stream entries": StreamEntry.objects.filter(source="sitemaps", kind="changed").count(),
        "search documents": SearchDocument.objects.filter(kind="sitemap_change").count(),
    }
    for what, count in counts.items():
        side = findings.doubled if count > len(changed) else findings.lost
        if count != len(changed):
            side.append(f"{len(changed)} changes have {count:g} {what} (per channel)")


def _check_slots(archives: Sequence[Archive], findings: Findings) -> None:
    """A slot has one run, and a run has at most one effect."""
    for archive in archives:
        runs = JobRun.objects.filter(key__startswith=f"sitemaps.check:{archive.monitor.pk}@").count()
        effects = SitemapCheck.objects.filter(monitor_task=archive.monitor).count()
        if effects > runs:
            findings.doubled.append(f"{archive.name}: {effects} checks took effect in {runs} slots")
    odd = SitemapCheck.objects.exclude(error_code__in=BROKEN_OFF).values("error_code").annotate(n=Count("pk"))
    findings.wrong += [f"{row['n']} checks failed: {row['error_code']}" for row in odd]


def _check_ends(findings: Findings) -> None:
    late = clock.now() - GRACE
    held = Q(state=RunState.RUNNING, lease_until__lt=late) | Q(state=RunState.QUEUED, due_at__lt=late)
    findings.stuck += [f"{run} is still {run.state}" for run in JobRun.objects.filter(held)]
    waiting = Delivery.objects.filter(state=DeliveryState.PENDING)
    findings.stuck += [f"{row} is still pending" for row in waiting]
    given_up = Delivery.objects.filter(state__in=[DeliveryState.FAILED, DeliveryState.SKIPPED])
    findings.lost += [f"{row} was given up: {row.error_code}" for row in given_up]
    leased = Delivery.objects.exclude(state=DeliveryState.PENDING).filter(live_slot__isnull=False)
    findings.stuck += [f"{row} is {row.state} and still holds its channel" for row in leased]
    ended = JobRun.objects.exclude(state=RunState.RUNNING).filter(exclusive_slot__isnull=False)
    findings.stuck += [f"{run} has ended and still holds {run.exclusive_slot}" for run in ended]


def _check_database(findings: Findings) -> None:
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        for pragma in ("integrity_check", "foreign_key_check"):
            cursor.execute(f"PRAGMA {pragma}")
            said = [row for row in cursor.fetchall() if row != ("ok",)]
            findings.wrong += [f"{pragma}: {row}" for row in said[:5]]
