"""Outages: one record per source and host, so that an outage never counts against an item.

When the network, the service, the login or the rate limit fails, no item loses an attempt, the run stops asking the
host, and one alert opens; the first success afterwards resolves it. A job uses one `Guard` per run:

    guard = Guard("tides")
    for item in due:
        guard.check(HOST)                  # raises HostDown while the pause lasts, before any request
        try:
            page = fetch(item)
        except WebError as error:
            if guard.failed(HOST, error):  # raises HostDown after the last allowed try
                continue                   # an outage: the item keeps its attempts and stays due
            raise                          # not an outage: the item's own failure
        guard.succeeded(HOST)

`HostDown` is a `Later`: if the job does not catch it, the runner queues the run again for the end of the pause, without
using an attempt, and shows the reason.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from django.db.models import F
from django.utils.translation import gettext_noop

from watchbook.base import clock
from watchbook.base.text import Sentence, cut
from watchbook.base.web.errors import BadAnswer, Blocked, Busy, ServerTrouble, Throttled, TimedOut, Unreachable
from watchbook.core.accounts.access import MEMBERS
from watchbook.core.alerts.conditions import open_alert, resolve_alert
from watchbook.core.alerts.models import Outage
from watchbook.core.jobs.runner import Later

NETWORK, SERVICE, LOGIN, RATE_LIMIT = "network", "service", "login", "rate_limit"
# Failed tries of one host after which a run stops asking. A refused login and a rate limit are answers, not accidents.
TRIES = {NETWORK: 3, SERVICE: 3, LOGIN: 1, RATE_LIMIT: 1}
# Pauses before the next single try, by the number of tries after the limit; the last one repeats.
PAUSES = (60, 300, 900, 1800)

TITLES = {
    NETWORK: gettext_noop("Cannot connect to %(host)s"),
    SERVICE: gettext_noop("%(host)s does not respond correctly"),
    LOGIN: gettext_noop("%(host)s refuses the login"),
    RATE_LIMIT: gettext_noop("%(host)s asks for fewer requests"),
}
TRIES_AGAIN = gettext_noop("Nothing needs to be done: Watchbook retries automatically, and no item loses an attempt.")
REMEDIES = {
    NETWORK: gettext_noop(
        "Watchbook retries automatically. If the site opens in a browser, check the network and the DNS of this server."
    ),
    SERVICE: TRIES_AGAIN,
    LOGIN: gettext_noop("Replace the login or the key in the settings, then select Test."),
    RATE_LIMIT: TRIES_AGAIN,
}
RESOLVED = gettext_noop("%(host)s responded again.")


class HostDown(Later):
    """No request is sent to this host until `next_try_at`. The item that was due keeps its attempts."""

    def __init__(self, host: str, reason: str, next_try_at: datetime) -> None:
        super().__init__(max((next_try_at - clock.now()).total_seconds(), 1.0), reason)
        self.host = host
        self.reason = reason
        self.next_try_at = next_try_at


def classify(error: BaseException) -> str:
    """Return which kind of outage an error is; empty when it says something about the item only.

    An error class of a system may say so in an attribute `outage_kind`. 403 and other refusals of one page are not
    outages: a system that knows better (an IP block) sets `outage_kind` on the error.
    """
    own: str = getattr(error, "outage_kind", "")
    if own:
        return own
    if isinstance(error, Unreachable | TimedOut):
        return NETWORK
    if isinstance(error, ServerTrouble | BadAnswer):
        return SERVICE
    if isinstance(error, Throttled | Busy):
        return RATE_LIMIT
    if isinstance(error, Blocked) and error.status in (401, 407):
        return LOGIN
    return ""


def outage(
    source: str,
    host: str,
    reason: str,
    *,
    kind: str = NETWORK,
    pause_seconds: float | None = None,
    scope: str = MEMBERS,
    level: str = "P1",
    link: str = "",
) -> Outage:
    """Count one failed try. When the tries of this kind are used up, open one alert and set the pause.

    An empty `level` opens no alert.
    """
    now = clock.now()
    row, _created = Outage.objects.get_or_create(source=source, host=host[:200], defaults={"began_at": now})
    rows = Outage.objects.filter(pk=row.pk)
    rows.update(tries=F("tries") + 1, kind=kind, reason=cut(reason, 500), last_failed_at=now)
    row.refresh_from_db()
    beyond = row.tries - TRIES[kind]
    if beyond >= 0:
        wait = max(PAUSES[min(beyond, len(PAUSES) - 1)], pause_seconds or 0)
        row.next_try_at = now + timedelta(seconds=wait)
        rows.update(next_try_at=row.next_try_at)
        title = Sentence(TITLES[kind], {"host": host})
        message = Sentence(reason)  # errors of requests are in the catalogues; other words stay as they are
        if level:
            open_alert(
                row.key, level=level, source=source, title=title, message=message, remedy=Sentence(REMEDIES[kind]),
                link=link, scope=scope,
            )  # fmt: skip
    return row


def recovered(source: str, host: str) -> bool:
    """Delete the outage of this host and resolve its alert. True when there was one."""
    row = Outage.objects.filter(source=source, host=host[:200]).first()
    if row is None:
        return False
    row.delete()
    resolve_alert(row.key, Sentence(RESOLVED, {"host": host}))
    return True


def down(source: str, host: str) -> Outage | None:
    """Return the outage of this host while no request may be sent to it."""
    return Outage.objects.filter(source=source, host=host[:200], next_try_at__gt=clock.now()).first()


class Guard:
    """Stops one run from asking hosts that are down. Threads of the run may share it."""

    def __init__(
        self, source: str, *, scope: str = MEMBERS, link: str = "", level_of: Callable[[str], str] = lambda _host: "P1"
    ) -> None:
        self.source = source
        # The level of the alert of a host; empty: no alert.
        self.level_of = level_of
        self.scope = scope
        self.link = link
        self._lock = threading.Lock()
        # Per host: the outage while it lasts, or None after a success. A host that is not here was not asked yet.
        self._known: dict[str, Outage | None] = {}

    def check(self, host: str) -> None:
        """Raise HostDown while the host is paused. Costs one query per run and host, and none after a success."""
        with self._lock:
            is_new = host not in self._known
            if is_new:
                self._known[host] = Outage.objects.filter(source=self.source, host=host[:200]).first()
            row = self._known[host]
        if row is not None and row.next_try_at is not None and row.next_try_at > clock.now():
            raise HostDown(host, row.reason, row.next_try_at)

    def failed(self, host: str, error: BaseException) -> str:
        """Count a failed request. Returns the kind of outage, or "" for a failure of the item itself.

        Raises HostDown when the tries are used up.
        """
        kind = classify(error)
        if not kind:
            return ""
        reason = str(getattr(error, "message", "") or error)
        row = outage(
            self.source,
            host,
            reason,
            kind=kind,
            pause_seconds=getattr(error, "retry_after_seconds", None),
            scope=self.scope,
            level=self.level_of(host),
            link=self.link,
        )
        with self._lock:
            self._known[host] = row
        if row.next_try_at is not None:
            raise HostDown(host, reason, row.next_try_at) from error
        return kind

    def succeeded(self, host: str) -> None:
        """Resolve the outage of this host, if there is one. Costs no query when the host was well before."""
        with self._lock:
            is_known_well = host in self._known and self._known[host] is None
            self._known[host] = None
        if not is_known_well:
            recovered(self.source, host)
