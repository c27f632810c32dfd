"""Communities, posts and metrics for programs. Members read; operators switch communities."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from watchbook.core.api.errors import Invalid, NotFound
from watchbook.core.api.gate import staff
from watchbook.core.api.paging import PageQuery, keyset
from watchbook.sources.reddit import actions
from watchbook.sources.reddit.api.shapes import (
    CommunityOut,
    CommunityPage,
    CommunityWhole,
    DayOut,
    HourOut,
    MetricsOut,
    PostVersionList,
    RedditPostPage,
    post_out,
)

router = Router()


# Longer than what anybody looks for; a database refuses a pattern of many thousand characters.
Words = Annotated[str, Field(max_length=200)]


class CommunitiesQuery(PageQuery):
    q: Words = ""
    tier: Literal["", "tier1", "tier2", "tier3"] = ""
    state: Literal["", "active", "inactive", "gap", "overdue"] = ""


class PostsQuery(PageQuery):
    community: Words = ""
    author: Words = ""
    state: Literal["", "live", "removed", "deleted", "edited"] = ""
    q: Words = ""
    since: datetime | None = None
    least_score: int | None = None


class HoursQuery(Schema):
    hours: int = Field(default=48, ge=0, le=24 * 60)
    days: int = Field(default=0, ge=0, le=1000)


class CommunityPatch(Schema):
    tier: str | None = None
    is_active: bool | None = None


@router.get("/communities", response=CommunityPage)
def communities(request: HttpRequest, page: Query[CommunitiesQuery]) -> dict[str, Any]:
    """By name. `state` keeps one kind: active, inactive, gap or overdue."""
    rows = actions.communities(words=page.q, tier=page.tier, state=page.state)
    return keyset(rows, page, by="community_name", make=CommunityOut.of)


@router.get("/communities/{path:name}", response=CommunityWhole)
def community(request: HttpRequest, name: str) -> dict[str, Any]:
    """One community with its newest posts; `r/webdev` and `webdev` are the same."""
    row = _found(name)
    return CommunityWhole.of(row, posts=actions.newest(row.community_name))


@router.patch("/communities/{path:name}", auth=staff, response=CommunityOut)
def change(request: HttpRequest, name: str, body: CommunityPatch) -> dict[str, Any]:
    """Operators: the wished tier (high, medium, low), and whether it is watched at all."""
    row = _found(name)
    try:
        if body.tier is not None:
            row = actions.set_wish(row.community_name, body.tier, actor=request.user)
        if body.is_active is not None:
            row = actions.set_active(row.community_name, body.is_active, actor=request.user)
    except actions.WrongValue as error:
        raise Invalid(error.message, details=[{"field": error.field, "message": error.message}]) from None
    return CommunityOut.of(row)


@router.get("/posts", response=RedditPostPage)
def posts(request: HttpRequest, page: Query[PostsQuery]) -> dict[str, Any]:
    """Current texts, newest first. `state` keeps one kind: live, removed, deleted or edited."""
    wanted = actions.PostFilter(page.community, page.author, page.state, page.q, page.since, page.least_score)
    return keyset(actions.posts(wanted), page, by="-created_at", make=post_out)


@router.get("/posts/{source_post_id}/versions", response=PostVersionList)
def versions(request: HttpRequest, source_post_id: str) -> dict[str, Any]:
    """Every text the post had, oldest first; a text that came back is there again."""
    try:
        current = actions.post(source_post_id)
    except actions.Unknown:
        raise NotFound from None
    items = [asdict(one) for one in actions.versions(source_post_id)]
    return {"post": post_out(current), "items": items, "next": None}


@router.get("/metrics", response=MetricsOut)
def metrics(request: HttpRequest, wanted: Query[HoursQuery]) -> dict[str, Any]:
    """The last `hours` hours that were measured, and with `days` as many days; oldest first."""
    return {
        "items": [HourOut.of(row) for row in actions.hours(wanted.hours)],
        "days": [DayOut.of(row) for row in actions.days(wanted.days)],
        "next": None,
    }


def _found(name: str) -> Any:
    try:
        return actions.community(name)
    except actions.Unknown:
        raise NotFound from None
