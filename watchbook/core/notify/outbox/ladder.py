"""When a notice that failed is tried again, and when a channel that keeps failing is left alone for a while."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

# Seconds after the first, second, ... failure. After the last one the notice is given up.
STEPS = (5, 300, 1800, 7200, 18000, 36000, 36000)
TRIES = len(STEPS) + 1
JITTER = 0.2
# A sender that disappears takes a try with it; beyond these the notice itself is the likely cause.
CRASHES = 3

LEAST_PAUSE, LONGEST_PAUSE = 1.0, 86400.0

# Failures in a row, over all notices of a channel, before it is held back.
BREAK_AFTER = 10
FIRST_BREAK, LONGEST_BREAK = 300.0, 21600.0
# A channel that did not take one notice in this time is switched off.
FAILING_FOR = timedelta(days=5)


def next_try(attempt: int, now: datetime, asked_pause: float | None = None) -> datetime:
    """The moment of the try after this one. What the other side asked for wins over our own steps."""
    if asked_pause is not None:
        return now + timedelta(seconds=min(max(asked_pause, LEAST_PAUSE), LONGEST_PAUSE))
    step = STEPS[min(attempt, len(STEPS)) - 1]
    return now + timedelta(seconds=step * random.uniform(1 - JITTER, 1 + JITTER))


def held_until(failures: int, now: datetime) -> datetime | None:
    """Until when a channel is left alone after this many failures in a row."""
    if failures < BREAK_AFTER:
        return None
    beyond = min(failures - BREAK_AFTER, 20)
    return now + timedelta(seconds=min(FIRST_BREAK * 2**beyond, LONGEST_BREAK))
