"""The endpoints. The crawl ones only read the platform; the tables are written by the workflow ones alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_noop
from ninja import Query, Router

from watchbook.core.api.paging import PageQuery, keyset
from watchbook.sources.notes import actions
from watchbook.sources.notes import reading as read
from watchbook.sources.notes.api.envelope import Call, answered, done
from watchbook.sources.notes.api.gate import reading, working
from watchbook.sources.notes.api.shapes import BODIES, candidate_out, cookie_out, execution_out, note_out
from watchbook.sources.notes.errors import Trouble
from watchbook.sources.notes.jobs import crawl
from watchbook.sources.notes.models import Candidate, CandidateStatus, Cookie, Execution, Note
from watchbook.sources.notes.parse.addresses import NoteAddress
from watchbook.sources.notes.rules import HANDLING, Code

router = Router()

PARTLY = gettext_noop("Some notes could not be read. Each says why.")

Action = Callable[[Mapping[str, Any]], dict[str, Any]]


def _post(path: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Bodies are read by hand, so that a wrong one is answered in the envelope; the schema is for the documentation."""
    made: Callable[[Callable[..., Any]], Callable[..., Any]] = router.post(
        path, auth=working, openapi_extra={"requestBody": BODIES[path]}
    )
    return made


@_post("/search")
def search(request: HttpRequest) -> HttpResponse:
    """One page of search hits."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        query = read.read_query(call.payload)
        page, call.cookie_used = crawl.search(query, seconds=read.read_seconds(call.payload, 60))
        return done({"items": [card.as_json() for card in page.cards], "has_more": page.has_more, "page": query.page})

    return answered(request, act)


@_post("/detail")
def detail(request: HttpRequest) -> HttpResponse:
    """One note, by its id and token or by its address."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        address = read.read_address(call.payload)
        note, call.cookie_used = crawl.read_note(address, seconds=read.read_seconds(call.payload, 30))
        return done(note.as_json())

    return answered(request, act)


@_post("/batch")
def batch(request: HttpRequest) -> HttpResponse:
    """Up to 20 notes, each with its own outcome; answered within the time with what succeeded."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        addresses = read.read_batch(call.payload)
        found = crawl.read_notes(addresses, seconds=read.read_seconds(call.payload, 120))
        call.cookie_used = found.cookie_used
        return _batch_answer(addresses, found)

    return answered(request, act)


def _batch_answer(addresses: list[NoteAddress], found: crawl.Read) -> tuple[int, dict[str, Any]]:
    items: list[dict[str, Any]] = []
    failed: list[Trouble] = []
    for address, outcome in zip(addresses, found.outcomes, strict=True):
        if isinstance(outcome, Trouble):
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


def _batch_error(failed: list[Trouble], failed_ids: list[str], total: int) -> dict[str, Any]:
    """All of them for one reason is that reason; anything else is a partial failure."""
    if len(failed) == total and len({one.code for one in failed}) == 1:
        error = failed[0].as_json()
    else:
        error = Trouble(Code.PARTIAL_FAIL, PARTLY).as_json()
    return {**error, "details": {"failed_ids": failed_ids}}


def _step(request: HttpRequest, action: Action) -> HttpResponse:
    return answered(request, lambda call: done(action(call.payload)))


@_post("/workflow/candidates")
def add_candidates(request: HttpRequest) -> HttpResponse:
    """Store notes to collect, each once."""
    return _step(request, actions.add_candidates)


@_post("/workflow/acquire")
def acquire(request: HttpRequest) -> HttpResponse:
    """Start an execution of a workflow, unless one is running."""
    return _step(request, actions.acquire)


@_post("/workflow/heartbeat")
def heartbeat(request: HttpRequest) -> HttpResponse:
    """Say that an execution is alive."""
    return _step(request, actions.heartbeat)


@_post("/workflow/claim")
def claim(request: HttpRequest) -> HttpResponse:
    """Lock pending candidates for an execution."""
    return _step(request, actions.claim)


@_post("/workflow/commit")
def commit(request: HttpRequest) -> HttpResponse:
    """Write a note once, and mark its candidate collected."""
    return _step(request, actions.commit)


@_post("/workflow/fail")
def fail(request: HttpRequest) -> HttpResponse:
    """Give a candidate back with the reason; the third time is the last."""
    return _step(request, actions.fail)


@_post("/workflow/release")
def release(request: HttpRequest) -> HttpResponse:
    """End an execution; records it still holds wait again."""
    return _step(request, actions.release)


@_post("/workflow/recover")
def recover(request: HttpRequest) -> HttpResponse:
    """Free what has been locked for more than 30 minutes."""
    return _step(request, lambda _payload: actions.recover())


@_post("/workflow/report")
def report(request: HttpRequest) -> HttpResponse:
    """Say that a workflow broke off; opens an alert until it next comes to its end."""
    return _step(request, actions.report)


def _list(request: HttpRequest, page: dict[str, Any]) -> HttpResponse:
    return answered(request, lambda call: (200, {"success": True, **page, "error": None}))


@router.get("/candidates", auth=reading)
def candidates(request: HttpRequest, page: Query[PageQuery], status: str = "") -> HttpResponse:
    """Candidates, newest first; `status` chooses."""
    rows = Candidate.objects.all()
    if status:
        rows = rows.filter(status=status) if status in CandidateStatus.values else rows.none()
    return _list(request, keyset(rows, page, by="-id", make=candidate_out))


@router.get("/sources", auth=reading)
def sources(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """Collected notes, newest first."""
    return _list(request, keyset(Note.objects.all(), page, by="-id", make=note_out))


@router.get("/executions", auth=reading)
def executions(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """Executions and their locks, newest first."""
    return _list(request, keyset(Execution.objects.all(), page, by="-id", make=execution_out))


@router.get("/cookies", auth=working)
def cookies(request: HttpRequest, page: Query[PageQuery]) -> HttpResponse:
    """The cookie pool, never a cookie."""
    return _list(request, keyset(Cookie.objects.all(), page, by="id", make=cookie_out))
