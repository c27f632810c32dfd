"""The boards that are archived and how politely each is asked."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Schema
from ninja.responses import Status

from watchbook.core.api.document import refuses
from watchbook.core.api.errors import Conflict, Invalid
from watchbook.core.api.gate import staff
from watchbook.core.api.paging import PageQuery, keyset
from watchbook.sources.nga import actions
from watchbook.sources.nga.actions import WrongForum
from watchbook.sources.nga.api.router import router
from watchbook.sources.nga.api.shapes import ForumOut, ForumPage
from watchbook.sources.nga.models import Forum


class ForumIn(Schema):
    source_forum_id: int
    forum_name: str = ""


class ForumPatch(Schema):
    forum_name: str | None = None
    crawl_page_limit: int | None = None
    request_rate_limit_per_sec: Decimal | None = None


@router.get("/forums", response=ForumPage)
def forums(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    """The forums (boards) with their page limit and pace."""
    return keyset(Forum.objects.all(), page, by="id", make=ForumOut.of)


@router.post("/forums", auth=staff, response={201: ForumOut}, openapi_extra=refuses(409))
def add(request: HttpRequest, body: ForumIn) -> Status[dict[str, Any]]:
    """Archive one more board from the next run on."""
    try:
        forum = actions.add_forum(body.source_forum_id, body.forum_name, request=request)
    except WrongForum as error:
        raise _problem(error) from None
    return Status(201, ForumOut.of(forum))


@router.patch("/forums/{int:forum_id}", auth=staff, response=ForumOut)
def change(request: HttpRequest, forum_id: int, body: ForumPatch) -> dict[str, Any]:
    """Change what a board is called, its pages a run and its pace."""
    forum = get_object_or_404(Forum, pk=forum_id)
    given = body.dict(exclude_none=True)
    try:
        actions.change_forum(
            forum,
            name=given.get("forum_name", forum.forum_name or ""),
            crawl_page_limit=given.get("crawl_page_limit", forum.crawl_page_limit),
            request_rate_limit_per_sec=given.get("request_rate_limit_per_sec", forum.request_rate_limit_per_sec),
            request=request,
        )
    except WrongForum as error:
        raise _problem(error) from None
    return ForumOut.of(forum)


def _problem(error: WrongForum) -> Conflict | Invalid:
    kind = Conflict if error.code == "exists" else Invalid
    return kind(error.message, code=error.code)
