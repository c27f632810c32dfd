"""Odd, broken and hostile sitemaps as named cases, each with the outcome a good reader gives.

with CaseSite() as site:
    for case in site.cases:
        outcome = Outcome(...)  # what the reader made of site.address(case.path)
        assert not case.wanted_at(site.url).complaints(outcome), case.name

S1 to S35 are the matrix of odd files, `T-…` the traps met in real ones, C1 to C11 the hostile ones,
`R-…` robots.txt files.
"""

from standins.sitemap_cases.case import ANY_FAILURE, FAILURES, Case, Outcome, Resource, Wanted
from standins.sitemap_cases.hostile import HOSTILE
from standins.sitemap_cases.matrix import MATRIX
from standins.sitemap_cases.robots import ROBOTS
from standins.sitemap_cases.site import CaseSite
from standins.sitemap_cases.traps import TRAPS

CASES: tuple[Case, ...] = (*MATRIX, *TRAPS, *HOSTILE)

__all__ = [
    "ANY_FAILURE",
    "CASES",
    "FAILURES",
    "HOSTILE",
    "MATRIX",
    "ROBOTS",
    "TRAPS",
    "Case",
    "CaseSite",
    "Outcome",
    "Resource",
    "Wanted",
]
