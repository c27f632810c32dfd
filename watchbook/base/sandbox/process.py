"""The parent's end of one child: start it, ask it under a deadline, kill it, read the cause of its death."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from watchbook.base.sandbox.errors import TaskCrashed, TaskError, TaskTooBig, TaskTooSlow
from watchbook.base.sandbox.frames import HEADER

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


class Child:
    def __init__(self) -> None:
        life_read, self._lifeline = os.pipe()
        self._complaints, complaints = os.pipe()
        # A child that writes more complaints than the pipe holds loses them instead of waiting.
        for end in (complaints, self._complaints):
            os.set_blocking(end, False)
        command = [sys.executable, "-P", "-s", "-m", "watchbook.base.sandbox.child", str(life_read)]
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
