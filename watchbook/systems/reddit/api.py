"""API of Reddit, under /api/v1/reddit."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import ConfigDict, Field

from watchbook.core.accounts.access import person_of, viewer_scopes
from watchbook.core.accounts.audit import export
from watchbook.core.api.auth import staff
from watchbook.core.api.errors import NotFound
from watchbook.core.api.lists import (
    MIRRORED,
    DaysQuery,
    ListQuery,
    PageQuery,
    is_mirror,
    keyset,
    listed,
    refuse_unknown,
    show,
)
from watchbook.core.api.shell import refuses
from watchbook.kit.paging import InvalidCursor, decode_cursor, encode_cursor
from watchbook.systems.reddit import actions, filters
from watchbook.systems.reddit.actions import authors
from watchbook.systems.reddit.actions import comments as threads
from watchbook.systems.reddit.actions import selected as many
from watchbook.systems.reddit.models import (
    Comment,
    CommunityCache,
    CommunityPool,
    Crawl,
    CrawlMetrics,
    PostRaw,
)
from watchbook.systems.reddit.models.comments import COMMENT_KIND
from watchbook.systems.reddit.pool import MAX_TAGS
from watchbook.systems.reddit.records import reddit_link
from watchbook.systems.reddit.schemas import (
    AuthorErased,
    AuthorOut,
    CommentListingOut,
    CommentVersionList,
    CommentVersionOut,
    CommunitiesEdited,
    CommunityListed,
    CommunityOut,
    CommunityPage,
    CommunityWhole,
    DayOut,
    HourOut,
    MetricsOut,
    PointList,
    PointOut,
    PostVersionList,
    RedditCommentOut,
    RedditCommentPage,
    RedditCrawlOut,
    RedditCrawlPage,
    RedditPostOut,
    RedditPostPage,
    ThreadOut,
)


def post_out(row: PostRaw) -> dict[str, Any]:
    return RedditPostOut.of(row, link=reddit_link(row.source_post_id))


def comment_out(row: Comment) -> dict[str, Any]:
    return RedditCommentOut.of(row, link=reddit_link(row.post_id, row.comment_id))


def metrics_out(row: CrawlMetrics) -> dict[str, Any]:
    return HourOut.of(row)


router = Router()

# First part of the cursors of a list of versions.
VERSIONS = "versions"


# Databases refuse search patterns of many thousand characters.
Words = Annotated[str, Field(max_length=200)]


class CommunitiesQuery(ListQuery):
    q: Words = ""
    tag: Words = ""
    tier: Literal["", "tier1", "tier2", "tier3"] = ""
    state: Literal["", "active", "inactive", "gap", "overdue"] = ""
    days: str = Field("", description="Last crawl: today, 7d, last_week, or range with `since` and `until`.")
    since: str = Field("", description=f"First day of the range. {MIRRORED}")
    until: str = Field("", description="Last day of the range, which counts whole.")


class PostsQuery(DaysQuery):
    community: Words = ""
    tag: Words = ""
    author: Words = ""
    state: Literal["", "live", "removed", "deleted", "edited"] = ""
    q: Words = ""
    rising: bool = Field(False, description="Only posts that gain points at least twice as fast as usual.")
    least_score: int | None = None
    order: Literal["", "newest", "rising"] = ""


class CommentsQuery(DaysQuery):
    community: Words = ""
    tag: Words = ""
    author: Words = ""
    thread: Words = Field("", description="ID of a post: only the comments of its thread.")
    state: Literal["", "live", "removed", "deleted", "edited"] = ""
    q: Words = ""
    least_score: int | None = None


class CrawlsQuery(DaysQuery):
    q: Words = ""
    community: Words = ""
    kind: Literal["", "new", "full", "top", "comments", "comments_full"] = ""
    outcome: Words = ""
    gap: bool = False


class HoursQuery(Schema):
    limit: int = Field(default=24 * 60, ge=1, le=24 * 60, description="Maximum number of hours and of days.")
    hours: int = Field(default=48, ge=0, le=24 * 60)
    days: int = Field(default=0, ge=0, le=1000)


class CommunityPatch(Schema):
    model_config = ConfigDict(extra="forbid")

    tier: str | None = None
    is_active: bool | None = None
    categories: list[Words] | None = Field(default=None, max_length=MAX_TAGS)
    comments: bool | None = Field(None, description="Crawl the comments. Null: as REDDIT_COMMENTS says.")


class CommunityIn(Schema):
    model_config = ConfigDict(extra="forbid")

    name: Words = Field(description="Name or address: webdev, r/webdev or https://www.reddit.com/r/webdev/.")
    tier: str = "medium"
    categories: list[Words] = Field(default=[], max_length=MAX_TAGS)
    comments: bool | None = Field(None, description="Crawl the comments. Null: as REDDIT_COMMENTS says.")


@router.get("/communities", response=CommunityPage)
def communities(request: HttpRequest, page: Query[CommunitiesQuery]) -> Any:
    """List communities by name. `state` is active, inactive, gap or overdue."""
    if is_mirror(page):
        return listed(request, filters.COMMUNITIES, CommunityCache.objects.all(), page, make=CommunityOut.of)
    shown = show(filters.COMMUNITIES, CommunityCache.objects.all(), page, order="name")
    return export(request, shown) or keyset(shown.rows, page, by="community_name", make=CommunityOut.of)


@router.post("/communities", auth=staff, response={201: CommunityListed}, openapi_extra=refuses(409))
def add(request: HttpRequest, body: CommunityIn) -> Status[dict[str, Any]]:
    """Add one community by name or address. Its first crawl is queued. Operators only."""
    row = actions.add_community(body.name, priority=body.tier, tags=body.categories, actor=person_of(request))
    if body.comments is not None:
        threads.set_comments(row.community_name, body.comments, actor=person_of(request))
    return Status(201, _with_list(CommunityListed, row))


class CommunitiesEdit(Schema):
    model_config = ConfigDict(extra="forbid")

    names: list[Words] = Field(min_length=1, max_length=many.MOST)
    is_active: bool | None = None
    tier: str = Field(default="", description="high, medium or low")
    add_tags: list[Words] = Field(default=[], max_length=MAX_TAGS)
    remove_tags: list[Words] = Field(default=[], max_length=MAX_TAGS)


@router.post("/bulk", auth=staff, response=CommunitiesEdited)
def change_many(request: HttpRequest, body: CommunitiesEdit) -> dict[str, Any]:
    """Change priority or tags of many communities, or enable or disable them. All or none. Operators only."""
    chosen = many.communities(body.names)
    unused = many.unused_tags(chosen, body.remove_tags)
    changed = many.change_many(
        chosen, is_active=body.is_active, priority=body.tier, add_tags=body.add_tags,
        remove_tags=body.remove_tags, actor=person_of(request),
    )  # fmt: skip
    return {"changed": changed, "added_tags": actions.checked_tags(body.add_tags), "unused_tags": unused}


@router.get("/communities/{path:name}", response=CommunityWhole)
def community(request: HttpRequest, name: str) -> dict[str, Any]:
    """Get one community with its newest posts. `r/webdev` and `webdev` are the same."""
    row = _found(name)
    return _with_list(CommunityWhole, row, posts=actions.newest(row.community_name))


@router.delete("/communities/{path:name}", auth=staff, response={204: None})
def remove(request: HttpRequest, name: str) -> Status[None]:
    """Remove a community from the list. Its stored posts are kept. Operators only."""
    actions.remove_community(_found(name).community_name, actor=person_of(request))
    return Status(204, None)


@router.patch("/communities/{path:name}", auth=staff, response=CommunityListed)
def change(request: HttpRequest, name: str, body: CommunityPatch) -> dict[str, Any]:
    """Change the priority (`tier`: high, medium or low), tags or comments, or enable or disable the community.

    Operators only.
    """
    row = _found(name)
    if "comments" in body.model_fields_set:
        row = threads.set_comments(row.community_name, body.comments, actor=person_of(request))
    if body.categories is not None:
        row = actions.set_tags(row.community_name, body.categories, actor=person_of(request))
    if body.tier is not None:
        row = actions.set_priority(row.community_name, body.tier, actor=request.user)
    if body.is_active is not None:
        row = actions.set_active(row.community_name, body.is_active, actor=request.user)
    return _with_list(CommunityListed, row)


def _with_list(answer: type[CommunityListed], row: CommunityCache, **more: Any) -> dict[str, Any]:
    """The community with what the list says of it."""
    listed_row = CommunityPool.objects.filter(name=row.community_name).first()
    tags = listed_row.categories if listed_row else []
    listing = threads.listing_of(row)
    comments = CommentListingOut.of(listing, is_crawled=threads.is_crawled(listing)) if listing else None
    priority = listed_row.tier if listed_row else ""
    return answer.of(row, priority=priority, categories=tags, comments=comments, **more)


@router.get("/authors/{author}", response=AuthorOut)
def author_numbers(request: HttpRequest, author: str) -> dict[str, Any]:
    """Get the numbers of one author. `GET /reddit/posts?author=` lists the posts."""
    try:
        found = actions.author(author)
    except actions.Unknown:
        raise NotFound from None
    homes = [{"community_name": home, "posts": count} for home, count in found.communities]
    return {**asdict(found), "communities": homes}


class ErasureIn(Schema):
    model_config = ConfigDict(extra="forbid")

    reason: str = Field(default="", max_length=authors.MAX_REASON, description="For the audit log.")


@router.post("/authors/{author}/erase", auth=staff, response=AuthorErased)
def erase_author(request: HttpRequest, author: str, body: ErasureIn) -> Any:
    """Erase all posts and comments of an author in every version, and store nothing of the author again.

    Operators only.
    """
    return asdict(authors.erase_author(author, reason=body.reason, actor=person_of(request)))


@router.post("/authors/{author}/allow", auth=staff, response={204: None})
def allow_author(request: HttpRequest, author: str) -> Status[None]:
    """Store posts and comments of an erased author again. Operators only."""
    if not authors.allow_author(author, actor=person_of(request)):
        raise NotFound
    return Status(204, None)


@router.get("/posts", response=RedditPostPage)
def posts(request: HttpRequest, page: Query[PostsQuery]) -> Any:
    """List posts with their current text, newest first. `state` is live, removed, deleted or edited.

    `q` searches titles and texts; matches in titles come first. A moment in `since` is inclusive, in `until`
    exclusive. `author` accepts `name` and `u/name`.
    """
    if page.q and not is_mirror(page):
        return _search(request, page)
    return listed(request, filters.POSTS, filters.every_post(), page, make=post_out)


@router.get("/posts/{source_post_id}/versions", response=PostVersionList)
def versions(request: HttpRequest, source_post_id: str, page: Query[PageQuery]) -> dict[str, Any]:
    """List all versions of a post, oldest first. A restored text appears again."""
    try:
        current = actions.post(source_post_id)
    except actions.Unknown:
        raise NotFound from None
    found = [one for one in actions.versions(source_post_id) if one.number > _version_after(page.cursor)]
    shown = found[: page.limit]
    more = encode_cursor([VERSIONS, str(shown[-1].number)]) if len(found) > len(shown) else None
    return {"post": post_out(current), "items": [asdict(one) for one in shown], "next": more}


@router.get("/posts/{source_post_id}/points", response=PointList)
def points(request: HttpRequest, source_post_id: str) -> dict[str, Any]:
    """List score and comments of a post when it was first seen and at each recheck, oldest first."""
    try:
        actions.post(source_post_id)
    except actions.Unknown:
        raise NotFound from None
    return {"items": [PointOut.of(point) for point in actions.points(source_post_id)], "next": None}


@router.get("/comments", response=RedditCommentPage)
def comments(request: HttpRequest, page: Query[CommentsQuery]) -> Any:
    """List comments with their current text, newest first. `state` is live, removed, deleted or edited.

    `q` searches texts and titles of threads. A moment in `since` is inclusive, in `until` exclusive.
    """
    if page.q and not is_mirror(page):
        return _search_comments(request, page)
    return listed(request, filters.COMMENTS, Comment.objects.all(), page, make=comment_out)


@router.get("/comments/{comment_id}/versions", response=CommentVersionList)
def comment_versions(request: HttpRequest, comment_id: str, page: Query[PageQuery]) -> dict[str, Any]:
    """List all versions of a comment, oldest first. The last one is the current text."""
    try:
        current = threads.comment(comment_id)
    except actions.Unknown:
        raise NotFound from None
    found = [one for one in threads.versions(current) if one.number > _version_after(page.cursor)]
    more = encode_cursor([VERSIONS, str(found[page.limit - 1].number)]) if len(found) > page.limit else None
    items = [CommentVersionOut.of(one) for one in found[: page.limit]]
    return {"comment": comment_out(current), "items": items, "next": more}


@router.get("/threads/{source_post_id}", response=ThreadOut)
def thread(request: HttpRequest, source_post_id: str, page: Query[PageQuery]) -> dict[str, Any]:
    """Get one thread: the post, if it is stored, and its comments, oldest first. `parent_id` gives the tree."""
    rows = Comment.objects.filter(post_id=source_post_id)
    post = PostRaw.objects.current().of([source_post_id]).first()
    first = rows.exclude(thread_title="").first()
    if post is None and not rows.exists():
        raise NotFound
    title = post.title if post else first.thread_title if first else ""
    whole = post_out(post) if post else None
    return {
        "post_id": source_post_id,
        "title": title,
        "post": whole,
        **keyset(rows, page, by="created_at", make=comment_out),
    }


@router.get("/crawls", response=RedditCrawlPage)
def crawls(request: HttpRequest, page: Query[CrawlsQuery]) -> Any:
    """List crawls of communities with their outcome, newest first."""
    return listed(request, filters.CRAWLS, Crawl.objects.all(), page, make=RedditCrawlOut.of)


@router.get("/metrics", response=MetricsOut)
def metrics(request: HttpRequest, wanted: Query[HoursQuery]) -> dict[str, Any]:
    """List the last `hours` hours and the last `days` days with data, oldest first."""
    return {
        "items": [HourOut.of(row) for row in actions.hours(min(wanted.hours, wanted.limit))],
        "days": [DayOut.of(row) for row in actions.days(min(wanted.days, wanted.limit))],
        "next": None,
    }


def _search(request: HttpRequest, page: PostsQuery) -> Any:
    scopes = viewer_scopes(request.user)
    shown = filters.posts(page.dict(), scopes)
    refuse_unknown(shown)
    if file := export(request, shown):
        return file
    found = filters.search(page.q, shown.rows, scopes, limit=page.limit, cursor=page.cursor, strict=True)
    return {"items": [post_out(row) for row in found.rows], "next": found.next or None}


def _search_comments(request: HttpRequest, page: CommentsQuery) -> Any:
    scopes = viewer_scopes(request.user)
    shown = filters.comments(page.dict(), scopes)
    refuse_unknown(shown)
    if file := export(request, shown):
        return file
    found = filters.search(
        page.q, shown.rows, scopes, kind=COMMENT_KIND, limit=page.limit, cursor=page.cursor, strict=True
    )
    return {"items": [comment_out(row) for row in found.rows], "next": found.next or None}


def _version_after(cursor: str) -> int:
    """Return the version number after which the page starts."""
    if not cursor:
        return 0
    kind, number = decode_cursor(cursor, 2)
    if kind != VERSIONS or not number.isascii() or not number.isdigit():
        raise InvalidCursor
    return int(number)


def _found(name: str) -> Any:
    try:
        return actions.community(name)
    except actions.Unknown:
        raise NotFound from None
