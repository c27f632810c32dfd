"""The pause of an outage that all jobs of the forum share: three failed requests, then one after each pause.

Without it every job would make three requests of its own while the site is away. The alert is not opened here: `health`
does, from the results of crawls.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from watchbook.base import clock
from watchbook.core.alerts import outage
from watchbook.core.alerts.models import Outage as Row
from watchbook.systems.nga import options
from watchbook.systems.nga.errors import NgaError, Outage

SOURCE = "nga"


class SharedPause:
    """One for each reader of a job. `is_forced`: a user asks now, and the end of the pause is not awaited."""

    def __init__(self, *, is_forced: bool = False) -> None:
        self.host = urlsplit(options.BASE_URL.value).netloc[:200]
        self._row = Row.objects.filter(source=SOURCE, host=self.host).first()
        self._is_forced = is_forced

    @property
    def is_known(self) -> bool:
        """Whether the site is away, as far as is known: one failed request is then enough."""
        return self._row is not None

    def error(self) -> Outage | None:
        """Return the error to raise instead of a request while the pause lasts."""
        row = self._row
        if row is None or self._is_forced or row.next_try_at is None or row.next_try_at <= clock.now():
            return None
        seconds = (row.next_try_at - clock.now()).total_seconds()
        return Outage(row.reason, retry_after_seconds=seconds)

    def failed(self, failure: NgaError) -> None:
        """Count what ended a run: three requests the first time, one after each pause."""
        for _request in range(1 if self.is_known else outage.TRIES[outage.SERVICE]):
            self._row = outage.outage(SOURCE, self.host, failure.message, kind=outage.SERVICE, level="")

    def succeeded(self) -> None:
        if self._row is not None:
            outage.recovered(SOURCE, self.host)
            self._row = None


def is_paused() -> bool:
    """Whether jobs wait for the end of the pause. Scheduled ones then do not start."""
    return SharedPause().error() is not None
