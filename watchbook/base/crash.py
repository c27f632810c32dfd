"""Named places where a process may be killed, so that crash tests can visit every one of them.

CRASH_AT=name:n in the environment makes the n-th visit of that place a SIGKILL of this very process, and
CRASH_AT=name:n:stop a SIGSTOP, from which somebody else may wake it.
Without it a crash point is one dictionary look-up.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter

_plan = os.environ.get("CRASH_AT", "")
_visits: Counter[str] = Counter()


def crash_point(name: str) -> None:
    if not _plan:
        return
    wanted, _, when = _plan.partition(":")
    if name != wanted:
        return
    nth, _, how = when.partition(":")
    _visits[name] += 1
    if _visits[name] == int(nth or 1):
        # It ends or stops the whole process, but is sent to this thread, which then cannot take another step.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP if how == "stop" else signal.SIGKILL)
