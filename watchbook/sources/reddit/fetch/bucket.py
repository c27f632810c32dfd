"""The limit as arithmetic: given who is asking and who asked lately, may one more request leave now?

A request arrives at Reddit somewhere between our permission and the end of its answer. A place is therefore taken
from the permission until `window` after the END: then no window of Reddit's clock can hold more than the limit,
whatever the network does in between. A place whose holder died is free a window after its lease.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MS = 1000


@dataclass(frozen=True)
class Limits:
    """What we allow ourselves. An unpaced asker heeds pauses only, but is counted all the same."""

    rate: int
    window_ms: int
    in_flight: int
    lease_ms: int
    is_paced: bool = True


class Bucket:
    """A view of the shared state, changed in place. `flying` is token -> end of lease; `done` are ends of answers."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.flying: dict[str, int] = dict(state.get("flying", {}))
        self.done: list[int] = list(state.get("done", ()))
        self.paused_until: int = state.get("paused_until", 0)
        # Reddit's own headers allow less than we do, until then.
        self.lowered_to: int = state.get("lowered_to", 0)
        self.lowered_until: int = state.get("lowered_until", 0)

    def as_state(self) -> dict[str, Any]:
        return dict(vars(self))

    def take(self, token: str, now: int, limits: Limits) -> int:
        """0 when the request may leave, else how many ms to wait before asking again."""
        self._forget(now, limits)
        if self.paused_until > now:
            return self.paused_until - now
        wait = self._wait(now, limits) if limits.is_paced else 0
        if wait <= 0:
            self.flying[token] = now + limits.lease_ms
        return max(wait, 0)

    def give_back(self, token: str, now: int) -> None:
        if self.flying.pop(token, None) is not None:
            self.done.append(now)

    def pause(self, now: int, ms: int) -> None:
        self.paused_until = max(self.paused_until, now + ms)

    def heed(self, remaining: float, reset_ms: int, now: int, limits: Limits) -> None:
        """What Reddit says is left of its own window. It can only make us slower."""
        if remaining < 1:
            self.pause(now, max(reset_ms, MS))
            return
        allowed = int(remaining * limits.window_ms / max(reset_ms, MS))
        if allowed < limits.rate:
            self.lowered_to, self.lowered_until = max(allowed, 1), now + max(reset_ms, MS)
        else:
            self.lowered_until = 0

    def used(self, now: int, window_ms: int) -> int:
        """Requests that left, or may have been on their way, in the last window."""
        return len(self.flying) + sum(end > now - window_ms for end in self.done)

    def _wait(self, now: int, limits: Limits) -> int:
        if len(self.flying) >= limits.in_flight:
            return 50
        rate = min(limits.rate, self.lowered_to) if self.lowered_until > now else limits.rate
        if len(self.flying) + len(self.done) < rate:
            return 0
        # The place that is free first; those in flight free theirs a window after they end, which nobody knows yet.
        ends = sorted(self.done)
        needed = len(self.flying) + len(self.done) - rate
        return ends[needed] + limits.window_ms - now + 1 if needed < len(ends) else 50

    def _forget(self, now: int, limits: Limits) -> None:
        # A clock that was set back leaves ends in the future: they would hold a place for as long.
        self.done = [end for end in self.done if now - limits.window_ms < end <= now + limits.window_ms]
        for token, lease_end in list(self.flying.items()):
            if lease_end <= now:
                del self.flying[token]
                self.done.append(lease_end)
        self.done = self.done[-100_000:]
