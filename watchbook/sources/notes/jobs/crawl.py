"""Reading the platform with a leased cookie: a search, a note, a batch. Writes nothing but the pool's own counters."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from django.utils.translation import gettext_noop

from watchbook.base import clock
from watchbook.sources.notes import fetch, options
from watchbook.sources.notes.authors import hidden
from watchbook.sources.notes.errors import Trouble
from watchbook.sources.notes.fetch.refusals import BREAKING, STOPPING
from watchbook.sources.notes.fetch.visit import Adapter, SearchQuery, Visit
from watchbook.sources.notes.parse.addresses import NoteAddress
from watchbook.sources.notes.parse.records import NoteRecord, SearchPage
from watchbook.sources.notes.rules import DEFAULT_PLATFORM, NOT_ASKED, Code, gravest
from watchbook.sources.notes.store import breaker, cookies, pool

# Kept back of every time limit, so that the answer itself still leaves in time: a second, or a fifth of a short one.
SLACK, SLACK_SECONDS = 0.03, 1.0
SHORTEST_TRY_SECONDS = 0.05

TOO_LATE = gettext_noop("The time of the batch was over before this note was asked for.")
STOPPED = gettext_noop("The platform stopped this cookie before this note was asked for.")
# What says nothing about how well the platform can be read.
NEITHER = frozenset({Code.NOT_FOUND, Code.INVALID_INPUT})

Outcome = NoteRecord | Trouble
T = TypeVar("T")


@dataclass
class Read:
    """What came of a call, and which cookies it used."""

    outcomes: list[Outcome] = field(default_factory=list)
    cookies_used: list[str] = field(default_factory=list)

    @property
    def cookie_used(self) -> str | None:
        return ",".join(self.cookies_used) or None


def search(
    query: SearchQuery, *, seconds: float | None = None, platform: str = DEFAULT_PLATFORM
) -> tuple[SearchPage, str]:
    """One page of hits, and the name of the cookie that was used. Raises Trouble."""
    reader = fetch.adapter()
    limit = min(seconds or options.SEARCH_TIMEOUT.value, 60.0)
    with _Session(reader, platform, 1) as session:
        found = session.ask(lambda visit: reader.search(query, visit, _without_slack(limit)))
    if isinstance(found, Trouble):
        raise found
    return SearchPage(tuple(hidden(card) for card in found.cards), found.has_more), session.name


def read_note(address: NoteAddress, *, seconds: float | None = None) -> tuple[NoteRecord, str | None]:
    """Raises Trouble."""
    fetch.adapter()
    limit = min(seconds or options.DETAIL_TIMEOUT.value, 30.0)
    read = read_notes([address], seconds=limit, each_seconds=limit)
    [outcome] = read.outcomes
    if isinstance(outcome, Trouble):
        raise outcome
    return outcome, read.cookie_used


def read_notes(
    addresses: Sequence[NoteAddress],
    *,
    seconds: float | None = None,
    each_seconds: float | None = None,
    platform: str = DEFAULT_PLATFORM,
) -> Read:
    """Every note with its own outcome, in order, within the time. Raises Trouble only when no adapter can be used.

    One at a time, as a reader would. Each gets its share of the time that is left, so that a few that hang cannot
    take it from the rest.
    """
    reader = fetch.adapter()
    total = min(seconds or options.BATCH_TIMEOUT.value, 120.0)
    ends = time.monotonic() + _without_slack(total)
    each = each_seconds or options.DETAIL_TIMEOUT.value
    read = Read()
    while len(read.outcomes) < len(addresses):
        waiting = addresses[len(read.outcomes) :]
        try:
            session = _Session(reader, platform, len(waiting))
        except Trouble as trouble:
            read.outcomes += [trouble] * len(waiting)
            break
        with session:
            read.cookies_used.append(session.name)
            for number, address in enumerate(waiting[: session.granted]):
                read.outcomes.append(_one(session, address, _share(ends, each, len(waiting) - number)))
        if session.stopped is not None:
            read.outcomes += [_not_asked(session.stopped)] * (len(addresses) - len(read.outcomes))
    return read


def _without_slack(seconds: float) -> float:
    return seconds - min(seconds / 5, max(SLACK_SECONDS, seconds * SLACK))


def _share(ends: float, each: float, left: int) -> float:
    return min(each, (ends - time.monotonic()) / left)


def _one(session: _Session, address: NoteAddress, seconds: float) -> Outcome:
    if session.stopped is not None:
        return _not_asked(session.stopped)
    if seconds < SHORTEST_TRY_SECONDS:
        return Trouble(Code.TIMEOUT_ERROR, TOO_LATE, reason=NOT_ASKED, asked=False)
    found = session.ask(lambda visit: session.reader.detail(address, visit, seconds))
    return found if isinstance(found, Trouble) else hidden(found)


def _not_asked(stopped: Trouble) -> Trouble:
    return Trouble(stopped.code, STOPPED, reason=NOT_ASKED, details={"because": stopped.reason}, asked=False)


class _Session:
    """One lease from its beginning to its end, whatever happens in between."""

    def __init__(self, reader: Adapter, platform: str, wanted: int) -> None:
        self.reader = reader
        self.lease = pool.lease(platform, wanted, clock.now())
        self.visit = Visit(self.lease.cookie_name, self.lease.cookie, self.lease.user_agent)
        self.use = pool.Use()
        self.stopped: Trouble | None = None

    @property
    def name(self) -> str:
        return self.lease.cookie_name

    @property
    def granted(self) -> int:
        return self.lease.granted

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_error: object) -> None:
        pool.end(self.lease, self.use, clock.now())
        changed = self.visit.refreshed(self.reader.base_url)
        if changed:
            cookies.keep_refreshed(self.lease, changed, clock.now())

    def ask(self, question: Callable[[Visit], T]) -> T | Trouble:
        """The answer, or the trouble it met; both are noted for the lease."""
        self.use.asked += 1
        try:
            found = question(self.visit)
        except Trouble as trouble:
            self._note(trouble)
            return trouble
        self.use.succeeded += 1
        return found

    def _note(self, trouble: Trouble) -> None:
        if trouble.code not in NEITHER:
            self.use.failed += 1
        worst = gravest(trouble.charge, self.use.charge)
        if worst != self.use.charge:
            self.use.charge, self.use.code, self.use.reason = worst, str(trouble.code), trouble.reason
        if trouble.reason in BREAKING:
            breaker.trip(self.lease.platform, trouble.reason, clock.now())
        if trouble.reason in STOPPING:
            self.stopped = trouble
