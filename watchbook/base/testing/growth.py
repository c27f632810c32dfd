"""How the time of a function grows with the length of its text: linear or worse.

A text and a sixteenth of it are read. Linear work takes 16 times as long, quadratic work 256 times. Measured is
processor time, the best of several turns: other work on the machine makes a turn longer, never shorter.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable

GROWTH = 16
# Between linear (16) and quadratic (256), four times as far from the one as from the other.
MOST_RATIO = 64.0
# Shorter times say nothing.
LEAST_SECONDS = 0.02
# Turns of the long text, as long as it looks too steep; and of the short one, which costs little.
ATTEMPTS, SHORT_TURNS = 6, 3


def growth(read: Callable[[str], object], text: Callable[[int], str], longest: int) -> tuple[float, float]:
    """Return the seconds for the long text, and how many times that is the time for a sixteenth of it."""
    long = ratio = float("inf")
    long_text, short_text = text(longest), text(longest // GROWTH)
    for _ in range(ATTEMPTS):
        long = min(long, seconds(read, long_text))
        if long < LEAST_SECONDS:
            return long, 0.0
        # The least of all long turns, but only of the last short ones: a short turn that was lucky once stays lucky.
        short = min(seconds(read, short_text) for _ in range(SHORT_TURNS))
        ratio = min(ratio, long / short)
        if ratio <= MOST_RATIO:
            break
    return long, ratio


def seconds(read: Callable[[str], object], text: str) -> float:
    gc.disable()  # in a long run the heap is large, and one collection takes longer than the function
    try:
        began = time.process_time()
        with contextlib.suppress(Exception):  # a refusal is an answer
            read(text)
        return time.process_time() - began
    finally:
        gc.enable()
