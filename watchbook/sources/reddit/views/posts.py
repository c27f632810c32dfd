"""Posts of all communities, newest first or by words; every filter is a part of the address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import pgettext
from django.views.decorators.http import require_GET

from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.search import query as queries
from watchbook.core.search.find import Hit
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.paging import keyset
from watchbook.sources.reddit import finding
from watchbook.sources.reddit.finding import Wanted
from watchbook.sources.reddit.models import PostRaw
from watchbook.sources.reddit.places import community_path, post_path
from watchbook.sources.reddit.views.head import head
from watchbook.sources.reddit.views.words import post_badges, removed_text, title_text

PER_PAGE = 30


@dataclass(frozen=True)
class Line:
    """A post as a line of a list; `hit` is what was found in it, when words were asked for."""

    row: PostRaw
    title: str
    badges: list[Badge]
    removed: str
    hit: Hit | None = None

    @property
    def path(self) -> str:
        return post_path(self.row.source_post_id)

    @property
    def community_path(self) -> str:
        return community_path(self.row.subreddit)


def lines_of(rows: Sequence[PostRaw], hits: Sequence[Hit] = ()) -> list[Line]:
    found = {hit.object_id: hit for hit in hits}
    return [
        Line(row, title_text(row), post_badges(row), removed_text(row), found.get(row.source_post_id)) for row in rows
    ]


@require_GET
def posts(request: HttpRequest) -> HttpResponse:
    wanted = Wanted.of(request.GET)
    shown = _by_words(request, wanted) if wanted.q else _by_time(request, wanted)
    context = {
        **head(request, "posts"),
        "wanted": wanted,
        "states": _states(),
        "longest": queries.MAX_QUERY,
        **shown,
    }
    return render(request, "reddit/posts.html", context)


def _by_time(request: HttpRequest, wanted: Wanted) -> dict[str, Any]:
    page = keyset(wanted.rows(), request.GET, by="created_at", size=PER_PAGE)
    return {"page": page, "lines": lines_of(page.items)}


def _by_words(request: HttpRequest, wanted: Wanted) -> dict[str, Any]:
    scopes = viewer_scopes(request.user)
    found = finding.search(wanted, scopes, limit=PER_PAGE, cursor=request.GET.get("cursor", ""))
    return {"lines": lines_of(found.posts, found.hits), "next": found.next, "query": found.query}


def _states() -> list[tuple[str, str]]:
    return [
        ("live", pgettext("posts", "Still there")),
        ("edited", pgettext("posts", "Edited")),
        ("removed", pgettext("posts", "Removed")),
        ("deleted", pgettext("posts", "Deleted by author")),
    ]
