"""How many requests one caller may make in a minute, counted over all processes through the shared cache.

A process takes requests from the shared count by the handful and serves from its hand, so that a busy caller does
not cost a write per request.
"""

from __future__ import annotations

from threading import Lock

from watchbook.base import clock
from watchbook.core.accounts import limits
from watchbook.core.api.errors import TooMany
from watchbook.core.api.options import PER_MINUTE

MINUTE = 60
HANDFULS_PER_MINUTE = 20
MOST_CALLERS_HELD = 10_000

_lock = Lock()
_hand: dict[str, tuple[int, int]] = {}


def keep_pace(caller: str) -> None:
    """Raises TooMany when the caller has used up this minute."""
    most = PER_MINUTE.value
    window = int(clock.now().timestamp()) // MINUTE
    if _take_from_hand(caller, window):
        return
    handful = max(1, most // HANDFULS_PER_MINUTE)
    total = limits.count("api", caller, seconds=MINUTE, by=handful)
    granted = min(handful, most - (total - handful))
    if granted <= 0:
        raise TooMany(headers={"Retry-After": str(limits.seconds_left(MINUTE))})
    _put_into_hand(caller, window, granted - 1)


def _take_from_hand(caller: str, window: int) -> bool:
    with _lock:
        held_window, held = _hand.get(caller, (0, 0))
        if held_window != window or held <= 0:
            return False
        _hand[caller] = (window, held - 1)
        return True


def _put_into_hand(caller: str, window: int, count: int) -> None:
    with _lock:
        if len(_hand) >= MOST_CALLERS_HELD:
            _hand.clear()
        held_window, held = _hand.get(caller, (0, 0))
        _hand[caller] = (window, count + (held if held_window == window else 0))


def forget_all() -> None:
    """For tests: empty hands."""
    with _lock:
        _hand.clear()
