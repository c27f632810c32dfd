"""The installation under test, seen through its own database: set up once, given work, and asked whether it is done."""

from __future__ import annotations

import time
from datetime import timedelta

from django.core.management import call_command
from django.db import DatabaseError, connection

from tests.crash import harness_jobs
from tests.crash.world import Place, World
from watchbook.base import clock
from watchbook.core.accounts.models import User
from watchbook.core.jobs import actions as job_actions
from watchbook.core.jobs.models import JobRun, JobSchedule
from watchbook.core.notify import actions as channel_actions
from watchbook.core.notify.models import Delivery, NotificationChannel, State
from watchbook.systems.sitemaps import actions
from watchbook.systems.sitemaps.models import MonitorTask

DUE, CHECK, DELIVER = "sitemaps.due", "sitemaps.check", "notify.deliver"
NUDGE_SECONDS = 0.4


class Installation:
    def __init__(self, world: World) -> None:
        self.world = world
        call_command("migrate", interactive=False, verbosity=0)
        self.user = User.objects.create_user("watcher@example.com", None, is_verified=True)
        self.channels = [self._channel("hook", "webhook"), self._channel("mail", "email")]
        self.monitors = {place.number: self._monitor(place) for place in world.places}
        pause_ticks(True)

    def _channel(self, name: str, kind: str) -> NotificationChannel:
        given = {"webhook": {"url": self.world.hooks.address("/hook")}, "email": {"email": "desk@example.com"}}[kind]
        return channel_actions.create(self.user, name=name, channel_type=kind, given=given).channel

    def _monitor(self, place: Place) -> MonitorTask:
        values = {
            "name": f"Example {place.number}",
            "sitemap_url": place.site.sitemap,
            "channel_ids": [channel.pk for channel in self.channels],
        }
        return actions.add_monitor(self.user, values)[0]

    def nudge(self) -> None:
        """Make what lags behind due, as time would. What is due already has to happen by itself."""
        now = clock.now()
        behind = [self.monitors[place.number].pk for place in self.world.places if not self.has_caught_up(place)]
        idle = [pk for pk in behind if not self._is_on_its_way(pk)]
        MonitorTask.objects.filter(pk__in=idle, next_check_at__gt=now).update(next_check_at=now)
        if idle and not JobRun.objects.live().filter(name=DUE, due_at__lte=now).exists():
            job_actions.run_soon(DUE)
        if self.undelivered() and not JobRun.objects.live().filter(name=DELIVER, due_at__lte=now).exists():
            job_actions.run_soon(DELIVER)

    def _is_on_its_way(self, monitor_id: object) -> bool:
        return JobRun.objects.live().filter(name=CHECK, key__startswith=f"{CHECK}:{monitor_id}@").exists()

    def has_caught_up(self, place: Place) -> bool:
        monitor = MonitorTask.objects.select_related("current_snapshot").get(pk=self.monitors[place.number].pk)
        snapshot = monitor.current_snapshot
        if snapshot is None or {page["url"]: page["lastmod"] for page in snapshot.urls} != place.now():
            return False
        place.seen = place.came
        return True

    def undelivered(self) -> int:
        return Delivery.objects.filter(state=State.PENDING).count()

    def lagging(self) -> list[str]:
        """What is not done yet; empty when everything is."""
        places = [f"monitor {place.number} is behind" for place in self.world.places if not self.has_caught_up(place)]
        waiting = [f"{count} notices are not told"] if (count := self.undelivered()) else []
        runs = JobRun.objects.live().filter(due_at__lte=clock.now())
        return places + waiting + [f"{run} is {run.state}, attempt {run.attempt}, {run.error}" for run in runs]

    def settle(self, seconds: float) -> list[str]:
        """Wait until everything is done. What has not changed for that long is stuck; on a busy machine things go on
        slowly, but they go on."""
        ends = time.monotonic() + seconds
        before: list[str] = []
        while True:
            try:
                left = self.lagging()
                if not left or time.monotonic() > ends:
                    return left
                if left != before:
                    before, ends = left, time.monotonic() + seconds
                self.nudge()
            except DatabaseError:
                connection.close()  # it is being restarted
            time.sleep(NUDGE_SECONDS)

    def stir(self) -> None:
        """The world changes, and the installation is made to look."""
        self.world.change()
        try:
            self.nudge()
        except DatabaseError:
            connection.close()  # it is being restarted


def pause_ticks(paused: bool) -> None:
    """The harness's own jobs sleep unless a scene needs slots."""
    now = clock.now()
    for name in harness_jobs.NAMES:
        JobSchedule.objects.get_or_create(name=name, defaults={"next_at": now, "is_enabled": False})
    JobSchedule.objects.filter(name__in=harness_jobs.NAMES).update(
        is_enabled=not paused, next_at=now + timedelta(seconds=1)
    )
