"""How long a run bears with the forum: pauses between tries, and the point where it stops asking at all."""

from __future__ import annotations

import random

from watchbook.base.web import pace
from watchbook.base.web.address import check_url
from watchbook.sources.nga.errors import Outage

TRIES = 3
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 30.0
# Requests in a row that brought nothing. One more page may still cost a chain of redirects: together under 50.
HOPELESS_AFTER = 40


def pause_seconds(failures: int) -> float:
    """2, 4, 8 … seconds, each between half and one and a half of it, so that workers do not come back together."""
    longest = FIRST_PAUSE * float(2 ** (max(failures, 1) - 1))
    return min(longest, LONGEST_PAUSE) * random.uniform(0.5, 1.5)


def back_off(url: str, failures: int) -> None:
    """Everybody who asks this site waits, not only this worker; the next request holds still until then."""
    if not pace.is_off(url):
        pace.pause(check_url(url).site, pause_seconds(failures))


class Patience:
    """Counts what the run has spent since the site was last of use."""

    def __init__(self) -> None:
        self.spent = 0
        self._spent_when_useful = 0

    def spend(self, requests: int) -> None:
        self.spent += requests

    def was_useful(self) -> None:
        self._spent_when_useful = self.spent

    def check(self) -> None:
        if self.spent - self._spent_when_useful >= HOPELESS_AFTER:
            raise Outage(f"{self.spent - self._spent_when_useful} requests in a row brought nothing")
