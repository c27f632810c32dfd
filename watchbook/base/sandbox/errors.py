"""How a task can end badly.

TaskError
|-- TaskTooSlow    CPU or wall time ran out; the child was killed. The same bytes will do it again.
|-- TaskTooBig     memory ran out, or the answer was too long. The same bytes will do it again.
|-- TaskCrashed    the child died of a signal or garbled its answer. Report the bytes; do not retry for ever.
`-- TaskFailed     the task raised an exception: `name` and `text` are its own.
"""

from __future__ import annotations


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
