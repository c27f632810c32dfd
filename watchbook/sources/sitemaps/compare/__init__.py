"""Comparing canonical lists: the union of all parts, its hash, its difference, and what of it is noise.

Pure: no Django, no network, no clock.
"""

from watchbook.sources.sitemaps.compare.difference import Change, Difference, compare
from watchbook.sources.sitemaps.compare.guard import is_suspect
from watchbook.sources.sitemaps.compare.honesty import LastmodFacts, count_lastmods, lastmod_honesty
from watchbook.sources.sitemaps.compare.noise import Restamp, advance, always_changing, find_restamp, push
from watchbook.sources.sitemaps.compare.patterns import Patterns
from watchbook.sources.sitemaps.compare.renames import Rename, pair_renames
from watchbook.sources.sitemaps.compare.union import Union, union_of, union_records

__all__ = [
    "Change",
    "Difference",
    "LastmodFacts",
    "Patterns",
    "Rename",
    "Restamp",
    "Union",
    "advance",
    "always_changing",
    "compare",
    "count_lastmods",
    "find_restamp",
    "is_suspect",
    "lastmod_honesty",
    "pair_renames",
    "push",
    "union_of",
    "union_records",
]
