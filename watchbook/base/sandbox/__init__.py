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

import atexit
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

from watchbook.base import work
from watchbook.base.sandbox.options import CHILDREN
from watchbook.base.sandbox_child import HEADER, TASK

MAX_ANSWER_HEADROOM = 1024
_ROOT = Path(__file__).resolve().parents[3]
# Nothing of the parent's environment: it holds keys and passwords.
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONPATH": str(_ROOT),
    "OPENBLAS_NUM_THREADS": "1",  # each of its threads takes address space
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "1",
}


def gettext_noop(text: str) -> str:
    """Mark a sentence for translation; a child whose task is in this package loads no Django."""
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


class Child:
    def __init__(self) -> None:
        life_read, self._lifeline = os.pipe()
        self._complaints, complaints = os.pipe()
        # A child that writes more complaints than the pipe holds loses them instead of waiting.
        for end in (complaints, self._complaints):
            os.set_blocking(end, False)
        command = [sys.executable, "-P", "-s", "-m", "watchbook.base.sandbox_child", str(life_read)]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module, nothing from outside
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, bufsize=0,
                env=_ENVIRONMENT, pass_fds=(life_read,), start_new_session=True,
            )  # fmt: skip
        except OSError:
            self._close_pipes()
            raise
        finally:
            os.close(life_read)
            os.close(complaints)
        self.tasks = 0
        self.idle_since = time.monotonic()
        assert self._process.stdin
        assert self._process.stdout
        self._tasks, self._answers = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._tasks, False)
        os.set_blocking(self._answers, False)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: bytes, wall_seconds: float, max_answer_bytes: int) -> bytes:
        """The answer, or the error that says how the child died. After an error the child is gone."""
        ends = time.monotonic() + wall_seconds
        self.tasks += 1
        self._drain_complaints()
        try:
            self._write(HEADER.pack(len(request)) + request, ends)
            (size,) = HEADER.unpack(self._read(HEADER.size, ends))
            if size > max_answer_bytes + MAX_ANSWER_HEADROOM:
                raise TaskCrashed("announced a longer answer than allowed")
            return self._read(size, ends)
        except TaskError:
            self.kill()
            raise
        except (BrokenPipeError, EOFError):
            raise self._cause_of_death() from None
        except BaseException:
            self.kill()
            raise

    def _write(self, data: bytes, ends: float) -> None:
        view = memoryview(data)
        while view:
            _wait(self._tasks, select.POLLOUT, ends)
            view = view[os.write(self._tasks, view) :]

    def _read(self, size: int, ends: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            _wait(self._answers, select.POLLIN, ends)
            piece = os.read(self._answers, min(size - len(data), 1024 * 1024))
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)

    def _cause_of_death(self) -> TaskError:
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = 0
        complaints = self._drain_complaints()
        self.kill()
        if -code in {signal.SIGXCPU, signal.SIGALRM}:
            return TaskTooSlow(signal.Signals(-code).name)
        if b"memory allocation" in complaints or b"MemoryError" in complaints:
            return TaskTooBig("allocation failed")
        return TaskCrashed(signal.Signals(-code).name if code < 0 else f"exit code {code}")

    def _drain_complaints(self) -> bytes:
        try:
            return os.read(self._complaints, 65536)
        except BlockingIOError:
            return b""

    def kill(self) -> None:
        """End the child and take its exit status, so that it leaves no zombie."""
        self._process.kill()
        self._process.wait()
        self._close_pipes()

    def abandon(self) -> None:
        """In a forked copy of the parent: let go of pipes that are not ours."""
        self._process.returncode = 0
        self._close_pipes()

    def _close_pipes(self) -> None:
        process = getattr(self, "_process", None)
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                pipe.close()
        for name in ("_lifeline", "_complaints"):
            end = getattr(self, name)
            if end >= 0:
                os.close(end)
                setattr(self, name, -1)


def _wait(end: int, event: int, ends: float) -> None:
    left = ends - time.monotonic()
    poll = select.poll()
    poll.register(end, event)
    if left <= 0 or not poll.poll(left * 1000):
        raise TaskTooSlow("wall time")


TASKS_PER_CHILD = 200
IDLE_SECONDS = 60.0
MAX_REQUEST_BYTES = 256 * 1024 * 1024


class Pool:
    def __init__(self, *, idle_seconds: float = IDLE_SECONDS, tasks_per_child: int = TASKS_PER_CHILD) -> None:
        self._idle_seconds = idle_seconds
        self._tasks_per_child = tasks_per_child
        self._start()

    def _start(self) -> None:
        self._free = threading.Condition()
        self._idle: list[Child] = []
        self._all: set[Child] = set()
        self._places_taken = 0
        self._reaper: threading.Thread | None = None

    def ask(self, request: bytes, wall_seconds: float, max_answer_bytes: int) -> dict[str, Any]:
        child = self._take()
        is_fit = False
        try:
            answer = _read_answer(child.ask(request, wall_seconds, max_answer_bytes))
            is_spoilt = answer["is_tired"] or answer.get("error") == "memory"
            is_fit = not is_spoilt and child.tasks < self._tasks_per_child
            return answer
        finally:
            self._give_back(child, is_fit=is_fit)

    def _take(self) -> Child:
        with self._free:
            while self._places_taken >= CHILDREN.value:
                self._free.wait()
            self._places_taken += 1
            child = self._idle.pop() if self._idle else None
        try:
            while child is not None and not child.is_alive:
                self._end(child)
                with self._free:
                    child = self._idle.pop() if self._idle else None
            return child or self._make()
        except BaseException:
            with self._free:
                self._places_taken -= 1
                self._free.notify()
            raise

    def _make(self) -> Child:
        child = Child()
        with self._free:
            self._all.add(child)
        return child

    def _give_back(self, child: Child, *, is_fit: bool) -> None:
        if not is_fit:
            self._end(child)
        with self._free:
            self._places_taken -= 1
            if is_fit:
                child.idle_since = time.monotonic()
                self._idle.append(child)
                self._wake_reaper()
            self._free.notify()

    def _end(self, child: Child) -> None:
        child.kill()
        with self._free:
            self._all.discard(child)

    def _wake_reaper(self) -> None:
        if self._reaper is None or not self._reaper.is_alive():
            self._reaper = threading.Thread(target=self._reap, name="sandbox-reaper", daemon=True)
            self._reaper.start()

    def _reap(self) -> None:
        """Ends children that idled for long; ends itself when there are none."""
        while True:
            with self._free:
                if not self._idle:
                    self._reaper = None
                    return
                # Used last in, first out: the first of the list has idled longest.
                left = self._idle[0].idle_since + self._idle_seconds - time.monotonic()
                old = self._idle.pop(0) if left <= 0 else None
            if old is not None:
                self._end(old)
            else:
                time.sleep(min(left, 5.0))

    def close(self) -> None:
        with self._free:
            children, self._idle = self._idle, []
        for child in children:
            self._end(child)

    def forget(self) -> None:
        """In a forked copy of this process: the children are not ours."""
        for child in self._all:
            child.abandon()
        self._start()


def call(
    task: str,
    argument: dict[str, Any],
    *,
    cpu_seconds: float = 10.0,
    wall_seconds: float | None = None,
    memory_mb: float = 512.0,
    input_path: str | Path | None = None,
    output_path: str | Path | None = None,
    max_answer_bytes: int = 16 * 1024 * 1024,
) -> Any:
    """Run "watchbook.module:function" on a JSON argument in a child and return its JSON answer.

    Paths arrive in the argument as `input_path` and `output_path`. `wall_seconds` is three times the CPU time unless
    given; `memory_mb` is counted above what the child needs to be there at all. Raises a TaskError.
    """
    if not TASK.fullmatch(task):
        raise ValueError(f"{task!r} is not a task of this product")
    wall_seconds = wall_seconds or 3 * cpu_seconds + 5
    argument = dict(argument)
    for name, path in (("input_path", input_path), ("output_path", output_path)):
        if path is not None:
            argument[name] = os.path.abspath(path)
    request = json.dumps(
        {
            "task": task,
            "argument": argument,
            "cpu_seconds": cpu_seconds,
            "wall_seconds": wall_seconds,
            "memory_mb": memory_mb,
            "max_answer_bytes": max_answer_bytes,
        },
        allow_nan=False,
    ).encode("ascii")
    if len(request) > MAX_REQUEST_BYTES:
        raise TaskTooBig("the argument is too long; pass a file")
    answer = _shared.ask(request, wall_seconds, max_answer_bytes)
    work.beat()
    return answer["ok"] if "ok" in answer else _raise(answer)


def _read_answer(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise TaskCrashed("garbled answer") from None
    if not isinstance(answer, dict):
        raise TaskCrashed("garbled answer")
    return {"is_tired": True, **answer}


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _raise(answer: dict[str, Any]) -> NoReturn:
    if answer.get("error") == "memory":
        raise TaskTooBig("memory")
    if answer.get("error") == "answer":
        raise TaskTooBig("the answer is too long")
    raise TaskFailed(str(answer.get("name", "")), str(answer.get("text", "")))


_shared = Pool()
os.register_at_fork(after_in_child=_shared.forget)
atexit.register(_shared.close)
