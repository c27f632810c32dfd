"""The child: reads tasks from its standard input, one at a time, each under its own limits.

Started with `python -m`, never forked from a process with threads. It loads only what the task's module loads, which is
why it stands beside the package of the parent and not in it.
"""

from __future__ import annotations

import fcntl
import importlib
import json
import math
import os
import re
import resource
import select
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

# Parent and child exchange a length, then JSON.
HEADER = struct.Struct(">I")
TASK = re.compile(r"(watchbook(?:\.[a-z_][a-z0-9_]*)+):([a-z_][a-z0-9_]*)")
MAX_FILES = 64
MAX_FILE_BYTES = 8 * 1024**3
MAX_TEXT = 500
TIRED_BYTES = 256 * 1024**2  # freed memory does not always go back to the system
WALL_GRACE = 2.0  # the parent kills first; this is for a child whose parent is gone


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)  # a task that prints must not garble the answer
    die_with_parent(int(sys.argv[1]))
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_NOFILE, MAX_FILES)
    limit(resource.RLIMIT_FSIZE, MAX_FILE_BYTES)
    requests = os.fdopen(0, "rb", closefd=False)
    while header := requests.read(HEADER.size):
        (size,) = HEADER.unpack(header)
        request = json.loads(requests.read(size))
        answer = encode(run(request), request["max_answer_bytes"])
        send(answers, answer)


def die_with_parent(lifeline: int) -> None:
    """Nothing is written to the lifeline; when its other end closes, the kernel sends SIGIO, which ends the process.

    PR_SET_PDEATHSIG would fire already when the thread that started us ends.
    """
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0]:
        sys.exit(0)


def limit(kind: int, value: int) -> None:
    """Set the soft limit; the hard one stays, so that the next task may have another."""
    hard = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


def run(request: dict[str, Any]) -> dict[str, Any]:
    try:
        function = find(request["task"])
        with limits(request):
            return {"ok": function(request["argument"])}
    except MemoryError:
        return {"error": "memory"}
    # Whatever the task raises is its answer; native libraries raise things that are not even Exceptions.
    except BaseException as error:
        return {"error": "failed", "name": type(error).__name__, "text": one_line(str(error))}


def one_line(text: str) -> str:
    """Fit for a log: the text may quote the hostile bytes."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:MAX_TEXT])


def find(task: str) -> Callable[[dict[str, Any]], Any]:
    match = TASK.fullmatch(task)
    if match is None:
        raise ValueError("not a task of this product")
    function: Callable[[dict[str, Any]], Any] = getattr(importlib.import_module(match.group(1)), match.group(2))
    return function


@contextmanager
def limits(request: dict[str, Any]) -> Iterator[None]:
    """Limits begin after the imports: they bound the work, not the libraries."""
    limit(resource.RLIMIT_CPU, math.ceil(time.process_time() + request["cpu_seconds"]))
    if base := memory()[0]:
        limit(resource.RLIMIT_AS, base + int(request["memory_mb"] * 1024**2))
    signal.setitimer(signal.ITIMER_REAL, request["wall_seconds"] + WALL_GRACE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU):
            resource.setrlimit(kind, (resource.getrlimit(kind)[1],) * 2)


def memory() -> tuple[int, int]:
    """Address space and resident memory in bytes; zeros where the system reports none."""
    try:
        with open("/proc/self/statm", "rb") as file:
            size, resident, *_ = file.read().split()
    except OSError:
        return 0, 0
    return int(size) * resource.getpagesize(), int(resident) * resource.getpagesize()


def encode(answer: dict[str, Any], most: int) -> bytes:
    try:
        body = json.dumps({**answer, "is_tired": memory()[1] > TIRED_BYTES}, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        body = json.dumps({"error": "failed", "name": type(error).__name__, "text": "answer is not JSON"}).encode()
    return body if len(body) <= most else b'{"error": "answer"}'


def send(answers: BinaryIO, body: bytes) -> None:
    answers.write(HEADER.pack(len(body)) + body)
    answers.flush()


if __name__ == "__main__":
    main()
