"""The built-in runner. It takes exactly the steps of the n8n workflow *collect*, through the same functions:

acquire -> claim -> batch -> (wait, ask the failed ones again) -> commit or fail each -> heartbeat -> release
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from watchbook.base import clock
from watchbook.base.logs import accept_request_id, request_id, using_request_id
from watchbook.base.work import counted
from watchbook.core.jobs.runner import JobContext, Outcome
from watchbook.systems.notes import fetch, options, store
from watchbook.systems.notes.fetch import SearchQuery
from watchbook.systems.notes.fetch.refusals import STOP_RUN
from watchbook.systems.notes.jobs import crawl
from watchbook.systems.notes.jobs.maintenance import HELD, crashed_execution, free_crashed, idle
from watchbook.systems.notes.models import Candidate, CandidateStatus, ExecutionStatus
from watchbook.systems.notes.parse.documents import STALE_TOKEN
from watchbook.systems.notes.parse.records import NoteAddress, NoteRecord
from watchbook.systems.notes.rules import (
    BATCH_SIZE,
    COLLECT_WORKFLOW,
    DEFAULT_PLATFORM,
    HANDLING,
    MAX_RETRY,
    Code,
    LockLost,
    NotesError,
    wait_before,
)
from watchbook.systems.notes.store import Holder, candidates, notes, pool

log = logging.getLogger(__name__)

Report = Callable[..., None]


@dataclass
class CollectTotals:
    """How a collection went; `returned` candidates wait again."""

    execution_id: str = ""
    locked: bool = False
    claimed: int = 0
    collected: int = 0
    skipped: int = 0
    failed: int = 0
    returned: int = 0


def has_pending(now: datetime) -> bool:
    if not options.RUNNER.value or not fetch.adapter_name() or pool.is_breaker_open(now):
        return False
    waiting = Candidate.objects.pending().filter(platform=DEFAULT_PLATFORM)
    # Candidates of a run that crashed are not pending before its lock is freed.
    return waiting.exists() or crashed_execution(COLLECT_WORKFLOW) is not None


def collect_pending(ctx: JobContext) -> Outcome:
    """The job: what waits is collected, unless another program does that here."""
    free_crashed(COLLECT_WORKFLOW, ctx.now)
    if not has_pending(ctx.now):
        return idle(ctx.now)
    totals = collect(ctx.report)
    if not totals.locked:
        return idle(ctx.now, reason=HELD)
    return Outcome("partly" if totals.failed or totals.returned else "done", asdict(totals))


def collect(report: Report = lambda **figures: None) -> CollectTotals:
    """One execution over everything that waits now. Raises Trouble when no adapter can be used."""
    fetch.adapter()
    with using_request_id(request_id() or accept_request_id(None)):
        got = store.acquire(COLLECT_WORKFLOW, clock.now())
        totals = CollectTotals(got.execution_id, got.locked)
        if got.locked:
            with _released_at_end(got.holder, totals):
                _collect_all(got.holder, totals, report)
    return totals


@contextmanager
def _released_at_end(holder: Holder, totals: CollectTotals) -> Iterator[None]:
    status = ExecutionStatus.FAILED
    try:
        yield
        status = ExecutionStatus.COMPLETED
    except LockLost:
        log.warning("execution %s lost its lock", holder.execution_id)
        return
    except NotesError as stop:
        log.warning("execution %s stops: %s", holder.execution_id, stop)
    finally:
        try:
            totals.returned += store.release(holder, status, clock.now())
        except LockLost:
            log.warning("execution %s had lost its lock at its end", holder.execution_id)


def _collect_all(holder: Holder, totals: CollectTotals, report: Report) -> None:
    # As many batches as are pending now: candidates that fail are for the next run.
    rounds = -(-Candidate.objects.pending().filter(platform=DEFAULT_PLATFORM).count() // BATCH_SIZE)
    for _ in range(rounds):
        rows = candidates.claim(holder, BATCH_SIZE, clock.now())
        if not rows:
            return
        totals.claimed += len(rows)
        stop = _collect_batch(holder, rows, totals, report)
        report(**asdict(totals))
        if stop is not None:
            raise stop


def _collect_batch(holder: Holder, rows: list[Candidate], totals: CollectTotals, report: Report) -> NotesError | None:
    """One batch to its end. Returns the trouble after which another batch would fail, too."""
    with counted() as count:
        outcomes, cookies_used = _read(holder, rows, lambda: report(**asdict(totals)))
    meta = {"adapter": fetch.adapter_name(), "cookie_used": cookies_used, "batch_requests": count.requests}
    for row in rows:
        _save_outcome(holder, row, outcomes[row.note_id], meta, totals)
    store.renew(holder, clock.now())
    errors = [outcome for outcome in outcomes.values() if isinstance(outcome, NotesError)]
    return next((error for error in errors if _stops_run(error)), None)


def _read(holder: Holder, rows: list[Candidate], beat: Callable[[], None]) -> tuple[dict[str, crawl.Outcome], str]:
    """Every note's last outcome: what can be tried again is, after 5, 15 and 45 seconds."""
    addresses = {row.note_id: NoteAddress(row.note_id, candidates.decrypt_token(row), row.xsec_source) for row in rows}
    outcomes: dict[str, crawl.Outcome] = {}
    names: list[str] = []
    wanted = list(addresses)
    for attempt in range(1, MAX_RETRY + 2):
        read = crawl.read_notes([addresses[note_id] for note_id in wanted])
        outcomes.update(zip(wanted, read.outcomes, strict=True))
        names += read.cookies_used
        if any(isinstance(one, NotesError) and _stops_run(one) for one in read.outcomes):
            break
        fresh = _fresh_tokens(rows, outcomes) if attempt == 1 else {}
        addresses.update(fresh)
        wanted = [note_id for note_id in wanted if note_id in fresh or _again(outcomes[note_id], attempt)]
        if not wanted:
            break
        _wait(wait_before(attempt), beat)
        store.renew(holder, clock.now())
    return outcomes, ",".join(dict.fromkeys(names))


def _fresh_tokens(rows: list[Candidate], outcomes: dict[str, crawl.Outcome]) -> dict[str, NoteAddress]:
    """A token that has grown old is asked for once more, by searching the word that found the note."""
    stale = [row for row in rows if row.source_keyword and _reason(outcomes[row.note_id]) == STALE_TOKEN]
    found: dict[str, NoteAddress] = {}
    for keyword in {row.source_keyword for row in stale}:
        try:
            page, _cookie = crawl.search(SearchQuery(keyword))
        except NotesError as error:
            log.info("no fresh tokens: %s", error)
            return found
        tokens = {card.note_id: card.xsec_token for card in page.cards if card.xsec_token}
        found |= {
            row.note_id: NoteAddress(row.note_id, tokens[row.note_id], row.xsec_source)
            for row in stale
            if row.source_keyword == keyword and row.note_id in tokens
        }
    return found


def _reason(outcome: crawl.Outcome) -> str:
    return outcome.reason if isinstance(outcome, NotesError) else ""


def _again(outcome: crawl.Outcome, attempt: int) -> bool:
    return isinstance(outcome, NotesError) and outcome.retryable and attempt <= HANDLING[outcome.code].max_retry


def _stops_run(error: NotesError) -> bool:
    return error.outage or error.code == Code.COOKIE_EXHAUSTED or error.reason in STOP_RUN


def _save_outcome(
    holder: Holder, row: Candidate, outcome: crawl.Outcome, meta: dict[str, Any], totals: CollectTotals
) -> None:
    if isinstance(outcome, NoteRecord):
        done = notes.commit(holder, outcome, meta, clock.now())
        totals.collected += done.action == notes.CREATED
        totals.skipped += done.action == notes.SKIPPED
        return
    after = candidates.fail(holder, row.note_id, outcome.as_json(), clock.now())
    totals.failed += after.status == CandidateStatus.FAILED
    totals.returned += after.status == CandidateStatus.PENDING


def _wait(seconds: float, beat: Callable[[], None]) -> None:
    """Sleep with a heartbeat every few seconds. With a fixed test clock it returns immediately."""
    ends = time.monotonic() + seconds
    while not clock.is_held() and (left := ends - time.monotonic()) > 0:
        time.sleep(min(left, 5.0))
        beat()
