"""What the columns hold: longer texts are cut and counted, larger numbers drawn in. Nothing raises."""

from __future__ import annotations

from collections import Counter

from watchbook.base.text import clean_text, cut

TITLE, PREFIX, NAME, TAG, FORUM_NAME, ERROR = 200, 40, 80, 50, 100, 200
LARGEST_COUNT = 2**31 - 1
LARGEST_SMALL = 2**15 - 1

Cuts = Counter[str]
"""How many values of which kind were cut, for the log and for the run's figures."""


def text(value: str, length: int, kind: str, cuts: Cuts) -> str:
    value = clean_text(value)
    if len(value) <= length:
        return value
    cuts[kind] += 1
    return cut(value, length)


def count(value: int) -> int:
    return max(0, min(value, LARGEST_COUNT))


def small(value: int) -> int:
    return max(0, min(value, LARGEST_SMALL))


def summary(value: str) -> str:
    return cut(" ".join(value.split()), ERROR)
