"""Topics, their floors, and the versions of a floor."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query
from pydantic import field_validator

from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.api.errors import Invalid
from watchbook.core.api.paging import PageQuery, keyset
from watchbook.core.cursors import BadPlace
from watchbook.sources.nga import counting, finding
from watchbook.sources.nga.api.router import router
from watchbook.sources.nga.api.shapes import (
    PostPage,
    RevisionOut,
    RevisionPage,
    ThreadPage,
    ThreadWhole,
    post_out,
    thread_out,
)
from watchbook.sources.nga.finding import COLUMNS, CREATED, LAST_REPLY, BadCursor, Wanted
from watchbook.sources.nga.models import Post, PostRevision, ThreadTag
from watchbook.sources.nga.models.by_reply import by_reply
from watchbook.sources.nga.models.forum import ThreadQuerySet

LARGEST = 2**63 - 1
MISSING_LISTED = 1000


class ThreadsQuery(PageQuery):
    fid: int | None = None
    order: str = CREATED
    q: str = ""
    tag: str = ""
    prefix: str = ""
    author: str = ""
    author_id: int | None = None
    pinned: bool = False
    digest: bool = False
    gaps: bool = False
    deleted: bool = False
    truncated: bool = False
    skipped: bool = False
    since: date | None = None
    until: date | None = None

    @field_validator("order")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in COLUMNS:
            raise ValueError("order is created or last_reply")
        return value


class ThreadPostsQuery(PageQuery):
    fid: int | None = None
    author_id: int | None = None
    from_floor: int = 0


@router.get("/threads", response=ThreadPage, exclude_unset=True)
def threads(request: HttpRequest, page: Query[ThreadsQuery]) -> dict[str, Any]:
    """Threads (topics), newest first by `order` (created, last_reply); with `q` those with all words, titles first."""
    wanted = Wanted.of(page.dict())
    boards = finding.boards()
    if page.q:
        return _search(request, wanted, page)
    rows = finding.topics_of(wanted, boards)
    return (
        _by_last_reply(rows, page)
        if wanted.order == LAST_REPLY
        else keyset(rows, page, by="-thread_created_at", make=thread_out)
    )


def _by_last_reply(rows: ThreadQuerySet, page: PageQuery) -> dict[str, Any]:
    try:
        piece = by_reply(rows, size=page.limit, older=page.cursor)
    except BadPlace:
        raise _bad_cursor() from None
    return {"items": [thread_out(thread) for thread in piece.items], "next": piece.older or None}


def _bad_cursor() -> Invalid:
    return Invalid("The cursor is not one that this list gave out.", code="bad_cursor")


def _search(request: HttpRequest, wanted: Wanted, page: PageQuery) -> dict[str, Any]:
    try:
        found = finding.search(
            wanted, finding.boards(), viewer_scopes(request.user), limit=page.limit, cursor=page.cursor
        )
    except BadCursor:
        raise _bad_cursor() from None
    items = [
        thread_out(match.thread) | {"is_title_hit": match.hit.is_title_hit, "excerpt": _text(match.hit.body_parts)}
        for match in found.items
    ]
    return {"items": items, "next": found.next or None}


def _text(parts: Any) -> str:
    return "".join(part.text for part in parts)


@router.get("/threads/{int:tid}", response=ThreadWhole)
def thread(request: HttpRequest, tid: int, fid: int | None = None) -> dict[str, Any]:
    """One thread (topic) with its tags, how many floors are stored and which are missing."""
    found = finding.thread(tid, fid)
    tags = ThreadTag.objects.filter(thread_maps__thread=found).order_by("pk")
    missing = counting.missing_numbers(found)
    state = getattr(found, "reading_state", None)
    return thread_out(found) | {
        "tags": [{"tag_text": tag.tag_text, "tag_source": tag.tag_source} for tag in tags[:200]],
        "stored_post_count": counting.stored_counts([found.pk]).get(found.pk, 0),
        "missing_floor_count": len(missing),
        "missing_floor_numbers": missing[:MISSING_LISTED],
        "is_newest_first": bool(state and state.is_newest_first),
        "gone_at": state.gone_at if state else None,
    }


@router.get("/threads/{int:tid}/posts", response=PostPage)
def posts(request: HttpRequest, tid: int, page: Query[ThreadPostsQuery]) -> dict[str, Any]:
    """Posts (floors) of a topic in the order of their numbers, from `from_floor` on; `author_id` keeps one author."""
    rows = Post.objects.filter(thread=finding.thread(tid, page.fid)).with_version_counts().with_parents()
    if page.author_id is not None:
        rows = rows.filter(author_source_user_id=min(max(page.author_id, 0), LARGEST))
    if page.from_floor > 0:
        rows = rows.filter(floor_number__gte=min(page.from_floor, 2**31 - 1))
    return keyset(rows, page, by="floor_number", make=post_out)


@router.get("/posts/{int:post_id}/revisions", response=RevisionPage)
def revisions(request: HttpRequest, post_id: int, page: Query[PageQuery]) -> dict[str, Any]:
    """What a post (floor) said before, newest first; each with the reason why it was replaced."""
    post = get_object_or_404(Post.objects.only("pk"), pk=min(post_id, LARGEST))
    rows = PostRevision.objects.filter(post_id=post.pk)
    return keyset(rows, page, by="-id", make=RevisionOut.of)
