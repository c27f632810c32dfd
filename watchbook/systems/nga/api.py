"""API of the forum, under /api/v1/nga. Every token can read; operators can start runs."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any, Literal
from uuid import UUID

from django.http import FileResponse, Http404, HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Schema
from ninja.responses import Status
from pydantic import Field, field_validator

from watchbook.core.accounts.access import person_of, viewer_scopes
from watchbook.core.accounts.audit import export
from watchbook.core.api.auth import staff
from watchbook.core.api.errors import Invalid
from watchbook.core.api.lists import (
    DaysQuery,
    ListQuery,
    MirrorQuery,
    PageQuery,
    asks_for_changes,
    is_mirror,
    keyset,
    mirrored,
    refuse_unknown,
)
from watchbook.core.api.shell import refuses, sends_file
from watchbook.core.jobs.api import STARTED, started
from watchbook.systems.nga import actions, filters
from watchbook.systems.nga.export.responses import topic_file, topics_zip
from watchbook.systems.nga.filters import COLUMNS, CREATED, LAST_REPLY, NOTHING, Filters, by_reply, run_sums
from watchbook.systems.nga.models import (
    CrawlRun,
    CrawlRunThread,
    FloorRepair,
    FollowedAuthor,
    Forum,
    Post,
    PostRevision,
    Subscription,
    ThreadFloorAuditPost,
    ThreadFloorAuditRun,
    ThreadFloorAuditThread,
    ThreadTag,
)
from watchbook.systems.nga.models.forum import ThreadQuerySet
from watchbook.systems.nga.schemas import (
    AuditDetail,
    AuditFloorOut,
    AuditFloorPage,
    AuditOut,
    AuditPage,
    AuditThreadOut,
    AuditThreadPage,
    CrawlOut,
    CrawlPage,
    CrawlThreadPage,
    FollowedAuthorOut,
    FollowedAuthorPage,
    ForumOut,
    ForumPage,
    PostFoundPage,
    PostPage,
    RevisionOut,
    RevisionPage,
    SubscriptionOut,
    SubscriptionPage,
    ThreadDetail,
    ThreadPage,
    found_out,
    post_out,
    run_out,
    run_thread_out,
    subscription_out,
    thread_out,
)

router = Router()


LARGEST = 2**63 - 1
MISSING_LISTED = 1000


class ThreadsQuery(DaysQuery):
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
    outdated: bool = Field(default=False, description="Only topics with a page that was not read for 7 days.")
    deleted: bool = False
    followed: bool = False
    truncated: bool = False
    skipped: bool = False
    days: Literal["", "today", "7d", "last_week", "range"] = ""
    zip: Literal["", "html", "markdown", "epub", "jsonl"] = Field(
        "", description="A zip with the posts of each topic as a file of this form, up to NGA_EXPORT_TOPICS topics."
    )

    @field_validator("order")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in COLUMNS:
            raise ValueError("order is created or last_reply")
        return value


class ForumSearchQuery(ListQuery):
    q: str = Field(min_length=1, description="Words that must all occur.")
    fid: int | None = None
    tid: int | None = None
    opening: bool = Field(default=False, description="Only titles and opening posts.")
    tag: str = ""
    prefix: str = ""
    author: str = Field(default="", description="Author of the post that was found.")
    author_id: int | None = None
    pinned: bool = False
    digest: bool = False
    gaps: bool = False
    outdated: bool = False
    deleted: bool = False
    followed: bool = False
    days: Literal["", "today", "7d", "last_week", "range"] = ""
    since: date | None = None
    until: date | None = None


class ThreadPostsQuery(MirrorQuery):
    fid: int | None = None
    author_id: int | None = None
    from_floor: int = 0


@router.get("/threads", response=ThreadPage, exclude_unset=True)
def threads(request: HttpRequest, page: Query[ThreadsQuery]) -> Any:
    """List threads (topics), newest first by `order` (created, last_reply). With `q`: what matches, titles first."""
    is_changes = is_mirror(page)
    if is_changes and page.q:
        raise Invalid(details=[{"field": "q", "message": "not together with a cursor in since"}])
    asked = page.dict() | ({"since": ""} if is_changes else {})
    selected = Filters.of(asked)
    boards = filters.boards()
    shown = filters.listing(selected, boards, asked, viewer_scopes(request.user))
    refuse_unknown(shown)
    if is_changes:
        return mirrored(filters.topics_of(selected, boards), filters.CHANGED, page, make=thread_out)
    if file := export(request, shown) or topics_zip(request, shown, page.zip):
        return file
    if page.q:
        return _search(request, selected, page)
    rows = filters.topics_of(selected, boards)
    return (
        _by_last_reply(rows, page)
        if selected.order == LAST_REPLY
        else keyset(rows, page, by="-thread_created_at", make=thread_out)
    )


@router.get("/search", response=PostFoundPage)
def search(request: HttpRequest, page: Query[ForumSearchQuery]) -> Any:
    """Search titles and every post; each post is a match of its own. Titles first, then the newest."""
    selected = Filters.of(page.dict(), filters.FOUND)
    scopes = viewer_scopes(request.user)
    if file := export(request, filters.found_listing(selected, filters.boards(), page.dict(), scopes)):
        return file
    found = filters.search(selected, filters.boards(), scopes, limit=page.limit, cursor=page.cursor, in_posts=True)
    return {"items": [found_out(match) for match in found.items], "next": found.next or None}


def _by_last_reply(rows: ThreadQuerySet, page: PageQuery) -> dict[str, Any]:
    piece = by_reply(rows, size=page.limit, older=page.cursor)
    return {"items": [thread_out(thread) for thread in piece.items], "next": piece.older or None}


def _search(request: HttpRequest, selected: Filters, page: PageQuery) -> dict[str, Any]:
    found = filters.search(
        selected, filters.boards(), viewer_scopes(request.user), limit=page.limit, cursor=page.cursor
    )
    items = [
        thread_out(match.thread) | {"is_title_hit": match.hit.is_title_hit, "excerpt": _text(match.hit.body_parts)}
        for match in found.items
    ]
    return {"items": items, "next": found.next or None}


def _text(parts: Any) -> str:
    return "".join(part.text for part in parts)


@router.get("/threads/{int:tid}", response=ThreadDetail)
def thread(request: HttpRequest, tid: int, fid: int | None = None) -> dict[str, Any]:
    """Get one thread (topic) with its tags, the number of stored posts and the missing ones."""
    found = filters.thread(tid, fid)
    tags = ThreadTag.objects.filter(thread_maps__thread=found).order_by("pk")
    missing = filters.missing_numbers(found)
    state, following = getattr(found, "reading_state", None), getattr(found, "following", None)
    return thread_out(found) | {
        "tags": [{"tag_text": tag.tag_text, "tag_source": tag.tag_source} for tag in tags[:200]],
        "stored_post_count": filters.stored_counts([found.pk]).get(found.pk, 0),
        "missing_floor_count": len(missing),
        "missing_floor_numbers": missing[:MISSING_LISTED],
        "is_newest_first": bool(state and state.is_newest_first),
        "gone_at": state.gone_at if state else None,
        "followed_since": following.followed_at if following else None,
        "next_check_at": following.next_check_at if following else None,
        "pages": [{"page_number": number, "read_at": at} for number, at in sorted(found.read_times().items())],
    }


@router.get(
    "/threads/{int:tid}/export",
    openapi_extra=sends_file("application/octet-stream", "The topic with all stored posts as a file."),
)
def export_thread(
    request: HttpRequest, tid: int, form: Literal["html", "markdown", "epub", "jsonl"], fid: int | None = None
) -> FileResponse:
    """Get one thread (topic) as a file: `html` with pictures, `markdown` (a zip with pictures), `epub` or `jsonl`."""
    return topic_file(request, filters.thread(tid, fid), form)


class TopicIn(Schema):
    topic: str = Field(max_length=500, description="Topic number, or an address that contains tid=.")
    follow: bool = Field(default=False, description="Check the topic for new posts until it is quiet.")


@router.post("/threads", auth=staff, response=STARTED)
def archive(request: HttpRequest, body: TopicIn) -> Status[dict[str, Any]]:
    """Queue a crawl of any topic by number or address; its board need not be archived."""
    try:
        return started(actions.archive_topic(body.topic, follow=body.follow, request=request))
    except actions.InvalidTopic as error:
        raise Invalid(error.message, code="topic") from None


@router.post("/threads/{int:tid}/follow", auth=staff, response=ThreadDetail)
def follow(request: HttpRequest, tid: int, fid: int | None = None) -> dict[str, Any]:
    """Check a topic for new posts until it is quiet. Following it again changes nothing."""
    actions.follow(filters.thread(tid, fid), request=request)
    return thread(request, tid, fid)


@router.delete("/threads/{int:tid}/follow", auth=staff, response=ThreadDetail)
def unfollow(request: HttpRequest, tid: int, fid: int | None = None) -> dict[str, Any]:
    """End following a topic. Its posts stay in the archive."""
    actions.unfollow(filters.thread(tid, fid), request=request)
    return thread(request, tid, fid)


class AuthorIn(Schema):
    author: str = Field(max_length=500, description="Author number, or an address that contains uid= or authorid=.")
    author_name: str = Field(default="", max_length=80, description="Shown until the site names the author.")
    with_past: bool = Field(default=False, description="Archive the older topics that the site lists, too.")


@router.get("/authors", response=FollowedAuthorPage)
def authors(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    """List the followed authors."""
    return keyset(FollowedAuthor.objects.all(), page, by="author_source_user_id", make=FollowedAuthorOut.of)


@router.post("/authors", auth=staff, response=FollowedAuthorOut)
def follow_author(request: HttpRequest, body: AuthorIn) -> dict[str, Any]:
    """Follow an author: new topics and replies are archived, in whichever board, as far as the site lists them."""
    try:
        followed = actions.follow_author(body.author, body.author_name, with_past=body.with_past, request=request)
        return FollowedAuthorOut.of(followed)
    except actions.InvalidAuthor as error:
        raise Invalid(error.message, code="author") from None


@router.delete("/authors/{int:uid}", auth=staff, response={204: None})
def unfollow_author(request: HttpRequest, uid: int) -> Status[None]:
    """End following an author. Archived topics stay."""
    if not actions.unfollow_author(min(uid, LARGEST), request=request):
        raise Http404
    return Status(204, None)


class SubscriptionIn(Schema):
    notifies_posts: bool = Field(default=True, description="Notify of new posts.")
    notifies_edits: bool = Field(default=True, description="Notify of edited posts.")
    is_starter_only: bool = Field(default=False, description="Of a topic: only posts of its author.")
    channel_ids: list[UUID] = Field(default=[], max_length=50, description="Own channels; empty: none is sent.")


@router.get("/subscriptions", response=SubscriptionPage)
def subscriptions(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    """List the topics and authors of which you are notified."""
    rows = Subscription.objects.of(person_of(request)).select_related("thread").prefetch_related("channels")
    return keyset(rows, page, by="id", make=subscription_out)


@router.put("/threads/{int:tid}/subscription", response=SubscriptionOut)
def subscribe(request: HttpRequest, tid: int, body: SubscriptionIn, fid: int | None = None) -> dict[str, Any]:
    """Be notified of new and edited posts of a thread (topic). A second time changes the choice."""
    found = filters.thread(tid, fid)
    return subscription_out(actions.subscribe(person_of(request), thread=found, **body.dict(), request=request))


@router.delete("/threads/{int:tid}/subscription", response={204: None})
def unsubscribe(request: HttpRequest, tid: int, fid: int | None = None) -> Status[None]:
    """End the notifications of a thread (topic)."""
    return _end(request, thread=filters.thread(tid, fid))


@router.put("/threads/{int:tid}/authors/{int:uid}/subscription", response=SubscriptionOut)
def subscribe_author(
    request: HttpRequest, tid: int, uid: int, body: SubscriptionIn, fid: int | None = None
) -> dict[str, Any]:
    """Be notified of an author of this thread (topic): new and edited posts in all archived topics."""
    name = filters.author_name(filters.thread(tid, fid), uid)
    if name is None:
        raise Http404
    values = body.dict()
    return subscription_out(actions.subscribe(person_of(request), author=(uid, name), **values, request=request))


@router.delete("/threads/{int:tid}/authors/{int:uid}/subscription", response={204: None})
def unsubscribe_author(request: HttpRequest, tid: int, uid: int, fid: int | None = None) -> Status[None]:
    """End the notifications of an author."""
    filters.thread(tid, fid)
    return _end(request, author_source_user_id=min(uid, LARGEST))


def _end(request: HttpRequest, **key: Any) -> Status[None]:
    found = get_object_or_404(Subscription.objects.of(person_of(request)), **key)
    actions.unsubscribe(found, request=request)
    return Status(204, None)


@router.get("/threads/{int:tid}/posts", response=PostPage)
def posts(request: HttpRequest, tid: int, page: Query[ThreadPostsQuery]) -> dict[str, Any]:
    """List the posts of a thread by number, starting at `from_floor`; `author_id` filters by author."""
    rows = Post.objects.filter(thread=filters.thread(tid, page.fid)).with_version_counts().with_parents()
    rows = rows.select_related("facts")
    if page.author_id is not None:
        rows = rows.filter(author_source_user_id=min(max(page.author_id, 0), LARGEST))
    if page.from_floor > 0:
        rows = rows.filter(floor_number__gte=min(page.from_floor, 2**31 - 1))
    if asks_for_changes(page):
        return mirrored(rows, filters.CHANGED, page, make=post_out)
    return keyset(rows, page, by="floor_number", make=post_out)


@router.get("/posts/{int:post_id}/revisions", response=RevisionPage)
def revisions(request: HttpRequest, post_id: int, page: Query[PageQuery]) -> dict[str, Any]:
    """List earlier versions of a post, newest first, each with the reason why it was replaced."""
    post = get_object_or_404(Post.objects.only("pk"), pk=min(post_id, LARGEST))
    rows = PostRevision.objects.filter(post_id=post.pk)
    return keyset(rows, page, by="-id", make=RevisionOut.of)


class ForumIn(Schema):
    source_forum_id: int
    forum_name: str = ""


class ForumPatch(Schema):
    forum_name: str | None = None
    crawl_page_limit: int | None = None
    request_rate_limit_per_sec: Decimal | None = None


@router.get("/forums", response=ForumPage)
def forums(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    """List forums (boards) with page limit and rate limit."""
    return keyset(Forum.objects.select_related("single_topics"), page, by="id", make=ForumOut.of)


@router.post("/forums", auth=staff, response={201: ForumOut}, openapi_extra=refuses(409))
def add(request: HttpRequest, body: ForumIn) -> Status[dict[str, Any]]:
    """Add a board. The next run crawls it."""
    forum = actions.add_forum(body.source_forum_id, body.forum_name, request=request)
    return Status(201, ForumOut.of(forum))


@router.patch("/forums/{int:forum_id}", auth=staff, response=ForumOut)
def change(request: HttpRequest, forum_id: int, body: ForumPatch) -> dict[str, Any]:
    """Change the name, page limit or rate limit of a board."""
    forum = get_object_or_404(Forum, pk=forum_id)
    given = body.dict(exclude_none=True)
    actions.change_forum(
        forum,
        name=given.get("forum_name", forum.forum_name or ""),
        crawl_page_limit=given.get("crawl_page_limit", forum.crawl_page_limit),
        request_rate_limit_per_sec=given.get("request_rate_limit_per_sec", forum.request_rate_limit_per_sec),
        request=request,
    )
    return ForumOut.of(forum)


# Limits of the nested lists of one audit; the separate endpoints are paged.
TOPICS_LISTED, FLOORS_LISTED = 200, 1000


class FloorsQuery(PageQuery):
    tid: int | None = None
    status: Literal[""] | FloorRepair = ""


class CrawlIn(Schema):
    fid: int | None = None


class AuditIn(Schema):
    repair: bool = False


@router.get("/runs", response=CrawlPage)
def runs(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    """List runs, newest first, with counts of scanned topics, new posts, failures and requests."""
    found = keyset(CrawlRun.objects.select_related("forum", "result"), page, by="-id")
    sums = run_sums([run.pk for run in found["items"]])
    return found | {"items": [run_out(run, sums.get(run.pk, NOTHING)) for run in found["items"]]}


@router.get("/runs/{int:run_id}", response=CrawlOut)
def run(request: HttpRequest, run_id: int) -> dict[str, Any]:
    """Get one run with its counters."""
    found = get_object_or_404(CrawlRun.objects.select_related("forum", "result"), pk=min(run_id, LARGEST))
    return run_out(found, run_sums([found.pk]).get(found.pk, NOTHING))


@router.get("/runs/{int:run_id}/threads", response=CrawlThreadPage)
def run_threads(request: HttpRequest, run_id: int, page: Query[PageQuery]) -> dict[str, Any]:
    """List the results of a run for each thread (topic), in crawl order."""
    found = get_object_or_404(CrawlRun, pk=min(run_id, LARGEST))
    rows = CrawlRunThread.objects.filter(crawl_run=found).select_related("thread")
    return keyset(rows, page, by="id", make=run_thread_out)


@router.get("/audits", response=AuditPage)
def audits(request: HttpRequest, page: Query[PageQuery]) -> dict[str, Any]:
    """List audits with their counters, newest first."""
    return keyset(ThreadFloorAuditRun.objects.all(), page, by="-id", make=AuditOut.of)


@router.get("/audits/{int:audit_id}", response=AuditDetail)
def audit(request: HttpRequest, audit_id: int) -> dict[str, Any]:
    """Get one audit with its first 200 threads and 1,000 posts. The separate lists have all of them."""
    found = _audit(audit_id)
    topics = found.threads.order_by("pk")[:TOPICS_LISTED]
    floors = found.posts.order_by("pk")[:FLOORS_LISTED]
    return AuditDetail.of(
        found,
        threads=[AuditThreadOut.of(row) for row in topics],
        floors=[AuditFloorOut.of(row) for row in floors],
    )


@router.get("/audits/{int:audit_id}/threads", response=AuditThreadPage)
def audit_threads(request: HttpRequest, audit_id: int, page: Query[PageQuery]) -> dict[str, Any]:
    """List the threads (topics) of an audit that have missing posts, with the repair result."""
    rows = ThreadFloorAuditThread.objects.filter(audit_run=_audit(audit_id))
    return keyset(rows, page, by="id", make=AuditThreadOut.of)


@router.get("/audits/{int:audit_id}/floors", response=AuditFloorPage)
def audit_floors(request: HttpRequest, audit_id: int, page: Query[FloorsQuery]) -> dict[str, Any]:
    """List the missing posts of an audit; `tid` filters by topic, `status` by result."""
    rows = ThreadFloorAuditPost.objects.filter(audit_run=_audit(audit_id))
    if page.tid is not None:
        rows = rows.filter(source_thread_id=min(max(page.tid, 0), LARGEST))
    if page.status:
        rows = rows.filter(repair_status=page.status)
    return keyset(rows, page, by="id", make=AuditFloorOut.of)


def _audit(audit_id: int) -> ThreadFloorAuditRun:
    return get_object_or_404(ThreadFloorAuditRun, pk=min(audit_id, LARGEST))


@router.post("/crawl", auth=staff, response=STARTED)
def crawl(request: HttpRequest, body: CrawlIn) -> Status[dict[str, Any]]:
    """Queue a crawl of one board or of all boards. Returns the run that is already queued or running, if any."""
    return started(actions.crawl_run(body.fid, request=request))


@router.post("/audit", auth=staff, response=STARTED)
def start_audit(request: HttpRequest, body: AuditIn) -> Status[dict[str, Any]]:
    """Queue an audit; `repair` also fetches missing posts. Returns the run already queued or running, if any."""
    return started(actions.audit_run(repair=body.repair, request=request))


@router.post("/threads/{int:tid}/read", auth=staff, response=STARTED)
def read(request: HttpRequest, tid: int, fid: int | None = None) -> Status[dict[str, Any]]:
    """Queue a crawl of one thread (topic). Returns the run that is already queued or running, if any."""
    return started(actions.read_run(filters.thread(tid, fid), request=request))
