"""Is the house fit to work? Each check says so in one sentence; readiness, the overview and `doctor` ask here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import DatabaseError, connection
from django.db.models import Min, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from watchbook.base import clock
from watchbook.base.store.disk import disk_usage
from watchbook.core.jobs import liveness
from watchbook.core.jobs.models import JobRun, State, Worker
from watchbook.core.ops import options
from watchbook.core.ui.moments import size_text

STUCK_AFTER = timedelta(seconds=60)


@dataclass(frozen=True)
class Check:
    """`name` is stable and for programs, `message` is for people."""

    name: str
    ok: bool
    message: str

    @property
    def title(self) -> str:
        titles = {
            "database": _("Database"),
            "workers": _("Workers"),
            "beat": _("Scheduler"),
            "queue": _("Queue"),
            "disk": _("Disk"),
        }
        return titles.get(self.name, self.name)


def readiness() -> list[Check]:
    """Everything that must hold for work to go on. Never raises because of the database."""
    checks = [_guarded("database", _database)]
    if checks[0].ok:
        checks += [_guarded("workers", _workers), _guarded("beat", _beat), _guarded("queue", _queue)]
    return [*checks, disk()]


def _guarded(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except DatabaseError as error:
        # The driver's words may hold addresses and user names; its class says enough here.
        return Check(name, False, _("The database does not answer (%(error)s).") % {"error": type(error).__name__})


def _database() -> Check:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM job_workers LIMIT 1")
    return Check("database", True, _("%(vendor)s answers.") % {"vendor": connection.display_name})


def _workers() -> Check:
    count = live_workers()
    if not count:
        return Check("workers", False, _("No worker has been seen for %(n)s s.") % {"n": _alive_seconds()})
    return Check("workers", True, ngettext("%(n)s worker is alive.", "%(n)s workers are alive.", count) % {"n": count})


def live_workers() -> int:
    """Workers that said so lately, and those that are too busy to say it but renew a lease."""
    seen = set(_alive("worker").values_list("name", flat=True))
    working = JobRun.objects.filter(state=State.RUNNING, lease_until__gt=clock.now(), owner__startswith="worker@")
    return len(seen | set(working.values_list("owner", flat=True)))


def _beat() -> Check:
    if not _alive("beat").exists():
        return Check("beat", False, _("No scheduler has been seen for %(n)s s.") % {"n": _alive_seconds()})
    return Check("beat", True, _("The scheduler ticks."))


def _queue() -> Check:
    now = clock.now()
    stuck = stuck_queues(now)
    if not stuck:
        waiting = JobRun.objects.ready(now).count()
        return Check("queue", True, ngettext("%(n)s run waits.", "%(n)s runs wait.", waiting) % {"n": waiting})
    name, since = min(stuck.items(), key=lambda item: item[1])
    waited = int((now - since).total_seconds())
    return Check(
        "queue",
        False,
        _("%(queue)s is stuck: a run waits for %(n)s s and nobody takes it.") % {"queue": name, "n": waited},
    )


def stuck_queues(now: datetime) -> dict[str, datetime]:
    """Queues with a ready run older than a minute in which nothing runs and nothing was started since."""
    early = now - STUCK_AFTER
    held = JobRun.objects.filter(exclusive_slot__isnull=False).values("exclusive_slot")
    waiting = (
        JobRun.objects.filter(state=State.QUEUED, due_at__lt=early)
        .exclude(exclusive__in=held, exclusive__gt="")
        .values_list("queue")
        .annotate(since=Min("due_at"))
    )
    oldest = dict(waiting)
    if not oldest:
        return {}
    active = JobRun.objects.filter(queue__in=oldest)
    moving = set(active.filter(state=State.RUNNING, lease_until__gt=now).values_list("queue", flat=True))
    moving |= set(active.filter(started_at__gt=early).values_list("queue", flat=True))
    return {name: since for name, since in oldest.items() if name not in moving}


def disk() -> Check:
    usage = disk_usage()
    facts = {"percent": round(usage.percent), "free": size_text(usage.free)}
    if usage.percent > options.DISK_PERCENT.value:
        return Check("disk", False, _("The disk is %(percent)s %% full, %(free)s are left. Make room.") % facts)
    return Check("disk", True, _("The disk is %(percent)s %% full, %(free)s are left.") % facts)


def _alive(role: str) -> QuerySet[Worker]:
    return Worker.objects.filter(role=role, seen_at__gte=clock.now() - liveness.ALIVE_FOR)


def _alive_seconds() -> int:
    return int(liveness.ALIVE_FOR.total_seconds())
