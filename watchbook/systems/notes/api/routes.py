"""Endpoints. search, detail and batch only read the platform; only the workflow endpoints write tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_noop
from ninja import Query

from watchbook.core.accounts.access import person_of
from watchbook.core.api.lists import DaysQuery, PageQuery, keyset, listed
from watchbook.core.api.shell import refuses
from watchbook.core.media.store import files_of
from watchbook.systems.notes import actions, filters
from watchbook.systems.notes import validation as read
from watchbook.systems.notes.access import reading, working
from watchbook.systems.notes.api import schemas
from watchbook.systems.notes.api.envelope import Call, answered, done, listed_in_envelope, post, router
from watchbook.systems.notes.jobs import crawl
from watchbook.systems.notes.models import Candidate, Cookie, Execution, Note, NoteWatch
from watchbook.systems.notes.parse.records import (
    NoteAddress,
)
from watchbook.systems.notes.rules import (
    HANDLING,
    Code,
    NotesError,
)
from watchbook.systems.notes.validation import (
    AcquireBody,
    BatchBody,
    CandidatesBody,
    ClaimBody,
    CommitBody,
    DetailBody,
    FailBody,
    HolderBody,
    ReadAgainBody,
    RecoverBody,
    ReleaseBody,
    ReportBody,
    SearchBody,
    parse,
)

PARTLY = gettext_noop("Some notes could not be read. Each item has its own error.")

NO_NOTE = gettext_noop("Note not found.")

Action = Callable[[Mapping[str, Any]], dict[str, Any]]


# Error statuses of the endpoints that read the platform.
CRAWLING = (404, 429, 502, 503, 504)


@post("/search", SearchBody, schemas.SearchAnswer, *CRAWLING)
def search(request: HttpRequest) -> Any:
    """Search notes by keyword. Returns one page of results."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        body = parse(SearchBody, call.payload)
        query = read.read_query(body)
        page, call.cookie_used = crawl.search(query, seconds=body.timeout_seconds)
        return done({"items": [card.as_json() for card in page.cards], "has_more": page.has_more, "page": query.page})

    return answered(request, act)


@post("/detail", DetailBody, schemas.DetailAnswer, *CRAWLING)
def detail(request: HttpRequest) -> Any:
    """Read one note by ID and token, or by URL."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        body = parse(DetailBody, call.payload)
        address = read.read_address(body)
        seconds, platform = body.timeout_seconds, body.platform_name
        note, call.cookie_used = crawl.read_note(address, seconds=seconds, platform=platform)
        return done(note.as_json())

    return answered(request, act)


@post("/batch", BatchBody, schemas.BatchAnswer, *CRAWLING, partly=True)
def batch(request: HttpRequest) -> Any:
    """Read up to 20 notes. Each item has its own result. Responds within the time limit."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        body = parse(BatchBody, call.payload)
        addresses = read.read_batch(body)
        found = crawl.read_notes(addresses, seconds=body.timeout_seconds, platform=body.platform)
        call.cookie_used = found.cookie_used
        return _batch_answer(addresses, found)

    return answered(request, act)


def _batch_answer(addresses: list[NoteAddress], found: crawl.Read) -> tuple[int, dict[str, Any]]:
    items: list[dict[str, Any]] = []
    failed: list[NotesError] = []
    for address, outcome in zip(addresses, found.outcomes, strict=True):
        if isinstance(outcome, NotesError):
            failed.append(outcome)
            items.append({"id": address.note_id, "success": False, "error": outcome.as_json()})
        else:
            items.append({"id": address.note_id, "success": True, "data": outcome.as_json()})
    summary = {"total": len(items), "succeeded": len(items) - len(failed), "failed": len(failed)}
    body: dict[str, Any] = {"success": not failed, "items": items, "summary": summary, "error": None}
    if failed:
        body["error"] = _batch_error(failed, [item["id"] for item in items if not item["success"]], len(items))
        return HANDLING[Code(body["error"]["code"])].status, body
    return 200, body


def _batch_error(failed: list[NotesError], failed_ids: list[str], total: int) -> dict[str, Any]:
    """All of them for one reason is that reason; anything else is a partial failure."""
    if len(failed) == total and len({one.code for one in failed}) == 1:
        error = failed[0].as_json()
    else:
        error = NotesError(Code.PARTIAL_FAIL, PARTLY).as_json()
    return {**error, "details": {"failed_ids": failed_ids}}


def _step(request: HttpRequest, action: Action) -> Any:
    return answered(request, lambda call: done(action(call.payload)))


@post("/workflow/candidates", CandidatesBody, schemas.StoredAnswer)
def add_candidates(request: HttpRequest) -> Any:
    """Add candidates. A note that is already known is not added again."""
    return _step(request, actions.add_candidates)


@post("/workflow/acquire", AcquireBody, schemas.AcquireAnswer)
def acquire(request: HttpRequest) -> Any:
    """Start a run of a workflow, unless one is in progress."""
    return _step(request, actions.acquire)


@post("/workflow/heartbeat", HolderBody, schemas.HeartbeatAnswer, 409)
def heartbeat(request: HttpRequest) -> Any:
    """Renew the heartbeat of a run."""
    return _step(request, actions.heartbeat)


@post("/workflow/claim", ClaimBody, schemas.ClaimAnswer, 409)
def claim(request: HttpRequest) -> Any:
    """Lock pending candidates for a run."""
    return _step(request, actions.claim)


@post("/workflow/commit", CommitBody, schemas.CommitAnswer, 404, 409)
def commit(request: HttpRequest) -> Any:
    """Save a note once and mark its candidate as collected."""
    return _step(request, actions.commit)


@post("/workflow/fail", FailBody, schemas.FailAnswer, 404, 409)
def fail(request: HttpRequest) -> Any:
    """Report that a candidate failed. After 3 counted failures its status is failed."""
    return _step(request, actions.fail)


@post("/workflow/release", ReleaseBody, schemas.ReleaseAnswer, 409)
def release(request: HttpRequest) -> Any:
    """End a run. Candidates that it still holds are pending again."""
    return _step(request, actions.release)


@post("/workflow/recover", RecoverBody, schemas.RecoverAnswer)
def recover(request: HttpRequest) -> Any:
    """Release locks that had no heartbeat for 30 minutes."""
    return _step(request, actions.recover)


@post("/workflow/report", ReportBody, schemas.ReportAnswer)
def report(request: HttpRequest) -> Any:
    """Report a failed workflow. Opens an alert, which resolves when the workflow next completes."""
    return _step(request, actions.report)


class CandidatesQuery(DaysQuery):
    q: str = ""
    status: str = ""
    keyword: str = ""
    creator: str = ""


class NotesQuery(DaysQuery):
    q: str = ""
    keyword: str = ""
    kind: str = ""
    author: str = ""


@router.get("/candidates", auth=reading, response=schemas.CandidateList, exclude_unset=True)
def candidates(request: HttpRequest, page: Query[CandidatesQuery]) -> Any:
    """List candidates, newest first, with the filters of the page."""
    make = schemas.CandidateOut.of
    declared = filters.CANDIDATES_IN_STATE if page.status else filters.CANDIDATES
    return listed_in_envelope(request, listed(request, declared, Candidate.objects.all(), page, make=make))


@router.get("/sources", auth=reading, response=schemas.NoteList, exclude_unset=True)
def sources(request: HttpRequest, page: Query[NotesQuery]) -> Any:
    """List collected notes, newest first, with the filters of the page."""
    make = schemas.NoteOut.of
    return listed_in_envelope(request, listed(request, filters.NOTES, Note.objects.all(), page, make=make))


@router.get(
    "/sources/{note_id}", auth=reading, response=schemas.NoteHistoryAnswer, exclude_unset=True,
    openapi_extra=refuses(404),
)  # fmt: skip
def source(request: HttpRequest, note_id: str) -> Any:
    """Get one collected note with its files, versions and counts over time."""
    return answered(request, lambda call: done(_history(note_id)))


def _history(note_id: str) -> dict[str, Any]:
    note = Note.objects.select_related("watch").filter(note_id=note_id[:64]).first()
    if note is None:
        raise NotesError(Code.NOT_FOUND, NO_NOTE)
    watch = getattr(note, "watch", None) or NoteWatch(note=note, last_read_at=note.collected_at)
    return {
        "note": schemas.NoteOut.of(note),
        "presence": str(watch.presence),
        "last_read_at": watch.last_read_at,
        "next_read_at": watch.next_read_at,
        "files": [
            schemas.NoteFile.of(row.file, kind=row.role, position=row.position, media_id=row.file_id)
            for row in files_of("notes", [note.note_id]).get(note.note_id, ())
        ],
        "versions": [schemas.NoteVersionOut.of(row) for row in note.versions.order_by("-number")[:100]],
        "points": [schemas.NotePointOut.of(row) for row in note.points.order_by("-read_at")[:200]],
    }


@post("/read-again", ReadAgainBody, schemas.ReadAgainAnswer)
def read_again(request: HttpRequest) -> Any:
    """Queue collected notes to be read again. Another text becomes a version, other counts a point."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        ids = parse(ReadAgainBody, call.payload).note_ids
        known = set(Note.objects.filter(note_id__in=ids).values_list("note_id", flat=True))
        queued = actions.read_again(ids, user=person_of(request), request=request)
        unknown = [note_id for note_id in dict.fromkeys(ids) if note_id not in known]
        return done({"queued": queued, "known": len(known), "unknown_ids": unknown})

    return answered(request, act)


@router.get("/executions", auth=reading, response=schemas.ExecutionList)
def executions(request: HttpRequest, page: Query[PageQuery]) -> Any:
    """List runs and their locks, newest first."""
    return listed_in_envelope(request, keyset(Execution.objects.all(), page, by="-id", make=schemas.ExecutionOut.of))


@router.get("/cookies", auth=working, response=schemas.CookieList)
def cookies(request: HttpRequest, page: Query[PageQuery]) -> Any:
    """List the cookie pool, without the cookies themselves."""
    return listed_in_envelope(request, keyset(Cookie.objects.all(), page, by="id", make=schemas.CookieOut.of))
