"""Hostile bytes are read in a child process with hard limits on time and memory.

    summary = sandbox.call("watchbook.some.module:read_task", {"limit": 5}, input_path=path, cpu_seconds=10)

An alarm does not interrupt native code, and its allocations cannot be undone; killing a process does both.

TaskError
|-- TaskTooSlow    CPU or wall time ran out; the child was killed. The same bytes will do it again.
|-- TaskTooBig     memory ran out, or the answer was too long. The same bytes will do it again.
|-- TaskCrashed    the child died of a signal or garbled its answer. Report the bytes; do not retry for ever.
`-- TaskFailed     the task raised an exception: `name` and `text` are its own.
"""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from watchbook.base.sandbox.pool import call


def gettext_noop(text: str) -> str:
    """Marks a sentence for translation; the child loads no Django."""
    return text


class TaskError(Exception):
    code = "task_error"
    message = gettext_noop("The content could not be read.")

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail)
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.code}: {self.detail or self.message}"


class TaskTooSlow(TaskError):
    code = "task_too_slow"
    message = gettext_noop("The content takes too long to read.")


class TaskTooBig(TaskError):
    code = "task_too_big"
    message = gettext_noop("The content needs too much memory to read.")


class TaskCrashed(TaskError):
    code = "task_crashed"
    message = gettext_noop("Reading the content failed badly.")


class TaskFailed(TaskError):
    code = "task_failed"

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        self.name = name
        self.text = text


# Parent and child exchange a length, then JSON.
HEADER = struct.Struct(">I")
TASK = re.compile(r"(watchbook(?:\.[a-z_][a-z0-9_]*)+):([a-z_][a-z0-9_]*)")


__all__ = ["HEADER", "TASK", "TaskCrashed", "TaskError", "TaskFailed", "TaskTooBig", "TaskTooSlow", "call"]


def __getattr__(name: str) -> Any:
    """Load `call` on first use: the child imports this package, too, and starts no children."""
    if name != "call":
        raise AttributeError(name)
    from watchbook.base.sandbox.pool import call

    return call
