"""Hostile bytes are read in a child process with hard limits on time and memory.

    summary = sandbox.call("watchbook.some.room:read_task", {"limit": 5}, input_path=path, cpu_seconds=10)

An alarm does not interrupt native code, and an allocation in it cannot be undone; killing a process does both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchbook.base.sandbox.errors import TaskCrashed, TaskError, TaskFailed, TaskTooBig, TaskTooSlow

if TYPE_CHECKING:
    from watchbook.base.sandbox.pool import call

__all__ = ["TaskCrashed", "TaskError", "TaskFailed", "TaskTooBig", "TaskTooSlow", "call"]


def __getattr__(name: str) -> Any:
    """The child loads this package, too, and has no use for what starts children."""
    if name != "call":
        raise AttributeError(name)
    from watchbook.base.sandbox.pool import call

    return call
