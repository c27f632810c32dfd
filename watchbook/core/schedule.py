"""When a job is due: an interval on the wall clock, or a cron line in Asia/Shanghai."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
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
