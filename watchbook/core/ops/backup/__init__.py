"""Backups: one tar file that holds the database as of one moment, the blobs, and a manifest with a digest of each.

    manifest.json                 what is inside, read back and checked before a backup counts as made
    database.sqlite3.zst          SQLite: a copy by the online backup API
    tables/<name>.zst             PostgreSQL: COPY text; MariaDB: JSON lines; all read in one snapshot
    blobs/..., keys/...           files of the data folder; keys only when asked for

Sessions and cache stay out: they are of no use elsewhere, and a session key opens an account.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from watchbook.base import clock
from watchbook.core.ops.backup.archive import BackupError, Manifest, Reader

PATTERN = "watchbook-*.tar"


@dataclass(frozen=True)
class Kept:
    """A backup in the folder; without a manifest it cannot be read and `trouble` gives the reason."""

    name: str
    size: int
    written_at: datetime
    manifest: Manifest | None
    trouble: str = ""

    @property
    def made_at(self) -> datetime:
        return datetime.fromisoformat(self.manifest.made_at) if self.manifest else self.written_at


def folder() -> Path:
    return Path(settings.HOME) / "backups"


def new_path() -> Path:
    return folder() / f"watchbook-{clock.now():%Y%m%d-%H%M%S}.tar"


def listed() -> list[Kept]:
    """Newest first. Reads only the manifests, not the contents."""
    paths = sorted(folder().glob(PATTERN), reverse=True) if folder().is_dir() else []
    return [_look(path) for path in paths]


def find(name: str) -> Path | None:
    """Return the path of a backup; None for any other name, so that no other file can be read."""
    return next((path for path in folder().glob(PATTERN) if path.name == name), None) if folder().is_dir() else None


def _look(path: Path) -> Kept:
    facts = path.stat()
    written_at = datetime.fromtimestamp(facts.st_mtime, UTC)
    try:
        reader = Reader(path)
    except BackupError as error:
        return Kept(path.name, facts.st_size, written_at, None, str(error))
    reader.close()
    return Kept(path.name, facts.st_size, written_at, reader.manifest)


def remove_old(keep: int) -> list[str]:
    """The newest ones stay."""
    old: Iterable[Path] = sorted(folder().glob(PATTERN), reverse=True)[keep:]
    removed = []
    for path in old:
        path.unlink(missing_ok=True)
        removed.append(path.name)
    return removed
