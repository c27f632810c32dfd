"""Comments of collected notes, read after each reading of their note. Runner and n8n take the same steps:

acquire -> read the comments of the next note that is due, until none is left -> release
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from datetime import datetime

from django.utils.translation import gettext_noop

from watchbook.base import clock
from watchbook.core.jobs.runner import JobContext, Outcome
from watchbook.systems.notes import fetch, options, store
from watchbook.systems.notes.fetch import CAN_COMMENT, CommentQuery
from watchbook.systems.notes.fetch.refusals import is_service_failure
from watchbook.systems.notes.jobs import crawl
from watchbook.systems.notes.jobs.creators import release
from watchbook.systems.notes.jobs.maintenance import HELD, RETRY_MINUTES, free_crashed, idle
from watchbook.systems.notes.models import Candidate, ExecutionStatus, NoteWatch
from watchbook.systems.notes.parse.records import CommentRecord
from watchbook.systems.notes.rules import COMMENTS_WORKFLOW, LockLost, NotesError, is_not_an_attempt
from watchbook.systems.notes.store import Holder, comments, pool
from watchbook.systems.notes.store.candidates import decrypt_token
from watchbook.systems.notes.store.comments import CommentsRead, Thread

NOTES_A_RUN = 50
MOST_PAGES, MOST_SECONDS = 50, 200.0
CANNOT_COMMENT = gettext_noop(
    "The adapter cannot read comments. Use the remote adapter with a service that can, or keep 0 comments per note."
)


def any_comments_due(now: datetime) -> bool:
    if not options.RUNNER.value or not fetch.adapter_name() or pool.is_breaker_open(now):
        return False
    return options.COMMENTS.value > 0 and NoteWatch.objects.comments_due(now).exists()


def read_comments(ctx: JobContext) -> Outcome:
    """The job: comments of every note that is due, unless another program does that here."""
    if not any_comments_due(ctx.now):
        return idle(ctx.now)
    free_crashed(COMMENTS_WORKFLOW, ctx.now)
    got = store.acquire(COMMENTS_WORKFLOW, clock.now())
    if not got.locked:
        return idle(ctx.now, reason=HELD)
    figures = {"notes": 0, "added": 0, "changed": 0, "failed": 0}
    status = ExecutionStatus.FAILED
    try:
        for _ in range(NOTES_A_RUN):
            done = read_next(got.holder)
            if done is None:
                break
            figures["notes"] += 1
            figures["added"] += done.added
            figures["changed"] += done.changed
            figures["failed"] += done.error is not None
            ctx.report(**figures)
            if done.stop:
                break
        status = ExecutionStatus.COMPLETED
    except LockLost:
        return Outcome("partly", figures)
    finally:
        release(got.holder, status)
    return Outcome("partly" if figures["failed"] else "done", figures)


def read_next(holder: Holder) -> CommentsRead | None:
    """Read the comments of the note that is due longest; None if none is due. Raises LockLost."""
    now = clock.now()
    store.renew(holder, now)
    watch = NoteWatch.objects.comments_due(now).select_related("note").first() if options.COMMENTS.value else None
    if watch is None:
        return None
    read = read_thread(watch)
    done = comments.store_thread(holder, watch, read, clock.now())
    stops = read.error is not None and (read.retry_minutes is not None or read.error.reason == "cannot_list")
    return replace(done, stop=stops)


def read_thread(watch: NoteWatch) -> Thread:
    """Read the comments of a note up to the limit. Never raises NotesError; what was read before an error counts."""
    found: dict[str, CommentRecord] = {}
    open_branches: set[str] = set()
    most, ends, is_whole = options.COMMENTS.value, time.monotonic() + MOST_SECONDS, False
    try:
        crawl.check_can(CAN_COMMENT, CANNOT_COMMENT)
        query = _query(watch)
        for _ in range(MOST_PAGES):
            page = crawl.comment_page(query, platform=watch.note.platform)
            found |= {one.comment_id: one for one in page.comments}
            open_branches |= page.open_branches
            is_whole = not page.has_more and len(found) <= most
            has_next = page.has_more and page.cursor and page.cursor != query.cursor
            if not has_next or len(found) >= most or time.monotonic() > ends:
                break
            query = replace(query, cursor=page.cursor)
    except NotesError as error:
        is_outage = is_not_an_attempt(error.as_json()) or is_service_failure(error)
        kept = tuple(found.values())[:most]
        return Thread(kept, error=error, retry_minutes=RETRY_MINUTES if is_outage else None)
    return Thread(tuple(found.values())[:most], is_whole, frozenset(open_branches))


def _query(watch: NoteWatch) -> CommentQuery:
    candidate = Candidate.objects.filter(note_id=watch.note.note_id).first()
    token = decrypt_token(candidate) if candidate else ""
    return CommentQuery(watch.note.note_id, xsec_token=token, xsec_source=candidate.xsec_source if candidate else "")


def step(holder: Holder) -> dict[str, object]:
    """The step of a workflow: read the comments of one note, and say how many notes are left."""
    done = read_next(holder)
    if done is None:
        return {"checked": False, "left": 0, "stop": False}
    shown = asdict(done)
    failure = shown.pop("error")
    return {"checked": True, **shown, "failure": failure, "left": NoteWatch.objects.comments_due(clock.now()).count()}
