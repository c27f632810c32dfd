"""Checks of followed creators. The built-in runner and the n8n workflow *creators* take the same steps:

acquire -> check the next creator that is due, until none is left -> release
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from django.utils.translation import gettext_noop

from watchbook.base import clock
from watchbook.core.jobs.runner import JobContext, Outcome
from watchbook.systems.notes import fetch, options, store
from watchbook.systems.notes.fetch import CAN_LIST, CANNOT_LIST, CreatorQuery
from watchbook.systems.notes.fetch.refusals import is_service_failure
from watchbook.systems.notes.jobs import crawl
from watchbook.systems.notes.jobs.maintenance import HELD, RETRY_MINUTES, free_crashed, idle
from watchbook.systems.notes.models import Creator, ExecutionStatus
from watchbook.systems.notes.parse.records import CardRecord
from watchbook.systems.notes.rules import CREATORS_WORKFLOW, Code, LockLost, NotesError, is_not_an_attempt
from watchbook.systems.notes.store import Holder, creators, pool
from watchbook.systems.notes.store.creators import Checked, Listing

log = logging.getLogger(__name__)

CREATORS_A_RUN = 50
KEY_MISSING = gettext_noop("The creator's ID was encrypted with a key that is missing. Add the creator again.")
# A complete listing has an end; these limits are for one without. The time is less than the lease of the job.
MOST_PAGES, MOST_SECONDS = 50, 200.0


def any_creator_due(now: datetime) -> bool:
    if not options.RUNNER.value or not fetch.adapter_name() or pool.is_breaker_open(now):
        return False
    return Creator.objects.due(now).exists()


def check_creators(ctx: JobContext) -> Outcome:
    """The job: every creator whose time has come, unless another program does that here."""
    if not any_creator_due(ctx.now):
        return idle(ctx.now)
    free_crashed(CREATORS_WORKFLOW, ctx.now)
    got = store.acquire(CREATORS_WORKFLOW, clock.now())
    if not got.locked:
        return idle(ctx.now, reason=HELD)
    figures = {"creators": 0, "added": 0, "failed": 0, "gaps": 0}
    status = ExecutionStatus.FAILED
    try:
        for _ in range(CREATORS_A_RUN):
            checked = check_next(got.holder)
            if checked is None:
                break
            figures["creators"] += 1
            figures["added"] += checked.added
            figures["failed"] += checked.error is not None
            figures["gaps"] += checked.possible_gap
            ctx.report(**figures)
            if checked.stop:
                break
        status = ExecutionStatus.COMPLETED
    except LockLost:
        log.warning("execution %s lost its lock", got.execution_id)
        return Outcome("partly", figures)
    finally:
        release(got.holder, status)
    return Outcome("partly" if figures["failed"] else "done", figures)


def release(holder: Holder, status: ExecutionStatus) -> None:
    try:
        store.release(holder, status, clock.now())
    except LockLost:
        log.warning("execution %s had lost its lock at its end", holder.execution_id)


def check_next(holder: Holder) -> Checked | None:
    """Check the creator that is due longest; None if none is due. Raises LockLost."""
    now = clock.now()
    store.renew(holder, now)
    creator = Creator.objects.due(now).first()
    if creator is None:
        return None
    read = read_listing(creator)
    checked = creators.store_check(holder, creator, read, clock.now())
    # The platform, the login or the service: the next creator would fail the same way.
    stops = read.error is not None and (read.retry_minutes is not None or read.error.reason == "cannot_list")
    return replace(checked, stop=stops)


def read_listing(creator: Creator) -> Listing:
    """Read the notes of a creator, newest first, to the first note of the last check. Never raises NotesError."""
    cards: list[CardRecord] = []
    pinned: set[str] = set()
    name, cursor = "", ""
    marks, ends = set(creator.marks), time.monotonic() + MOST_SECONDS
    most = MOST_PAGES if creator.wants_full else options.CREATOR_PAGES.value
    try:
        crawl.check_can(CAN_LIST, CANNOT_LIST)
        for _ in range(most):
            page = crawl.creator_page(_query(creator, cursor), platform=creator.platform)
            cards += page.cards
            pinned |= page.pinned
            name = name or page.name
            if not page.has_more:
                return Listing(cards, frozenset(pinned), name, is_end=True)
            if not creator.wants_full and joins(cards, pinned, marks):
                return Listing(cards, frozenset(pinned), name, is_joined=True)
            if not page.cursor or page.cursor == cursor or time.monotonic() > ends:
                break  # it says that there is more and not where, or takes too long: that is no end
            cursor = page.cursor
    except NotesError as error:
        is_outage = is_not_an_attempt(error.as_json()) or is_service_failure(error)
        return Listing(cards, frozenset(pinned), name, error=error, retry_minutes=RETRY_MINUTES if is_outage else None)
    return Listing(cards, frozenset(pinned), name, is_joined=joins(cards, pinned, marks))


def _query(creator: Creator, cursor: str) -> CreatorQuery:
    user_id = creators.platform_id(creator)
    if not user_id:
        raise NotesError(Code.INVALID_INPUT, KEY_MISSING, reason="key_missing")
    return CreatorQuery(user_id, cursor, xsec_token=creators.token(creator), xsec_source=creator.xsec_source)


def joins(cards: Sequence[CardRecord], pinned: set[str], marks: set[str]) -> bool:
    """Whether the listing reached a known note. A pinned note stands above newer ones and proves nothing."""
    newest = None
    for card in reversed(cards):
        at = card.published_at
        is_above_newer = newest is not None and at is not None and at < newest
        if card.note_id in marks and card.note_id not in pinned and not is_above_newer:
            return True
        newest = max((moment for moment in (newest, at) if moment), default=None)
    return False
