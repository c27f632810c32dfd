"""A worker that sleeps past its lease: somebody else does the work, and nothing the sleeper still writes is taken."""

from __future__ import annotations

import signal
import sqlite3
import time
from contextlib import closing
from datetime import timedelta

from django.db import connection

from tests.crash.installation import NUDGE_SECONDS, Installation
from tests.crash.process_factory import Process
from tests.crash.processes import until
from tests.crash.scenes.stage import SETTLE_SECONDS, Stage
from watchbook.base import clock
from watchbook.core.jobs.models import JobRun
from watchbook.core.notify.models import Attempt, Delivery, NotificationChannel
from watchbook.systems.sitemaps.models import ChangeRecord, MonitorTask, SitemapCheck, SitemapSnapshot

FETCHED, IN_TRANSACTION, SENT = "sitemaps.fetched", "job.before_commit", "outbox.sent"
# What the one that wakes too late says of the work that was taken from it.
REFUSED = {
    FETCHED: "lost lease of sitemaps.check",
    IN_TRANSACTION: "lost lease of sitemaps.check",
    SENT: "lost lease of sitemaps.changed",
}
REACH_SECONDS = 60.0
WAKE_SECONDS = 20.0
TRIES = 5
# Less than the lease of a notice.
SLOW_SECONDS = 0.6


def play(stage: Stage) -> str:
    for point in (FETCHED, IN_TRANSACTION, SENT):
        # A stop takes all threads: on SQLite another one may hold the only pen just then, which is another matter.
        reasons = []
        while len(reasons) < TRIES and (reason := _stop_at(stage, point)):
            reasons.append(reason)
        if len(reasons) == TRIES:
            stage.result.findings.wrong.append(f"nobody slept at {point} as was options: {', '.join(reasons)}")
        elif reasons:
            stage.say(f"stops: tries that do not count at {point}: {', '.join(reasons)}")
    return f"stopped after fetch, inside a transaction, after send; {stage.result.stale_refused} stale writes refused"


def _stop_at(stage: Stage, point: str) -> str:
    """Why it was not the stop that was options; empty when it was."""
    sleeper = _fall_asleep(stage, point)
    if sleeper is None:
        return "not reached"
    has_pen = _holds_the_pen()
    if has_pen:
        _sleep_with_the_pen(stage, sleeper)
    else:
        _wake_too_late(stage, sleeper, point)
    sleeper.kill()
    stage.settle(f"stopped at {point}")
    return "held the pen" if has_pen and point != IN_TRANSACTION else ""


def _fall_asleep(stage: Stage, point: str) -> Process | None:
    role = stage.engine.worker
    if point == SENT:
        _leave_only_the_telling(stage)
    # All of them: a colleague would be quicker than one who has to start.
    stage.processes.kill_role(role)
    sleeper = stage.processes.start(role, f"{point}:1:stop")
    stage.processes.forget(sleeper)
    # A receiver that takes its time lets the other threads finish what they write.
    slow = stage.installation.world.hooks.faults.on("*").delay(SLOW_SECONDS)
    ends = time.monotonic() + REACH_SECONDS
    try:
        while time.monotonic() < ends:
            stage.installation.nudge() if point == SENT else stage.installation.stir()
            if until(lambda: sleeper.is_stopped, 5.0):
                return sleeper
    finally:
        slow.lift()
    sleeper.kill()
    return None


def _leave_only_the_telling(stage: Stage) -> None:
    """The others check everything and tell nothing, so that the sleeper's other threads have little to write."""
    channels = NotificationChannel.objects.all()
    channels.update(blocked_until=clock.now() + timedelta(hours=1))
    stage.processes.fill()
    stage.installation.world.change()
    until(lambda: _is_all_checked(stage.installation), SETTLE_SECONDS, every=NUDGE_SECONDS)
    stage.processes.kill_role(stage.engine.worker)
    channels.update(blocked_until=None)


def _is_all_checked(installation: Installation) -> bool:
    installation.nudge()
    return all(installation.has_caught_up(place) for place in installation.world.places)


def _holds_the_pen() -> bool:
    """SQLite has one writer, and a stop takes all threads of a process: one of them may be writing just now."""
    if connection.vendor != "sqlite":
        return False
    with closing(sqlite3.connect(connection.settings_dict["NAME"], timeout=1.0, isolation_level=None)) as other:
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
    return False


def _wake_too_late(stage: Stage, sleeper: Process, point: str) -> None:
    """The others finish everything, also what the sleeper held; then it wakes and finds every door closed."""
    stage.processes.fill()
    stuck = stage.installation.settle(SETTLE_SECONDS)
    stage.result.findings.stuck += [f"while one slept at {point}: {entry}" for entry in stuck]
    before = _everything_written()
    sleeper.signal(signal.SIGCONT)
    if not until(lambda: REFUSED[point] in sleeper.said(), WAKE_SECONDS):
        stage.result.findings.wrong.append(f"the one stopped at {point} was not told that it is too late")
    # It is done with its old work when none of its threads is inside a transaction or a request any more.
    time.sleep(1.0)
    after = _everything_written()
    changed = [what for what in before if before[what] != after[what]]
    stage.result.findings.stale += [f"woken at {point}, it changed {what}" for what in changed]
    stage.result.stale_refused += sleeper.said().count(REFUSED[point])


def _everything_written() -> dict[str, object]:
    """What a stale write would change; nothing else is going on."""
    counted = (MonitorTask, SitemapCheck, ChangeRecord, SitemapSnapshot, Delivery, Attempt)
    rows: dict[str, object] = {model._meta.db_table: model.objects.count() for model in counted}
    monitors = MonitorTask.objects.order_by("pk").values_list("current_snapshot", "last_check_at", "error_count")
    checks = JobRun.objects.filter(name="sitemaps.check").order_by("pk").values_list("fence", "state", "finished_at")
    return {**rows, "monitors": list(monitors), "runs": list(checks)}


def _sleep_with_the_pen(stage: Stage, sleeper: Process) -> None:
    """Nobody can overtake one who sleeps inside a transaction of SQLite, so it may write when it wakes."""
    stage.processes.fill()
    time.sleep(6.0)
    sleeper.signal(signal.SIGCONT)
    stage.settle("woken with the pen")
