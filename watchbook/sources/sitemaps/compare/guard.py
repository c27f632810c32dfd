"""The guard against mass removal: a site that lost much at once is asked again before anybody is told."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

LEAST_REMOVED = 20
SHARE_OF_USUAL = 0.30
SHARE_OF_KNOWN = 0.50
COUNTS_LOOKED_AT = 5
LEAST_COUNTS = 3


def is_suspect(removed: int, known: int, previous_counts: Sequence[int] = (), *, left: int | None = None) -> bool:
    """Whether a removal has to be seen twice.

    `known` is how many pages were listed before, `left` how many are listed now, `previous_counts` the counts of
    earlier checks, oldest first. More than 30 % of the usual number or 50 % of the known one, and at least 20; and
    always when nothing is left.
    """
    remaining = known - removed if left is None else left
    if known > 0 and removed > 0 and remaining <= 0:
        return True
    if removed < LEAST_REMOVED:
        return False
    recent = list(previous_counts)[-COUNTS_LOOKED_AT:]
    usual = median(recent) if len(recent) >= LEAST_COUNTS else known
    return removed > SHARE_OF_USUAL * usual or removed > SHARE_OF_KNOWN * known
