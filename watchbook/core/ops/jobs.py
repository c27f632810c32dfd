"""Jobs of operations: the nightly backup, unused blobs, and re-encrypting secrets with the newest key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings

from watchbook.base.crypto import CURRENT, LOCKED, REENCRYPTED, Writing, key_of
from watchbook.base.store import blobs
from watchbook.core import registry
from watchbook.core.jobs.runner import NOTHING_TO_DO, GiveUp, JobContext, Outcome
from watchbook.core.ops import backup, options
from watchbook.core.ops.backup.archive import BackupError


def back_up(ctx: JobContext) -> Outcome:
    """Create a backup in the backups folder, then delete the oldest ones."""
    from watchbook.core.ops.backup.taking import take  # only where a backup is made

    def report(figures: dict[str, Any]) -> None:
        ctx.report(**figures)
        ctx.beat()

    try:
        taken = take(backup.new_path(), report=report)
    except BackupError as error:
        raise GiveUp(str(error), "backup_failed") from error
    removed = backup.remove_old(options.BACKUP_KEEP.value)
    contents = taken.manifest
    figures = {"bytes": taken.size, "rows": contents.rows, "blobs": contents.blobs, "removed": len(removed)}
    lost = {"missing_blobs": len(contents.missing_blobs)} if contents.missing_blobs else {}
    return Outcome("partly" if lost else "done", {"step": "verified", "name": taken.path.name, **figures, **lost})


def clean_blobs(ctx: JobContext) -> Outcome:
    """Delete blobs that nothing has referred to for a day, and what killed processes left."""
    try:
        done = blobs.clean(ctx.beat)
    except blobs.PlaceFailed as error:
        raise GiveUp(str(error), "storage_failed") from error
    figures = {"blobs": done.blobs, "bytes": done.bytes, "drafts": done.drafts}
    return Outcome("done" if any(figures.values()) else "nothing_to_do", figures)


# What core keeps encrypted; a system declares its own in `Source.secrets`.
SECRETS = {
    "store": "watchbook.base.store.keys:reencrypt_values",
    "accounts": "watchbook.core.accounts.adapter:reencrypt_values",
    "notify": "watchbook.core.notify.channels:reencrypt_values",
    "ops": "watchbook.core.ops.stored:reencrypt_values",
}


def reencrypt_secrets(ctx: JobContext) -> Outcome:
    """Re-encrypt one value per transaction, so that the next run can continue. Values without a key stay."""
    counts: Counter[str] = Counter({REENCRYPTED: 0, CURRENT: 0, LOCKED: 0})
    missing: Counter[str] = Counter()
    for word, old in _values(ctx):
        counts[word] += 1
        if word == LOCKED:
            missing[key_of(old)] += 1
        ctx.report(**counts)
    figures = {**counts, "key": next(iter(settings.SECRETS_KEYS)), "missing_keys": dict(missing)}
    if counts[LOCKED]:
        return Outcome("partly", figures)
    return Outcome("done", figures) if counts[REENCRYPTED] else Outcome(NOTHING_TO_DO.word, figures)


def _values(ctx: JobContext) -> Iterator[tuple[str, str]]:
    for reencrypt in stored_secrets().values():
        yield from reencrypt(ctx.writing)


def stored_secrets() -> dict[str, Callable[[Writing], Iterator[tuple[str, str]]]]:
    """Return the functions that re-encrypt what core and the systems keep encrypted, by name."""
    declared = SECRETS | {source.slug: source.secrets for source in registry.sources() if source.secrets}
    return {name: registry.load(dotted) for name, dotted in declared.items()}
