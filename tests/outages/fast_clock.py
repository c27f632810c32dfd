"""A clock that runs faster than the wall clock, in every process of the run: ten minutes hold some days.

Pauses, retries and schedules then end in time. Leases follow the clock of the database and stay as they are.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any

VARIABLE = "OUTAGES_CLOCK"
# Boards are crawled every 12 hours; an outage of two hours must meet a crawl.
BOARD_EVERY = timedelta(hours=1)


def setting(began: datetime, factor: float) -> dict[str, str]:
    return {VARIABLE: f"{began.isoformat()} {factor}"}


def follow() -> None:
    """Let this process follow the clock of the environment, if there is one."""
    text = os.environ.get(VARIABLE, "")
    if not text:
        return
    began, _, factor = text.partition(" ")
    _run_from(datetime.fromisoformat(began), float(factor))
    _crawl_boards_often()


def _run_from(began: datetime, factor: float) -> None:
    from watchbook.base import clock

    class FastDatetime(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return (began + (datetime.now(UTC) - began) * factor).astimezone(tz)

    # Models keep `clock.now` itself as a default, so what it asks is replaced and not the function.
    clock.datetime = FastDatetime  # type: ignore[misc]


def _crawl_boards_often() -> None:
    from watchbook.core import registry
    from watchbook.core.watching import Schedule

    job = registry.jobs()["nga.crawl"]
    object.__setattr__(job, "schedule", Schedule(every=BOARD_EVERY))
