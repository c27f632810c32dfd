"""The list of a board: two orders, filters, thirty topics a page; and the search in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.cursors import BadPlace
from watchbook.core.search import query as queries
from watchbook.core.ui.paging import Page, keyset, with_values
from watchbook.sources.nga import finding
from watchbook.sources.nga.finding import LAST_REPLY, BadCursor, Match, Matches, Wanted
from watchbook.sources.nga.models import Forum, Thread, ThreadTag
from watchbook.sources.nga.models.by_reply import by_reply
from watchbook.sources.nga.views.chips import chips
from watchbook.sources.nga.views.head import head
from watchbook.sources.nga.views.rows import Row, rows_of

PER_PAGE = 30
TAGS_OFFERED = 80


@require_GET
def topics(request: HttpRequest) -> HttpResponse:
    wanted = Wanted.of(request.GET)
    if wanted.q:
        return redirect(f"{reverse('nga:search')}{with_values(request.GET)}")
    shown = head(request, "topics", wanted.fid)
    page = _page(request, wanted, [shown["forum"]] if shown["forum"] else [])
    context = {**shown, **_filters(request, wanted), "page": page, "rows": rows_of(page.items)}
    return render(request, "nga/topics.html", context)


def _page(request: HttpRequest, wanted: Wanted, forums: list[Forum]) -> Page[Thread]:
    rows = finding.topics_of(wanted, forums).select_related("reading_state")
    if wanted.order != LAST_REPLY:
        return keyset(rows, request.GET, by=wanted.column, size=PER_PAGE)
    asked = {name: request.GET.get(name, "") for name in ("older", "newer")}
    try:
        piece = by_reply(rows, size=PER_PAGE, **asked)
    except BadPlace:
        piece = by_reply(rows, size=PER_PAGE)
    return Page(list(piece.items), newer=piece.newer, older=piece.older)


def _filters(request: HttpRequest, wanted: Wanted) -> dict[str, Any]:
    texts = list(ThreadTag.objects.order_by("pk").values_list("tag_text", flat=True)[:TAGS_OFFERED])
    return {
        "wanted": wanted,
        "chips": chips(wanted, request.GET),
        "tags": sorted({*texts, *([wanted.tag] if wanted.tag else [])}),
        "by_created": with_values(request.GET, order=""),
        "by_reply": with_values(request.GET, order=LAST_REPLY),
        # What the form leaves alone and must carry along.
        "kept": [(name, request.GET[name]) for name in KEPT if request.GET.get(name)],
    }


KEPT = ("fid", "order", "prefix", "author_id", "pinned", "digest", "gaps", "deleted", "truncated", "skipped")


@dataclass(frozen=True)
class Found:
    """A match and its line in a list."""

    match: Match
    row: Row

    @property
    def body(self) -> str:
        return "".join(part.text for part in self.match.hit.body_parts)


@require_GET
def search(request: HttpRequest) -> HttpResponse:
    wanted = Wanted.of(request.GET)
    shown = head(request, "search", wanted.fid)
    matches = _search(request, wanted, [shown["forum"]] if shown["forum"] else [])
    lines = rows_of([match.thread for match in matches.items])
    context = {
        **shown,
        **_filters(request, wanted),
        "query": matches.query,
        "next": matches.next,
        "found": [Found(match, row) for match, row in zip(matches.items, lines, strict=True)],
        "longest": queries.MAX_QUERY,
    }
    return render(request, "nga/search.html", context)


def _search(request: HttpRequest, wanted: Wanted, forums: list[Forum]) -> Matches:
    asked = {"scopes": viewer_scopes(request.user), "limit": PER_PAGE}
    try:
        return finding.search(wanted, forums, cursor=request.GET.get("cursor", ""), **asked)  # type: ignore[arg-type]
    except BadCursor:
        return finding.search(wanted, forums, **asked)  # type: ignore[arg-type]
