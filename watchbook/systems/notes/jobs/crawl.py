"""Read the platform with a leased cookie: a search, a note, a batch. Writes only the counters of the pool."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from django.utils.translation import gettext_noop

from watchbook.base import clock
from watchbook.systems.notes import fetch, options
from watchbook.systems.notes.encryption import hide_author, masked
from watchbook.systems.notes.fetch import Adapter, CommentQuery, CreatorQuery, Login, SearchQuery
from watchbook.systems.notes.fetch.refusals import OPEN_BREAKER, STOP_COOKIE, is_service_failure
from watchbook.systems.notes.parse.documents import LOGIN_REQUIRED, STALE_TOKEN
from watchbook.systems.notes.parse.records import CommentPage, CreatorPage, NoteAddress, NoteRecord, SearchPage
from watchbook.systems.notes.rules import DEFAULT_PLATFORM, NOT_ASKED, OUTAGE, Code, NotesError, worst_cookie_error
from watchbook.systems.notes.store import cookies, pool

# Part of every time limit kept for the response itself: a second, or a fifth of a short limit.
SLACK, SLACK_SECONDS = 0.03, 1.0
SHORTEST_TRY_SECONDS = 0.05

TOO_LATE = gettext_noop("The batch reached its time limit before this note was requested.")
STOPPED = gettext_noop("The platform stopped this cookie before this note was requested.")
# The platform responded; these errors are about the note or the input.
NOT_COUNTED = frozenset({Code.NOT_FOUND, Code.INVALID_INPUT})

Outcome = NoteRecord | NotesError
T = TypeVar("T")


@dataclass
class Read:
    """Outcomes of a call, and the cookies it used."""

    outcomes: list[Outcome] = field(default_factory=list)
    cookies_used: list[str] = field(default_factory=list)

    @property
    def cookie_used(self) -> str | None:
        return ",".join(self.cookies_used) or None


def search(
    query: SearchQuery, *, seconds: float | None = None, platform: str = DEFAULT_PLATFORM
) -> tuple[SearchPage, str]:
    """Return one page of results and the name of the cookie used. Raises NotesError."""
    reader = fetch.adapter()
    limit = min(seconds or options.SEARCH_TIMEOUT.value, 60.0)
    with _Session(reader, platform, 1) as session:
        found = session.ask(f"search {query.keyword}", lambda login: reader.search(query, login, _without_slack(limit)))
    if isinstance(found, NotesError):
        found.cookie_used = session.name
        raise found
    now = clock.now()
    cards = tuple(hide_author(card) for card in found.cards if query.allows(card, now))
    return SearchPage(cards, found.has_more), session.name


def check_can(capability: str, message: str) -> None:
    """Raise NotesError with this sentence if the adapter cannot do that. A crawler service is asked."""
    if capability not in fetch.adapter().capabilities(fetch.CAPABILITY_SECONDS):
        raise NotesError(Code.INVALID_INPUT, message, reason="cannot_list", retryable=False)


def creator_page(query: CreatorQuery, *, platform: str = DEFAULT_PLATFORM) -> CreatorPage:
    """Return one page of the notes of a creator. Raises NotesError."""
    reader = fetch.adapter()
    limit = min(options.SEARCH_TIMEOUT.value, 60.0)
    with _Session(reader, platform, 1) as session:
        found = session.ask("creator", lambda login: reader.creator(query, login, _without_slack(limit)))
    if isinstance(found, NotesError):
        raise found
    name = found.name if options.AUTHORS.value == "plain" else masked(found.name)
    return replace(found, cards=tuple(hide_author(card) for card in found.cards), name=name)


def comment_page(query: CommentQuery, *, platform: str = DEFAULT_PLATFORM) -> CommentPage:
    """Return one page of the comments of a note. Raises NotesError."""
    reader = fetch.adapter()
    limit = min(options.SEARCH_TIMEOUT.value, 60.0)
    with _Session(reader, platform, 1) as session:
        found = session.ask(query.note_id, lambda login: reader.comments(query, login, _without_slack(limit)))
    if isinstance(found, NotesError):
        raise found
    return replace(found, comments=tuple(hide_author(one) for one in found.comments))


def read_note(
    address: NoteAddress, *, seconds: float | None = None, platform: str = DEFAULT_PLATFORM
) -> tuple[NoteRecord, str | None]:
    """Return one note and the name of the cookie used. Raises NotesError, which names the cookie, too."""
    fetch.adapter()
    limit = min(seconds or options.DETAIL_TIMEOUT.value, 30.0)
    read = read_notes([address], seconds=limit, each_seconds=limit, platform=platform)
    [outcome] = read.outcomes
    if isinstance(outcome, NotesError):
        outcome.cookie_used = read.cookie_used or ""
        raise outcome
    return outcome, read.cookie_used


def read_notes(
    addresses: Sequence[NoteAddress],
    *,
    seconds: float | None = None,
    each_seconds: float | None = None,
    platform: str = DEFAULT_PLATFORM,
) -> Read:
    """Read notes one after the other within the time limit; each has its own outcome, in order.

    Each note gets its share of the remaining time, so that a few slow ones do not use it up. Raises NotesError only if
    no adapter can be used.
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
        except NotesError as error:
            read.outcomes += [error] * len(waiting)
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
        return NotesError(Code.TIMEOUT_ERROR, TOO_LATE, reason=NOT_ASKED, asked=False)
    found = session.ask(address.note_id, lambda login: session.reader.detail(address, login, seconds))
    return found if isinstance(found, NotesError) else hide_author(found)


def _not_asked(stopped: NotesError) -> NotesError:
    reason = OUTAGE if stopped.outage else NOT_ASKED
    return NotesError(stopped.code, STOPPED, reason=reason, details={"because": stopped.reason}, asked=False)


class _Session:
    """One lease with its requests. It is ended whatever happens."""

    def __init__(self, reader: Adapter, platform: str, wanted: int) -> None:
        self.reader = reader
        self.lease = pool.lease(platform, wanted, clock.now())
        self.login = Login(self.lease.cookie_name, self.lease.cookie, self.lease.user_agent)
        self.use = pool.Use()
        self.stopped: NotesError | None = None
        # Errors since the last response.
        self.unanswered: list[NotesError] = []

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
        changed = self.login.refreshed(self.reader.base_url)
        if changed:
            cookies.store_refreshed(self.lease, changed, clock.now())

    def ask(self, name: str, request: Callable[[Login], T]) -> T | NotesError:
        """Send one request. Returns the result or the error, and counts it for the lease and the circuit breaker."""
        self.use.asked += 1
        try:
            found = request(self.login)
        except NotesError as error:
            self._record(name, error)
            return error
        self.use.succeeded += 1
        self._responded()
        return found

    def _responded(self) -> None:
        self.lease.outage.response(clock.now())
        self.unanswered = []

    def _record(self, name: str, error: NotesError) -> None:
        if error.code not in NOT_COUNTED:
            self.use.failed += 1
            self.use.code, self.use.reason = str(error.code), error.reason
        worst = worst_cookie_error(error.cookie_error, self.use.cookie_error)
        if worst != self.use.cookie_error:
            self.use.cookie_error = worst
            self.use.cookie_error_code, self.use.cookie_error_reason = str(error.code), error.reason
        if error.reason in OPEN_BREAKER:
            self._open_breaker(error.reason)
        if error.reason in STOP_COOKIE:
            self.stopped = error
        if is_service_failure(error):
            self._service_failed(name, error)
        elif error.code in NOT_COUNTED or error.reason in {STALE_TOKEN, LOGIN_REQUIRED}:
            self._responded()

    def _service_failed(self, name: str, error: NotesError) -> None:
        """Stop after several failures in a row: then the platform failed, and none of these notes."""
        self.unanswered.append(error)
        if self.lease.outage.failure(name, clock.now()):
            for one in self.unanswered:
                one.outage = True
            self.use.is_outage = True
            self.stopped = error
            self._open_breaker(OUTAGE)

    def _open_breaker(self, reason: str) -> None:
        self.lease.outage.has_opened = True
        pool.open_breaker(self.lease.platform, reason, clock.now())
