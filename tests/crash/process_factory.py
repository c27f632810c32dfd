"""Where processes of the program come from: a mother that has everything loaded and forks a child for each of them.

Starting Python and loading Django takes a second of work; most kills would then hit a process that is starting. A child
is a process like any other: own connections, own threads, the program's own `main`, ended by real signals.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1


def die_with_parent(number: int) -> None:
    """Be sent this signal when the thread that started us ends, however it ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)


class Process:
    """A child of the mother, watched through a descriptor that no other process can take over."""

    def __init__(self, process_factory: ProcessFactory, pid: int, words: Sequence[str], log: Path) -> None:
        self.process_factory = process_factory
        self.pid = pid
        self.words = tuple(words)
        self.log = log
        self._handle = os.pidfd_open(pid)
        self.code: int | None = None

    @property
    def is_alive(self) -> bool:
        return self.code is None and not self.wait(0)

    @property
    def is_stopped(self) -> bool:
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        except FileNotFoundError:
            return False

    def signal(self, number: int) -> None:
        if self.code is None:
            signal.pidfd_send_signal(self._handle, number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.wait(30)

    def wait(self, seconds: float) -> bool:
        """True when it has ended; then `code` is known, negative for a signal."""
        if self.code is not None:
            return True
        if not select.select([self._handle], [], [], seconds)[0]:
            return False
        self.code = self.process_factory.ask(end=self.pid)["code"]
        os.close(self._handle)
        return True

    def said(self) -> str:
        return self.log.read_text(errors="replace")


class ProcessFactory:
    """The mother, seen from the driver. Ends with the driver, and all children with her."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._count = 0
        self._mother = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.process_factory"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.ask(hello=True)

    def start(self, words: Sequence[str], plan: str = "", tick_seconds: float | None = None) -> Process:
        """`watchbook WORDS`, with CRASH_AT=PLAN; a scheduler may be made to tick faster than usual."""
        self._count += 1
        log = self.folder / f"{self._count:04}-{words[0]}.log"
        pid = self.ask(start=list(words), plan=plan, log=str(log), tick_seconds=tick_seconds)["pid"]
        return Process(self, pid, words, log)

    def ask(self, **question: Any) -> dict[str, Any]:
        assert self._mother.stdin
        assert self._mother.stdout
        with self._lock:
            self._mother.stdin.write(json.dumps(question) + "\n")
            self._mother.stdin.flush()
            line = self._mother.stdout.readline()
        if not line:
            raise RuntimeError("the mother of all processes has died")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        assert self._mother.stdin
        self._mother.stdin.close()
        try:
            self._mother.wait(20)
        except subprocess.TimeoutExpired:
            self._mother.kill()


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _load_everything()
    living: set[int] = set()
    for line in sys.stdin:
        question = json.loads(line)
        answer: dict[str, int] = {}
        if "start" in question:
            answer["pid"] = _fork(question)
            living.add(answer["pid"])
        elif "end" in question:
            answer["code"] = os.waitstatus_to_exitcode(os.waitpid(question["end"], 0)[1])
            living.discard(question["end"])
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    for pid in living:
        os.kill(pid, signal.SIGKILL)


def _load_everything() -> None:
    """What a process would load during its first seconds; no connection and no thread may be made here."""
    import django

    django.setup()
    from django.db.migrations.loader import MigrationLoader

    import watchbook.base.web.transport
    import watchbook.core.jobs.celery
    import watchbook.core.notify.channels
    import watchbook.core.ops.server
    import watchbook.project.urls  # noqa: F401 - loading is the purpose
    from tests.crash import harness_jobs
    from tests.outages import fast_clock
    from watchbook.core import registry

    MigrationLoader(None)
    harness_jobs.declare()
    for job in registry.jobs().values():
        job.function()
    for source in registry.sources():
        if source.delivery_changed:
            registry.load(source.delivery_changed)
    fast_clock.follow()


def _fork(question: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        code = _be(**question)
    finally:
        os._exit(code)


def _be(start: list[str], plan: str, log: str, tick_seconds: float | None) -> int:
    from watchbook.base import work
    from watchbook.core.jobs import scheduler
    from watchbook.project import cli

    die_with_parent(signal.SIGKILL)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in ((0, nothing), (1, out), (2, out)):
        os.dup2(source, target)
    # As an own interpreter would have read it from its environment.
    work._plan = plan
    scheduler.TICK_SECONDS = tick_seconds or scheduler.TICK_SECONDS
    sys.argv = ["watchbook", *start]
    try:
        cli.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


if __name__ == "__main__":
    main()
