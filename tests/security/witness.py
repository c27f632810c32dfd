"""Sees every connection and every name lookup of this process, whichever library asks for it.

Python reports them to audit hooks before they happen, so nothing can be dialled past the witness. Database drivers
written in C open their own connections and are not seen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_watching: list[Witness] = []


class Witness:
    def __init__(self) -> None:
        self.connects: list[tuple[str, int]] = []
        self.lookups: list[str] = []

    def note(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.connect" and isinstance(args[1], tuple):
            self.connects.append((str(args[1][0]), int(args[1][1])))
        elif event == "socket.getaddrinfo":
            self.lookups.append(str(args[0]))

    def strangers(self, *known_ports: int) -> list[tuple[str, int]]:
        """Connections to other ports than these."""
        return [place for place in self.connects if place[1] not in known_ports]


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if _watching and event.startswith("socket."):
        for witness in _watching:
            witness.note(event, args)


@contextmanager
def watching() -> Iterator[Witness]:
    # A hook stays for the life of the process, so there is one, and it is idle outside of this block.
    if not getattr(sys, "_watchbook_witness", False):
        sys.addaudithook(_hook)
        sys._watchbook_witness = True  # type: ignore[attr-defined]
    witness = Witness()
    _watching.append(witness)
    try:
        yield witness
    finally:
        _watching.remove(witness)
