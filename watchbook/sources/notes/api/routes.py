"""The endpoints. The crawl ones only read the platform; the tables are written by the workflow ones alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext_noop
from ninja import Query, Router

from watchbook.core.api.answers import Answer
from watchbook.core.api.document import refuses
from watchbook.core.api.errors import must_be_known
from watchbook.core.api.paging import PageQuery, keyset
from watchbook.sources.notes import actions
from watchbook.sources.notes import reading as read
from watchbook.sources.notes.api import shapes
from watchbook.sources.notes.api.bodies import BODIES
from watchbook.sources.notes.api.envelope import Call, answered, done
from watchbook.sources.notes.api.gate import reading, working
from watchbook.sources.notes.errors import Trouble
from watchbook.sources.notes.jobs import crawl
from watchbook.sources.notes.models import Candidate, CandidateStatus, Cookie, Execution, Note
from watchbook.sources.notes.parse.addresses import NoteAddress
from watchbook.sources.notes.rules import HANDLING, Code

router = Router()

PARTLY = gettext_noop("Some notes could not be read. Each says why.")

Action = Callable[[Mapping[str, Any]], dict[str, Any]]


# What the platform, the pool and the clock may have against reading a note.
CRAWLING = (404, 429, 502, 503, 504)


def _post(
    path: str, answer: type[Answer], *refusals: int, partly: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Bodies are read by hand, so that a wrong one is answered in the envelope; the schema is for the documentation."""
    made: Callable[[Callable[..., Any]], Callable[..., Any]] = router.post(
        path,
        auth=working,
        response={200: answer, 207: answer} if partly else answer,
        exclude_unset=True,
        openapi_extra={"requestBody": BODIES[path], **refuses(400, *refusals)},
    )
    return made


@_post("/search", shapes.SearchAnswer, *CRAWLING)
def search(request: HttpRequest) -> Any:
    """One page of search hits."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        query = read.read_query(call.payload)
        page, call.cookie_used = crawl.search(query, seconds=read.read_seconds(call.payload, 60))
        return done({"items": [card.as_json() for card in page.cards], "has_more": page.has_more, "page": query.page})

    return answered(request, act)


@_post("/detail", shapes.DetailAnswer, *CRAWLING)
def detail(request: HttpRequest) -> Any:
    """One note, by its id and token or by its address."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        address = read.read_address(call.payload)
        note, call.cookie_used = crawl.read_note(address, seconds=read.read_seconds(call.payload, 30))
        return done(note.as_json())

    return answered(request, act)


@_post("/batch", shapes.BatchAnswer, *CRAWLING, partly=True)
def batch(request: HttpRequest) -> Any:
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


def _step(request: HttpRequest, action: Action) -> Any:
    return answered(request, lambda call: done(action(call.payload)))


@_post("/workflow/candidates", shapes.StoredAnswer)
def add_candidates(request: HttpRequest) -> Any:
    """Store notes to collect, each once."""
    return _step(request, actions.add_candidates)


@_post("/workflow/acquire", shapes.AcquireAnswer)
def acquire(request: HttpRequest) -> Any:
    """Start an execution of a workflow, unless one is running."""
    return _step(request, actions.acquire)


@_post("/workflow/heartbeat", shapes.HeartbeatAnswer, 409)
def heartbeat(request: HttpRequest) -> Any:
    """Say that an execution is alive."""
    return _step(request, actions.heartbeat)


@_post("/workflow/claim", shapes.ClaimAnswer, 409)
def claim(request: HttpRequest) -> Any:
    """Lock pending candidates for an execution."""
    return _step(request, actions.claim)


@_post("/workflow/commit", shapes.CommitAnswer, 404, 409)
def commit(request: HttpRequest) -> Any:
    """Write a note once, and mark its candidate collected."""
    return _step(request, actions.commit)


@_post("/workflow/fail", shapes.FailAnswer, 404, 409)
def fail(request: HttpRequest) -> Any:
    """Give a candidate back with the reason; the third time is the last."""
    return _step(request, actions.fail)


@_post("/workflow/release", shapes.ReleaseAnswer, 409)
def release(request: HttpRequest) -> Any:
    """End an execution; records it still holds wait again."""
    return _step(request, actions.release)


@_post("/workflow/recover", shapes.RecoverAnswer)
def recover(request: HttpRequest) -> Any:
    """Free what has been locked for more than 30 minutes."""
    return _step(request, lambda _payload: actions.recover())


@_post("/workflow/report", shapes.ReportAnswer)
def report(request: HttpRequest) -> Any:
    """Say that a workflow broke off; opens an alert until it next comes to its end."""
    return _step(request, actions.report)


def _list(request: HttpRequest, page: dict[str, Any]) -> Any:
    return answered(request, lambda call: (200, {"success": True, **page, "error": None}))


@router.get("/candidates", auth=reading, response=shapes.CandidateList)
def candidates(request: HttpRequest, page: Query[PageQuery], status: str = "") -> Any:
    """Candidates, newest first; `status` chooses."""
    must_be_known("status", status, CandidateStatus.values)
    rows = Candidate.objects.all()
    if status:
        rows = rows.filter(status=status)
    return _list(request, keyset(rows, page, by="-id", make=shapes.CandidateOut.of))


@router.get("/sources", auth=reading, response=shapes.NoteList)
def sources(request: HttpRequest, page: Query[PageQuery]) -> Any:
    """Collected notes, newest first."""
    return _list(request, keyset(Note.objects.all(), page, by="-id", make=shapes.NoteOut.of))


@router.get("/executions", auth=reading, response=shapes.ExecutionList)
def executions(request: HttpRequest, page: Query[PageQuery]) -> Any:
    """Executions and their locks, newest first."""
    return _list(request, keyset(Execution.objects.all(), page, by="-id", make=shapes.ExecutionOut.of))


@router.get("/cookies", auth=working, response=shapes.CookieList)
def cookies(request: HttpRequest, page: Query[PageQuery]) -> Any:
    """The cookie pool, never a cookie."""
    return _list(request, keyset(Cookie.objects.all(), page, by="id", make=shapes.CookieOut.of))
