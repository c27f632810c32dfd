"""API endpoints for comments on pages and passages, and for watching."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status

from watchbook.core.accounts.access import person_of
from watchbook.systems.library import actions
from watchbook.systems.library.api.schemas import PageThreadList, PageThreadOut, PageWatchOut, thread_out
from watchbook.systems.library.api.workspaces import CHANGING
from watchbook.systems.library.models import CommentThread

router = Router()


class PageThreadsQuery(Schema):
    resolved: bool = False


class PageCommentIn(Schema):
    text: str
    # The passage that the comment is about; empty for the whole page.
    quote: str = ""


class PageReplyIn(Schema):
    text: str


@router.get("/pages/{uuid:page_id}/comments", response=PageThreadList)
def comments(request: HttpRequest, page_id: UUID, asked: Query[PageThreadsQuery]) -> dict[str, Any]:
    """List the open comment threads of a page, oldest first; with `resolved` those that were resolved."""
    found = actions.list_threads(person_of(request), page_id, resolved=asked.resolved)
    return {"items": [thread_out(thread) for thread in found], "next": None}


@router.post("/pages/{uuid:page_id}/comments", response={201: PageThreadOut}, openapi_extra=CHANGING)
def comment(request: HttpRequest, page_id: UUID, body: PageCommentIn) -> Status[dict[str, Any]]:
    """Comment on a page or on a passage of it. Members named with @ are notified."""
    made = actions.add_comment(person_of(request), page_id, words=body.text, quote=body.quote)
    return Status(201, _whole(made.thread))


@router.post("/threads/{uuid:thread_id}/replies", response={201: PageThreadOut}, openapi_extra=CHANGING)
def reply(request: HttpRequest, thread_id: UUID, body: PageReplyIn) -> Status[dict[str, Any]]:
    """Reply in a comment thread. A resolved thread is open again."""
    return Status(201, _whole(actions.reply_to(person_of(request), thread_id, words=body.text).thread))


@router.post("/threads/{uuid:thread_id}/resolve", response=PageThreadOut, openapi_extra=CHANGING)
def resolve(request: HttpRequest, thread_id: UUID) -> dict[str, Any]:
    """Resolve a comment thread. For editors, and for the member who began it."""
    return _whole(actions.resolve_thread(person_of(request), thread_id))


@router.post("/threads/{uuid:thread_id}/reopen", response=PageThreadOut, openapi_extra=CHANGING)
def reopen(request: HttpRequest, thread_id: UUID) -> dict[str, Any]:
    """Open a resolved comment thread again."""
    return _whole(actions.resolve_thread(person_of(request), thread_id, resolved=False))


@router.put("/pages/{uuid:page_id}/watch", response=PageWatchOut, openapi_extra=CHANGING)
def watch(request: HttpRequest, page_id: UUID) -> dict[str, Any]:
    """Watch a page, or a folder with everything in it: you are notified of changes and comments."""
    actions.set_watch(person_of(request), page_id, watched=True)
    return {"page_id": page_id, "watched": True}


@router.delete("/pages/{uuid:page_id}/watch", response=PageWatchOut, openapi_extra=CHANGING)
def unwatch(request: HttpRequest, page_id: UUID) -> dict[str, Any]:
    """Stop watching a page or folder."""
    actions.set_watch(person_of(request), page_id, watched=False)
    return {"page_id": page_id, "watched": False}


def _whole(thread: CommentThread) -> dict[str, Any]:
    thread.refresh_from_db(fields=["resolved_at"])
    return thread_out(thread)
