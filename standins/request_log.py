"""Counts the requests that a site received, and how many ran at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from standins.messages import Request
from standins.waitable_list import WaitableList, wait_until


class RequestLog:
    """Thread-safe. A request is in flight from its last byte in to its last byte out."""

    def __init__(self) -> None:
        self._journal: WaitableList[Request] = WaitableList()
        self._numbers = 0
        self._statuses: dict[int, int | None] = {}
        self._by_path: Counter[str] = Counter()
        self._by_host: Counter[str] = Counter()
        self._flying: dict[int, str] = {}
        self._flying_by_host: Counter[str] = Counter()
        self._high_by_host: Counter[str] = Counter()
        self.high_water = 0

    def next_number(self) -> int:
        with self._journal.changed:
            self._numbers += 1
            return self._numbers

    def begin(self, request: Request) -> None:
        with self._journal.changed:
            host = request.host
            self._by_path[request.path] += 1
            self._by_host[host] += 1
            self._flying[request.number] = host
            self._flying_by_host[host] += 1
            self._high_by_host[host] = max(self._high_by_host[host], self._flying_by_host[host])
            self.high_water = max(self.high_water, len(self._flying))
            self._journal.add(request)

    def finish(self, request: Request, status: int | None) -> None:
        with self._journal.changed:
            host = self._flying.pop(request.number, None)
            if host is not None:
                self._flying_by_host[host] -= 1
                self._statuses[request.number] = status
                self._journal.changed.notify_all()

    def all(self, path: str | None = None) -> list[Request]:
        return [request for request in self._journal.all() if path in (None, request.path)]

    def last(self, path: str | None = None) -> Request:
        return self.all(path)[-1]

    def count(self, path: str | None = None, *, host: str | None = None) -> int:
        with self._journal.changed:
            if path is not None:
                return self._by_path[path]
            return self._by_host[host.lower()] if host is not None else self._by_path.total()

    def counts(self) -> dict[str, int]:
        with self._journal.changed:
            return dict(self._by_path)

    def hosts(self) -> dict[str, int]:
        with self._journal.changed:
            return dict(self._by_host)

    @property
    def in_flight(self) -> int:
        with self._journal.changed:
            return len(self._flying)

    def high_water_of(self, host: str) -> int:
        with self._journal.changed:
            return self._high_by_host[host.lower()]

    def status_of(self, request: Request) -> int | None:
        """What was answered: None while in flight, or when no status line was ever sent."""
        with self._journal.changed:
            return self._statuses.get(request.number)

    def wait_for(self, predicate: Callable[[RequestLog], object], timeout: float = 5.0) -> None:
        """Wait until the predicate holds for this log; checked when a request arrives and when one is answered."""
        wait_until(self._journal.changed, lambda: predicate(self), timeout)

    def clear(self) -> None:
        """Clear the log; requests in flight stay in flight."""
        with self._journal.changed:
            self._journal.clear()
            self._statuses.clear()
            self._by_path.clear()
            self._by_host.clear()
            self._high_by_host = Counter(self._flying_by_host)
            self.high_water = len(self._flying)

    def as_json(self, path: str | None = None, after: int = 0) -> dict[str, object]:
        with self._journal.changed:
            chosen = [r.as_json(self._statuses.get(r.number)) for r in self.all(path) if r.number > after]
            return {
                "requests": chosen,
                "total": self.count(),
                "by_path": self.counts(),
                "by_host": self.hosts(),
                "in_flight": self.in_flight,
                "high_water": self.high_water,
            }
