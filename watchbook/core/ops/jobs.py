"""The nightly backup."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from watchbook.core.jobs.context import JobContext, Outcome
from watchbook.core.jobs.errors import GiveUp
from watchbook.core.ops import options
from watchbook.core.ops.backup import shelf
from watchbook.core.ops.backup.errors import BackupTrouble


def backup_wanted(_now: datetime) -> bool:
    return options.BACKUP_DAILY.value


def back_up(ctx: JobContext) -> Outcome:
    """Take a backup to the shelf, then let go of the oldest ones."""
    from watchbook.core.ops.backup.taking import take  # only where a backup is made

    def tell(figures: dict[str, Any]) -> None:
        ctx.report(**figures)
        ctx.beat()

    try:
        taken = take(shelf.new_path(), tell=tell)
    except BackupTrouble as error:
        raise GiveUp(str(error), "backup_failed") from error
    removed = shelf.remove_old(options.BACKUP_KEEP.value)
    figures = {"bytes": taken.size, "rows": taken.manifest.rows, "blobs": taken.manifest.blobs, "removed": len(removed)}
    return Outcome("done", {"step": "verified", "name": taken.path.name, **figures})
