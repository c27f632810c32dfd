"""Keys that put siblings in order: text of [0-9a-z], because every collation of every database sorts these alike.

A key is a whole number with a head that tells its length, then a fraction: appending and prepending count up and down
(100,000 appends end at five characters), inserting between two neighbours grows the fraction.
"""

from __future__ import annotations

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
BASE = len(DIGITS)
# Heads 0 … h are for numbers below zero, i … z for the others; the further from the middle, the more digits follow.
MIDDLE = DIGITS.index("i")
# Longer than this, and the whole row of siblings gets fresh keys.
LONG = 40


def between(before: str | None, after: str | None) -> str:
    """A key behind `before` and in front of `after`; None is the end of the row."""
    if before is not None and after is not None and before >= after:
        raise ValueError(f"{before!r} does not stand before {after!r}")
    if before is None and after is None:
        return "i0"
    if before is None:
        whole, fraction = _split(str(after))
        return whole if fraction else _step(whole, -1)
    if after is None:
        return _step(_split(before)[0], 1)
    return _inside(before, after)


def many_after(before: str | None, count: int) -> list[str]:
    """So many keys in a row, all behind `before`."""
    keys: list[str] = []
    for _ in range(count):
        before = between(before, None)
        keys.append(before)
    return keys


def _inside(before: str, after: str) -> str:
    whole, fraction = _split(before)
    other, other_fraction = _split(after)
    if whole == other:
        return whole + _fraction_between(fraction, other_fraction)
    following = _step(whole, 1)
    return following if following < after else whole + _fraction_between(fraction, "")


def _fraction_between(low: str, high: str) -> str:
    """A fraction above `low` and below `high`; an empty `high` is one. None ends in 0, so there is room below each."""
    shared = ""
    while high and (low[:1] or "0") == high[0]:
        shared, low, high = shared + high[0], low[1:], high[1:]
    first = DIGITS.index(low[0]) if low else 0
    last = DIGITS.index(high[0]) if high else BASE
    if last - first > 1:
        return shared + DIGITS[(first + last) // 2]
    if len(high) > 1:
        return shared + high[0]
    return shared + DIGITS[first] + _fraction_between(low[1:], "")


def _split(key: str) -> tuple[str, str]:
    size = 1 + _digits_of(key[0])
    if len(key) < size or any(character not in DIGITS for character in key):
        raise ValueError(f"{key!r} is not a key")
    return key[:size], key[size:]


def _digits_of(head: str) -> int:
    place = DIGITS.index(head)
    return place - MIDDLE + 1 if place >= MIDDLE else MIDDLE - place


def _step(whole: str, by: int) -> str:
    """The next or the previous whole number; past the last of its length the head changes."""
    head, digits = whole[0], list(whole[1:])
    for place in reversed(range(len(digits))):
        value = DIGITS.index(digits[place]) + by
        digits[place] = DIGITS[value % BASE]
        if 0 <= value < BASE:
            return head + "".join(digits)
    at = DIGITS.index(head) + by
    if not 0 <= at < BASE:
        raise ValueError("no key beyond this one")
    return DIGITS[at] + DIGITS[0 if by > 0 else -1] * _digits_of(DIGITS[at])
