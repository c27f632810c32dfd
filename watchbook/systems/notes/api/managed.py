"""Endpoints for what people manage: keywords and candidates."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Query

from watchbook.core.accounts.access import person_of
from watchbook.core.api.lists import DaysQuery, listed
from watchbook.core.jobs.models import JobRun
from watchbook.systems.notes import actions, fetch, filters
from watchbook.systems.notes.access import reading
from watchbook.systems.notes.actions import keywords
from watchbook.systems.notes.actions.paste import add_pasted
from watchbook.systems.notes.api import managed_schemas as schemas
from watchbook.systems.notes.api.envelope import Call, answered, delete, done, listed_in_envelope, patch, post, router
from watchbook.systems.notes.models import Candidate, CandidateStatus, Keyword
from watchbook.systems.notes.rules import Code, NotesError, invalid
from watchbook.systems.notes.validation import RecoverBody, parse
from watchbook.systems.notes.validation.managed import BAD_IDS, KeywordBody, KeywordChange, PasteBody, RetryBody


class KeywordsQuery(DaysQuery):
    q: str = ""
    state: str = ""
    sort: str = ""
    note_type: str = ""


def queued(run: JobRun) -> tuple[int, dict[str, Any]]:
    return done({"run_id": run.pk, "url": f"/api/v1/jobs/runs/{run.pk}"})


@router.get("/keywords", auth=reading, response=schemas.KeywordList, exclude_unset=True)
def list_keywords(request: HttpRequest, page: Query[KeywordsQuery]) -> Any:
    """List keywords, newest first, with the filters of the page."""
    make = schemas.KeywordOut.of
    return listed_in_envelope(request, listed(request, filters.KEYWORDS, Keyword.objects.all(), page, make=make))


@post("/keywords", KeywordBody, schemas.KeywordAddedAnswer)
def add_keyword(request: HttpRequest) -> Any:
    """Add a keyword; one that exists is changed and enabled."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        given = parse(KeywordBody, call.payload).given
        row, is_new = keywords.add_keyword(given.pop("keyword"), user=person_of(request), **given)
        return done({"added": is_new, "keyword": schemas.KeywordOut.of(row)})

    return answered(request, act)


def _keyword(keyword_id: int) -> Keyword:
    found = Keyword.objects.filter(pk=keyword_id).first() if keyword_id < 2**63 else None
    if found is None:
        raise NotesError(Code.NOT_FOUND, keywords.NO_KEYWORD)
    return found


@patch("/keywords/{int:keyword_id}", KeywordChange, schemas.KeywordAnswer)
def change_keyword(request: HttpRequest, keyword_id: int) -> Any:
    """Change how a keyword is searched, or pause and resume it."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        row = _keyword(keyword_id)
        keywords.change_keyword(row, call.payload, user=person_of(request))
        return done(schemas.KeywordOut.of(row))

    return answered(request, act)


@delete("/keywords/{int:keyword_id}", schemas.DeletedAnswer)
def delete_keyword(request: HttpRequest, keyword_id: int) -> Any:
    """Delete a keyword. Candidates and notes that it found are kept."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        keywords.delete_keyword(_keyword(keyword_id), user=person_of(request))
        return done({"deleted": True})

    return answered(request, act)


@post("/keywords/{int:keyword_id}/search", RecoverBody, schemas.QueuedAnswer, 404, 502)
def search_keyword(request: HttpRequest, keyword_id: int) -> Any:
    """Queue a search of a keyword now. A paused keyword is resumed."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        parse(RecoverBody, call.payload)
        row = _keyword(keyword_id)
        fetch.adapter()
        return queued(keywords.search_soon(row, user=person_of(request), request=request))

    return answered(request, act)


@post("/candidates", PasteBody, schemas.PasteAnswer)
def paste_candidates(request: HttpRequest) -> Any:
    """Add candidates from a pasted text: share texts, short links, links and IDs, each with its result."""
    return answered(request, lambda call: done(add_pasted(parse(PasteBody, call.payload).text).as_json()))


@post("/candidates/retry", RetryBody, schemas.RetriedAnswer)
def retry_candidates(request: HttpRequest) -> Any:
    """Make failed candidates pending again with 0 attempts."""

    def act(call: Call) -> tuple[int, dict[str, Any]]:
        body = parse(RetryBody, call.payload)
        if bool(body.note_ids) == body.all:
            raise invalid(BAD_IDS, "note_ids")
        if body.all:
            return done({"retried": actions.retry_failed(), "not_failed": []})
        failed = Candidate.objects.filter(status=CandidateStatus.FAILED, note_id__in=body.note_ids)
        known = set(failed.values_list("note_id", flat=True))
        others = [one for one in dict.fromkeys(body.note_ids) if one not in known]
        return done({"retried": actions.retry_failed(known), "not_failed": others})

    return answered(request, act)
