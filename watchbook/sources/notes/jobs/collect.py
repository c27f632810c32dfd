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
from watchbook.base.logs import request_id
from watchbook.base.web.counting import counted
from watchbook.core.jobs.context import NOTHING_TO_DO, JobContext, Outcome
from watchbook.sources.notes import fetch, options
from watchbook.sources.notes.errors import LockLost, Trouble
from watchbook.sources.notes.fetch.refusals import HALTING
from watchbook.sources.notes.fetch.visit import SearchQuery
from watchbook.sources.notes.jobs import crawl
from watchbook.sources.notes.models import Candidate, CandidateStatus, ExecutionStatus
from watchbook.sources.notes.parse.addresses import NoteAddress
from watchbook.sources.notes.parse.records import NoteRecord
from watchbook.sources.notes.parse.signals import STALE_TOKEN
from watchbook.sources.notes.rules import BATCH_SIZE, COLLECT_WORKFLOW, HANDLING, MAX_RETRY, Code, wait_before
from watchbook.sources.notes.store import candidates, executions, notes
from watchbook.sources.notes.store.executions import Holder

log = logging.getLogger(__name__)

Report = Callable[..., None]


@dataclass
class Collected:
    """How a collection went; `returned` candidates wait again."""

    execution_id: str = ""
    locked: bool = False
    claimed: int = 0
    collected: int = 0
    skipped: int = 0
    failed: int = 0
    returned: int = 0


def anything_pending(now: datetime) -> bool:
    return options.RUNNER.value and bool(fetch.adapter_name()) and Candidate.objects.pending().exists()


def collect_pending(ctx: JobContext) -> Outcome:
    """The job: what waits is collected, unless another program does that here."""
    if not anything_pending(ctx.now):
        return NOTHING_TO_DO
    tally = collect(ctx.report)
    word = "done" if tally.locked else "nothing_to_do"
    return Outcome("partly" if tally.failed or tally.returned else word, asdict(tally))


def collect(report: Report = lambda **figures: None) -> Collected:
    """One execution over everything that waits now. Raises Trouble when no adapter can be used."""
    fetch.adapter()
    with request_id.using(request_id.current() or request_id.accept(None)):
        got = executions.acquire(COLLECT_WORKFLOW, clock.now())
        tally = Collected(got.execution_id, got.locked)
        if got.locked:
            with _until_released(got.holder, tally):
                _work_through(got.holder, tally, report)
    return tally


@contextmanager
def _until_released(holder: Holder, tally: Collected) -> Iterator[None]:
    status = ExecutionStatus.FAILED
    try:
        yield
        status = ExecutionStatus.COMPLETED
    except LockLost:
        log.warning("execution %s lost its lock", holder.execution_id)
        return
    except Trouble as halt:
        log.warning("execution %s stops: %s", holder.execution_id, halt)
    finally:
        try:
            tally.returned += executions.release(holder, status, clock.now())
        except LockLost:
            log.warning("execution %s had lost its lock at its end", holder.execution_id)


def _work_through(holder: Holder, tally: Collected, report: Report) -> None:
    # As many rounds as wait now: what fails and waits again is for the next execution.
    rounds = -(-Candidate.objects.filter(status=CandidateStatus.PENDING).count() // BATCH_SIZE)
    for _ in range(rounds):
        rows = candidates.claim(holder, BATCH_SIZE, clock.now())
        if not rows:
            return
        tally.claimed += len(rows)
        halt = _work(holder, rows, tally, report)
        report(**asdict(tally))
        if halt is not None:
            raise halt


def _work(holder: Holder, rows: list[Candidate], tally: Collected, report: Report) -> Trouble | None:
    """One batch to its end. Gives the trouble that makes going on pointless."""
    with counted() as count:
        outcomes, cookies_used = _read(holder, rows, lambda: report(**asdict(tally)))
    meta = {"adapter": fetch.adapter_name(), "cookie_used": cookies_used, "batch_requests": count.requests}
    for row in rows:
        _settle(holder, row, outcomes[row.note_id], meta, tally)
    executions.hold(holder, clock.now())
    troubles = [outcome for outcome in outcomes.values() if isinstance(outcome, Trouble)]
    return next((trouble for trouble in troubles if _halts(trouble)), None)


def _read(holder: Holder, rows: list[Candidate], beat: Callable[[], None]) -> tuple[dict[str, crawl.Outcome], str]:
    """Every note's last outcome: what can be tried again is, after 5, 15 and 45 seconds."""
    addresses = {row.note_id: NoteAddress(row.note_id, candidates.token_of(row), row.xsec_source) for row in rows}
    outcomes: dict[str, crawl.Outcome] = {}
    names: list[str] = []
    wanted = list(addresses)
    for attempt in range(1, MAX_RETRY + 2):
        read = crawl.read_notes([addresses[note_id] for note_id in wanted])
        outcomes.update(zip(wanted, read.outcomes, strict=True))
        names += read.cookies_used
        if any(isinstance(one, Trouble) and _halts(one) for one in read.outcomes):
            break
        fresh = _fresh_tokens(rows, outcomes) if attempt == 1 else {}
        addresses.update(fresh)
        wanted = [note_id for note_id in wanted if note_id in fresh or _again(outcomes[note_id], attempt)]
        if not wanted:
            break
        _wait(wait_before(attempt), beat)
        executions.hold(holder, clock.now())
    return outcomes, ",".join(dict.fromkeys(names))


def _fresh_tokens(rows: list[Candidate], outcomes: dict[str, crawl.Outcome]) -> dict[str, NoteAddress]:
    """A token that has grown old is asked for once more, by searching the word that found the note."""
    stale = [row for row in rows if row.source_keyword and _reason(outcomes[row.note_id]) == STALE_TOKEN]
    found: dict[str, NoteAddress] = {}
    for keyword in {row.source_keyword for row in stale}:
        try:
            page, _cookie = crawl.search(SearchQuery(keyword))
        except Trouble as trouble:
            log.info("no fresh tokens: %s", trouble)
            return found
        tokens = {card.note_id: card.xsec_token for card in page.cards if card.xsec_token}
        found |= {
            row.note_id: NoteAddress(row.note_id, tokens[row.note_id], row.xsec_source)
            for row in stale
            if row.source_keyword == keyword and row.note_id in tokens
        }
    return found


def _reason(outcome: crawl.Outcome) -> str:
    return outcome.reason if isinstance(outcome, Trouble) else ""


def _again(outcome: crawl.Outcome, attempt: int) -> bool:
    return isinstance(outcome, Trouble) and outcome.retryable and attempt <= HANDLING[outcome.code].max_retry


def _halts(trouble: Trouble) -> bool:
    return trouble.code == Code.COOKIE_EXHAUSTED or trouble.reason in HALTING


def _settle(holder: Holder, row: Candidate, outcome: crawl.Outcome, meta: dict[str, Any], tally: Collected) -> None:
    if isinstance(outcome, NoteRecord):
        done = notes.commit(holder, outcome, meta, clock.now())
        tally.collected += done.action == notes.CREATED
        tally.skipped += done.action == notes.SKIPPED
        return
    after = candidates.fail(holder, row.note_id, outcome.as_json(), clock.now())
    tally.failed += after.status == CandidateStatus.FAILED
    tally.returned += after.status == CandidateStatus.PENDING


def _wait(seconds: float, beat: Callable[[], None]) -> None:
    """Sleeps, with a sign of life every few seconds. Where the clock is held, nobody has to wait."""
    ends = time.monotonic() + seconds
    while not clock.is_held() and (left := ends - time.monotonic()) > 0:
        time.sleep(min(left, 5.0))
        beat()
