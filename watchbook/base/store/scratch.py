"""Folders for work in progress, inside the data folder: what a killed process left is found and removed."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

OLD_SECONDS = 24 * 3600


@contextmanager
def scratch(purpose: str) -> Iterator[Path]:
    """An empty folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix=f"{purpose}-", dir=_folder()) as name:
        yield Path(name)


def sweep_scratch() -> int:
    """Remove folders that nobody can be working in any more."""
    removed = 0
    for path in _folder().iterdir():
        if time.time() - path.stat().st_mtime > OLD_SECONDS:
            shutil.rmtree(path, ignore_errors=True)
            removed += 1
    return removed


def _folder() -> Path:
    folder = Path(settings.HOME) / "scratch"
    folder.mkdir(exist_ok=True, mode=0o700)
    return folder
