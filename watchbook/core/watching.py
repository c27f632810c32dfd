"""When work is due: jobs on a schedule, and things that are checked on one.

A schedule is an interval on the wall clock, or a cron line in Asia/Shanghai. A watched thing has its next check,
backoff, error after some failures, recovery, pause and resume. Pure: a system keeps the four values of `Watched` in
columns of its own and stores what these functions return. Every result of a check moves `next_at` past now, so no
check stays due for ever.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from zoneinfo import ZoneInfo

from cronsim import CronSim

from watchbook.base.clock import SHANGHAI

_EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Schedule:
    """Give `every` or `cron`. Slots of `every` count from a fixed moment, so that all processes name them alike."""

    every: timedelta | None = None
    cron: str = ""
    zone: ZoneInfo = SHANGHAI

    def __post_init__(self) -> None:
        if (self.every is None) == (not self.cron):
            raise ValueError("a schedule is either an interval or a cron line")
        if self.cron and len(self.cron.split()) != 5:
            raise ValueError("a cron line has five fields")

    def next_after(self, moment: datetime) -> datetime:
        """The first slot after a moment."""
        if self.every is not None:
            passed = (moment - _EPOCH) // self.every
            return _EPOCH + (passed + 1) * self.every
        return next(CronSim(self.cron, moment.astimezone(self.zone))).astimezone(UTC)

    def latest(self, first: datetime, moment: datetime) -> datetime:
        """The last slot not after a moment, when `first` was due: missed slots count as one."""
        if self.every is not None:
            return _EPOCH + ((moment - _EPOCH) // self.every) * self.every
        slot = first
        for _ in range(10_000):
            following = self.next_after(slot)
            if following > moment:
                return slot
            slot = following
        return slot

    def __str__(self) -> str:
        if self.cron:
            return self.cron
        seconds = int(self.every.total_seconds()) if self.every else 0
        for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
            if seconds % size == 0:
                return f"every {seconds // size} {unit}"
        return f"every {seconds} s"


def every(**span: float) -> Schedule:
    return Schedule(every=timedelta(**span))


def cron(line: str) -> Schedule:
    return Schedule(cron=line)


ACTIVE, PAUSED, ERROR = "active", "paused", "error"
MOST_DOUBLINGS = 16


@dataclass(frozen=True)
class Plan:
    """How often a thing is checked: at an interval, or by a schedule such as a cron line."""

    interval: timedelta | None = None
    schedule: Schedule | None = None
    errors_until_error: int = 3
    longest_wait: timedelta = timedelta(hours=24)
    # Things added in the same minute must not be checked in the same second for ever: each comes a little early.
    jitter_share: float = 0.02
    # Beyond the longest wait by more than this, a next check was planned by a wrong clock.
    slack: timedelta = timedelta(hours=1)

    def __post_init__(self) -> None:
        if (self.interval is None) == (self.schedule is None):
            raise ValueError("a plan is either an interval or a schedule")

    def next_at(self, key: str, now: datetime, *, failures: int = 0, asked_pause: float | None = None) -> datetime:
        """Return the next check. `failures` counts those in a row, `asked_pause` is Retry-After in seconds."""
        wait = self._wait(key, now, failures)
        if asked_pause is not None and asked_pause > 0:
            wait = max(wait, min(timedelta(seconds=min(asked_pause, 1e9)), self.longest_wait))
        return now + wait

    def _wait(self, key: str, now: datetime, failures: int) -> timedelta:
        if self.schedule is not None:
            return self.schedule.next_after(now) - now
        assert self.interval is not None
        wait = self.interval
        if failures >= self.errors_until_error:
            doublings = min(failures - self.errors_until_error, MOST_DOUBLINGS)
            wait = max(self.interval, min(wait * 2**doublings, self.longest_wait))
        share = int.from_bytes(sha256(key.encode()).digest()[:4]) / 2**32
        return wait - wait * self.jitter_share * share

    def is_far_ahead(self, next_at: datetime, now: datetime) -> bool:
        """Whether no interval, backoff or pause explains this moment: the clock jumped."""
        longest = max(self.longest_wait, self._wait("", now, 0))
        return next_at > now + longest + self.slack


@dataclass(frozen=True)
class Watched:
    """The state of one thing. `error_notified` stays until a success, through pause, resume and retry."""

    status: str
    failures: int
    error_notified: bool
    next_at: datetime

    def is_due(self, now: datetime) -> bool:
        return self.status != PAUSED and self.next_at <= now


@dataclass(frozen=True)
class Step:
    """The new state, and whether the users hear of it: the error state begins, or a notified error is over."""

    watched: Watched
    entered_error: bool = False
    recovered: bool = False


def succeeded(watched: Watched, plan: Plan, key: str, now: datetime, *, again_at: datetime | None = None) -> Step:
    """Apply a successful check. `again_at` overrides the plan, for a check that must be confirmed soon."""
    status = ACTIVE if watched.status == ERROR else watched.status
    following = again_at or plan.next_at(key, now)
    return Step(Watched(status, 0, False, following), recovered=watched.error_notified)


def failed(watched: Watched, plan: Plan, key: str, now: datetime, *, asked_pause: float | None = None) -> Step:
    """Apply a failed check. After `errors_until_error` in a row the error state begins, with growing intervals."""
    failures = watched.failures + 1
    entered = watched.status == ACTIVE and failures >= plan.errors_until_error
    status = ERROR if entered else watched.status
    following = plan.next_at(key, now, failures=failures if status == ERROR else 0, asked_pause=asked_pause)
    return Step(Watched(status, failures, watched.error_notified or entered, following), entered_error=entered)


def skipped(watched: Watched, plan: Plan, key: str, now: datetime) -> Watched:
    """Leave out a check that was cancelled: the next one follows as planned."""
    failures = watched.failures if watched.status == ERROR else 0
    return replace(watched, next_at=plan.next_at(key, now, failures=failures))


def paused(watched: Watched) -> Watched:
    return replace(watched, status=PAUSED)


def resumed(watched: Watched, now: datetime) -> Watched:
    """Make a paused thing, or one in error, active and due now. A notified error still gets its recovery."""
    return replace(watched, status=ACTIVE, failures=0, next_at=now)
