"""A stand-in as its own process: one JSON line with its addresses when ready, then it runs until SIGTERM."""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import FrameType
from typing import Protocol


class Startable(Protocol):
    def start(self) -> object: ...

    def close(self) -> None: ...


def arguments(name: str, about: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(f"standins {name}", description=(about or "").partition("\n")[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 picks a free one")
    return parser


def run(
    addresses: Mapping[str, object], *servers: Startable, every: float = 0, tick: Callable[[], object] | None = None
) -> None:
    """`tick` is called every so many seconds, for a world that keeps changing."""
    _allow_many_files()
    told = threading.Event()

    def tell(number: int, frame: FrameType | None) -> None:
        told.set()

    signal.signal(signal.SIGTERM, tell)
    signal.signal(signal.SIGINT, tell)
    with ExitStack() as stack:
        for server in servers:
            stack.callback(server.close)
            server.start()
        print(json.dumps({"ready": True, "pid": os.getpid(), **addresses}), flush=True)
        while not told.wait(every or None):
            if tick is not None:
                tick()


def _allow_many_files(wanted: int = 16_384) -> None:
    """Each connection is a file; the usual limit of 1,024 is soon used up."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    if now != resource.RLIM_INFINITY and now < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
