"""A thread-safe list whose readers can wait for entries; every ledger and log uses it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class WaitableList(Generic[T]):
    """Entries in the order they were written. Readers always get a copy."""

    def __init__(self) -> None:
        self._entries: list[T] = []
        self.changed = threading.Condition(threading.RLock())

    def add(self, entry: T) -> None:
        with self.changed:
            self._entries.append(entry)
            self.changed.notify_all()

    def all(self) -> list[T]:
        with self.changed:
            return list(self._entries)

    def clear(self) -> None:
        with self.changed:
            self._entries.clear()
            self.changed.notify_all()

    def __len__(self) -> int:
        with self.changed:
            return len(self._entries)

    def wait_for(self, predicate: Callable[[list[T]], object], timeout: float = 5.0) -> list[T]:
        """Wait until the predicate holds for the entries; returns them, or raises TimeoutError."""
        wait_until(self.changed, lambda: predicate(list(self._entries)), timeout)
        return self.all()


def wait_until(changed: threading.Condition, predicate: Callable[[], object], timeout: float) -> None:
    """Wait on a condition until the predicate holds, or raise TimeoutError."""
    deadline = time.monotonic() + timeout
    with changed:
        while not predicate():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"nothing fitting happened within {timeout:g} s")
            changed.wait(left)
