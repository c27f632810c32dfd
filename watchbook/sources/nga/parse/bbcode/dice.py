"""Dice: the site rolls them in the reader's browser from a seed made of three ids, so rolls can be repeated."""

from __future__ import annotations

import re

MOST_DICE, MOST_FACES, LONGEST = 10, 100_000, 200
_TERM = re.compile(r"(?:(\d{0,9})d(\d{1,9})|(\d{1,9}))", re.IGNORECASE | re.ASCII)
# From these ids on, dice in a collapsed block have a seed of their own.
_SEEDED_BLOCKS_FROM_TID, _SEEDED_BLOCKS_FROM_PID = 10_246_184, 200_188_932


class Dice:
    """The dice of one post, in the order in which they stand."""

    def __init__(self, *, author_id: int | None, tid: int, pid: int) -> None:
        # An anonymous author's id is local to one answer: such rolls cannot be made again.
        self._seed = None if author_id is None or author_id <= 0 else author_id + tid + pid
        self._is_seeded_by_block = tid > _SEEDED_BLOCKS_FROM_TID or pid > _SEEDED_BLOCKS_FROM_PID
        self._states: dict[int, int] = {}

    def roll(self, expression: str, block: int = 0) -> str | None:
        """`2d4+100` to `d4(1)+d4(3)+100=104`; `block` is the number of the collapsed block from 1, or 0 outside.

        None when it is no expression or cannot be rolled.
        """
        terms = expression.replace(" ", "").split("+") if len(expression) <= LONGEST else []
        found = [_TERM.fullmatch(term) for term in terms]
        if self._seed is None or not found or not all(found):
            return None
        shown, total = [], 0
        for term in found:
            assert term
            for text, value in self._term(term, block):
                shown.append(text)
                total += value
        return "ERROR" if "ERROR" in shown else f"{'+'.join(shown)}={total}"

    def _term(self, term: re.Match[str], block: int) -> list[tuple[str, int]]:
        if term[3]:
            return [(term[3], int(term[3]))]
        count, faces = int(term[1] or 1), int(term[2])
        if count > MOST_DICE or faces > MOST_FACES or not faces:
            return [("ERROR", 0)]
        rolls = [self._next(block) * faces // 233_280 + 1 for _ in range(count)]
        return [(f"d{faces}({value})", value) for value in rolls]

    def _next(self, block: int) -> int:
        assert self._seed is not None
        start = self._seed + (block if self._is_seeded_by_block else 0)
        self._states[block] = (self._states.get(block, start) * 9301 + 49297) % 233_280
        return self._states[block]
