"""Counts the files of the package that a piece of work passes: every file of which a function was called."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

import watchbook

PACKAGE = str(Path(watchbook.__file__).parent) + "/"
NOT_COUNTED = ("/tests/", "/testing/", "/migrations/")


@contextmanager
def passed() -> Iterator[dict[str, set[str]]]:
    """Collect files and their functions while the block runs, in all its threads. Importing a module does not count."""
    found: dict[str, set[str]] = {}

    def look(frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        # Bodies of modules and classes are not optimised code: they run at import.
        if event == "call" and code.co_flags & CO_OPTIMIZED and code.co_filename.startswith(PACKAGE):
            name = code.co_filename.removeprefix(PACKAGE)
            if not any(part in f"/{name}" for part in NOT_COUNTED):
                found.setdefault(name, set()).add(code.co_qualname)

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
