"""How much room the data folder has left."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

# What a few pages, a log and SQLite's journal need.
LEAST_FREE = 64 * 2**20


@dataclass(frozen=True)
class DiskUsage:
    total: int
    free: int

    @property
    def percent(self) -> float:
        return 100 * (self.total - self.free) / self.total if self.total else 0.0

    @property
    def is_full(self) -> bool:
        """Nothing new can be kept, though what is kept can be read."""
        return self.free < LEAST_FREE


def disk_usage() -> DiskUsage:
    usage = shutil.disk_usage(Path(settings.HOME))
    return DiskUsage(usage.total, usage.free)
