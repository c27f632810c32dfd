"""A shortest edit script between two sequences, after Myers, within a budget of steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

SAME, REMOVED, ADDED = "same", "del", "ins"
FARTHEST = 1_000  # changes followed in one place: the trail of more would need too much memory

Edit = tuple[str, int, int]


class Spent(Exception):
    """The budget is used up; show the place as one whole replacement."""


class Purse:
    """Steps that may still be made. Counted, not timed, so that the same texts always give the same answer."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.was_short = False

    def pay(self, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise Spent


def edits(old: Sequence[str], new: Sequence[str], purse: Purse) -> list[Edit]:
    """(same, from, to) and (del, from, to) count in old, (ins, from, to) counts in new."""
    head, shorter = 0, min(len(old), len(new))
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    purse.pay(head + tail)
    found: list[Edit] = [(SAME, 0, head)] if head else []
    x = y = head
    for kind, count in _runs(_moves(old[head : len(old) - tail], new[head : len(new) - tail], purse)):
        start = y if kind == ADDED else x
        found.append((kind, start, start + count))
        x += count if kind != ADDED else 0
        y += count if kind != REMOVED else 0
    if tail:
        found.append((SAME, len(old) - tail, len(old)))
    return found


def _moves(old: Sequence[str], new: Sequence[str], purse: Purse) -> list[str]:
    if not old or not new:
        return [REMOVED] * len(old) + [ADDED] * len(new)
    backwards = _walk_back(_search(old, new, purse), len(old), len(new))
    return list(backwards)[::-1]


def _search(old: Sequence[str], new: Sequence[str], purse: Purse) -> list[dict[int, int]]:
    """How far each diagonal reaches before the first change, the second, and so on until both texts end."""
    reach = {1: 0}
    trail: list[dict[int, int]] = []
    for depth in range(min(len(old) + len(new), FARTHEST) + 1):
        trail.append(dict(reach))
        purse.pay(depth + 1)
        for k in range(-depth, depth + 1, 2):
            x = reach[k + 1] if _came_from_above(reach, k, depth) else reach[k - 1] + 1
            start = x
            while x < len(old) and x - k < len(new) and old[x] == new[x - k]:
                x += 1
            purse.pay(x - start)
            reach[k] = x
            if x >= len(old) and x - k >= len(new):
                return trail
    raise Spent


def _came_from_above(reach: dict[int, int], k: int, depth: int) -> bool:
    """Is the better way to this diagonal an addition?"""
    return k == -depth or (k != depth and reach[k - 1] < reach[k + 1])


def _walk_back(trail: list[dict[int, int]], x: int, y: int) -> Iterator[str]:
    for depth in range(len(trail) - 1, -1, -1):
        reach, k = trail[depth], x - y
        before = k + 1 if _came_from_above(reach, k, depth) else k - 1
        start_x = reach[before]
        start_y = start_x - before
        while x > start_x and y > start_y:
            yield SAME
            x, y = x - 1, y - 1
        if depth:
            yield ADDED if x == start_x else REMOVED
            x, y = start_x, start_y


def _runs(moves: Iterable[str]) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for move in moves:
        if found and found[-1][0] == move:
            found[-1] = (move, found[-1][1] + 1)
        else:
            found.append((move, 1))
    return found
