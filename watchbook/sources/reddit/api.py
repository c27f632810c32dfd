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
from watchbook.sources.reddit import actions, shapes

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
    hours: int = 48
    days: int = 0


class CommunityPatch(Schema):
    tier: str | None = None
    is_active: bool | None = None


@router.get("/communities")
def communities(request: HttpRequest, page: Query[CommunitiesQuery]) -> dict[str, Any]:
    """By name. `state` keeps one kind: active, inactive, gap or overdue."""
    rows = actions.communities(words=page.q, tier=page.tier, state=page.state)
    return keyset(rows, page, by="community_name", make=shapes.community_out)


@router.get("/communities/{path:name}")
def community(request: HttpRequest, name: str) -> dict[str, Any]:
    """One community with its newest posts; `r/webdev` and `webdev` are the same."""
    row = _found(name)
    return {**shapes.community_out(row), "posts": actions.newest(row.community_name)}


@router.patch("/communities/{path:name}", auth=staff)
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
    return shapes.community_out(row)


@router.get("/posts")
def posts(request: HttpRequest, page: Query[PostsQuery]) -> dict[str, Any]:
    """Current texts, newest first. `state` keeps one kind: live, removed, deleted or edited."""
    wanted = actions.PostFilter(page.community, page.author, page.state, page.q, page.since, page.least_score)
    return keyset(actions.posts(wanted), page, by="-created_at", make=shapes.post_out)


@router.get("/posts/{source_post_id}/versions")
def versions(request: HttpRequest, source_post_id: str) -> dict[str, Any]:
    """Every text the post had, oldest first; a text that came back is there again."""
    try:
        current = actions.post(source_post_id)
    except actions.Unknown:
        raise NotFound from None
    items = [asdict(one) for one in actions.versions(source_post_id)]
    return {"post": shapes.post_out(current), "items": items, "next": None}


@router.get("/metrics")
def metrics(request: HttpRequest, wanted: Query[HoursQuery]) -> dict[str, Any]:
    """The last `hours` hours that were measured, and with `days` as many days; oldest first."""
    hours = min(max(wanted.hours, 0), 24 * 60)
    days = min(max(wanted.days, 0), 1000)
    return {
        "items": [shapes.metrics_out(row) for row in actions.hours(hours)],
        "days": [shapes.day_out(row) for row in actions.days(days)],
        "next": None,
    }


def _found(name: str) -> Any:
    try:
        return actions.community(name)
    except actions.Unknown:
        raise NotFound from None
