"""Tasks that behave in every way a task can."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any


def echo(argument: dict[str, Any]) -> Any:
    return argument


def look_around(argument: dict[str, Any]) -> Any:
    return {
        "pid": os.getpid(),
        "modules": sorted(sys.modules),
        "environment": dict(os.environ),
        "files": len(os.listdir("/proc/self/fd")),
    }


def spin(argument: dict[str, Any]) -> None:
    while True:
        pass


def sleep(argument: dict[str, Any]) -> int:
    if "tell" in argument:
        Path(argument["tell"]).write_text(str(os.getpid()))
    time.sleep(argument["seconds"])
    return os.getpid()


def eat_memory(argument: dict[str, Any]) -> int:
    return len(bytearray(argument["megabytes"] * 1024 * 1024))


def die(argument: dict[str, Any]) -> None:
    os.kill(os.getpid(), signal.Signals[argument["signal"]])


def leave(argument: dict[str, Any]) -> None:
    os._exit(argument["code"])


def fail(argument: dict[str, Any]) -> None:
    raise LookupError(argument["text"])


def print_a_lot(argument: dict[str, Any]) -> str:
    print("x" * 1_000_000)
    os.write(1, b"y" * 1000)
    return "done"


def complain_a_lot(argument: dict[str, Any]) -> str:
    for _ in range(100):
        try:
            os.write(2, b"z" * 10_000)
        except BlockingIOError:
            return "lost"
    return "kept"


def answer_with(argument: dict[str, Any]) -> Any:
    kinds = {
        "long": "x" * 5_000_000,
        "nan": float("nan"),
        "bytes": b"raw",
        "surrogate": "\ud800",
    }
    if argument["kind"] == "deep":
        deep: list[Any] = []
        for _ in range(100_000):
            deep = [deep]
        return deep
    return kinds[argument["kind"]]


def garble(argument: dict[str, Any]) -> None:
    """A child that was taken over writes what it likes into every pipe it has."""
    for end in range(3, 20):
        try:
            os.write(end, bytes.fromhex(argument["hex"]))
        except OSError:
            continue
    os._exit(0)


def copy_upper(argument: dict[str, Any]) -> int:
    text = Path(argument["input_path"]).read_text()
    return Path(argument["output_path"]).write_text(text.upper())


def open_many_files(argument: dict[str, Any]) -> int:
    return len([open(os.devnull) for _ in range(argument["count"])])


def clean_nested(argument: dict[str, Any]) -> int:
    import nh3

    return len(nh3.clean("<div>" * argument["depth"]))


def fill_rust_memory(argument: dict[str, Any]) -> int:
    import nh3

    return len(nh3.clean("<a>" * 3_000_000))
