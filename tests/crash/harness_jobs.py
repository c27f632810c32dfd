"""Jobs of the crash tests only: each is due every second and records that it ran."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from watchbook.core import builtin_jobs, registry
from watchbook.core.registry import Job
from watchbook.core.watching import every

COUNT = 12
# So long, with the short leases of the harness, that a slow machine does not make a second execution.
LEASE_SECONDS = 6000
NAMES = tuple(f"crash.tick{n:02}" for n in range(COUNT))


def declare() -> None:
    """Among the installation's own jobs, in this process and its children."""
    made = tuple(
        Job(name, f"{__name__}:tick", title=name, schedule=every(seconds=1), lease_seconds=LEASE_SECONDS)
        for name in NAMES
    )
    builtin_jobs.JOBS = (*builtin_jobs.JOBS, *made)
    registry.forget()


def book() -> Path:
    """A line for each execution: outside of the database, so that a rolled back one shows, too."""
    return Path(os.environ["CRASH_TICKS"])


def tick(ctx: Any) -> None:
    line = f"{ctx.run.key}\n".encode()
    handle = os.open(book(), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, line)
    finally:
        os.close(handle)
    with ctx.writing():
        pass
