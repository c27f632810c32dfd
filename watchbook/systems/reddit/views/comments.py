"""The list of comments, and one thread: the post, the folded tree of its comments, and what is new to the reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.dateparse import parse_datetime
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from watchbook.base import clock
from watchbook.core.accounts.access import person_of, viewer_scopes
from watchbook.core.accounts.audit import export
from watchbook.core.search import query as queries
from watchbook.core.search.find import Hit
from watchbook.kit.badges import Badge
from watchbook.systems.reddit import actions, filters
from watchbook.systems.reddit.actions import comments as threads
from watchbook.systems.reddit.actions.comments import ShownNode, Thread
from watchbook.systems.reddit.models import Comment, CommentVersion
from watchbook.systems.reddit.models.comments import COMMENT_KIND
from watchbook.systems.reddit.parse import to_html
from watchbook.systems.reddit.records import (
    author_path,
    comment_path,
    community_path,
    post_path,
    reddit_link,
    thread_path,
)
from watchbook.systems.reddit.views.page_header import POST_ID, page_context, post_badges, removed_text, title_text

PER_PAGE = 30
# Branches below this depth are folded, unless they hold something new.
OPEN_DEPTH = 3
MOST_EARLIER = 200


@dataclass(frozen=True)
class CommentRow:
    """A row of the list; `hit` is the search hit, if words were searched."""

    row: Comment
    badges: list[Badge]
    removed: str
    hit: Hit | None = None

    @property
    def title(self) -> str:
        return self.row.thread_title or self.row.subreddit

    @property
    def path(self) -> str:
        return comment_path(self.row.post_id, self.row.comment_id)

    @property
    def community_path(self) -> str:
        return community_path(self.row.subreddit)


def comment_rows(rows: Sequence[Comment], hits: Sequence[Hit] = ()) -> list[CommentRow]:
    found = {hit.object_id: hit for hit in hits}
    return [CommentRow(row, post_badges(row), removed_text(row), found.get(row.comment_id)) for row in rows]


@require_GET
def comments(request: HttpRequest) -> HttpResponseBase:
    scopes = viewer_scopes(request.user)
    listing = filters.comments(request.GET, scopes)
    if file := export(request, listing):
        return file
    if listing.found:
        cursor = request.GET.get("cursor", "")
        words = listing.chosen.values["q"]
        found = filters.search(words, listing.rows, scopes, kind=COMMENT_KIND, limit=PER_PAGE, cursor=cursor)
        listing.found_on_page(len(found.rows), is_more=bool(found.next or cursor))
        shown: dict[str, Any] = {"rows": comment_rows(found.rows, found.hits), "next": found.next, "query": found.query}
    else:
        shown = {"page": listing.page, "rows": comment_rows(listing.page.items)}
    context = {**page_context(request, "comments"), "listing": listing, "longest": queries.MAX_QUERY, **shown}
    return render(request, "reddit/comments.html", context)


@dataclass(frozen=True)
class CommentView:
    """A comment of the tree as shown on the page."""

    shown: ShownNode
    html: SafeString
    badges: list[Badge]
    removed: str
    is_open: bool
    is_focus: bool
    earlier: Sequence[CommentVersion]
    children: Sequence[CommentView]

    @property
    def row(self) -> Comment:
        return self.shown.row

    @property
    def author_path(self) -> str:
        return author_path(self.row.author)

    @property
    def path(self) -> str:
        return comment_path(self.row.post_id, self.row.comment_id)

    @property
    def source_url(self) -> str:
        return reddit_link(self.row.post_id, self.row.comment_id)

    @property
    def answers(self) -> int:
        return self.shown.node.size - 1


def _views(nodes: Sequence[ShownNode], focus: str) -> list[CommentView]:
    earlier = _earlier(nodes)
    return [_view(one, focus, earlier) for one in nodes]


def _view(one: ShownNode, focus: str, earlier: Mapping[int, Sequence[CommentVersion]]) -> CommentView:
    row = one.row
    return CommentView(
        shown=one,
        html=mark_safe(to_html(row.content)),  # noqa: S308 - cleaned by nh3
        badges=post_badges(row),
        removed=removed_text(row),
        is_open=one.depth < OPEN_DEPTH or bool(one.node.new) or bool(focus),
        is_focus=row.comment_id == focus,
        earlier=earlier.get(row.pk, ()),
        children=[_view(child, focus, earlier) for child in one.children],
    )


def _earlier(nodes: Sequence[ShownNode]) -> dict[int, list[CommentVersion]]:
    """Return earlier texts of the comments of a page, in one query."""
    waiting, edited = list(nodes), []
    while waiting:
        one = waiting.pop()
        waiting += one.children
        edited += [one.row.pk] if one.row.version > 1 and not one.row.blanked_at else []
    found: dict[int, list[CommentVersion]] = {}
    if edited:
        for version in CommentVersion.objects.filter(comment_id__in=edited).order_by("-version")[:MOST_EARLIER]:
            found.setdefault(version.comment_id, []).append(version)
    return found


@require_GET
def thread(request: HttpRequest, post_id: str) -> HttpResponse:
    found = _thread_or_404(request, post_id)
    focus = request.GET.get("comment", "")
    branch = threads.branch_with(found, focus) if focus in found.nodes else None
    pages = threads.pages(found.roots)
    number = min(_number(request.GET.get("page", "")), len(pages))
    nodes = threads.shown([branch] if branch else pages[number - 1])
    post, now = found.post, clock.now()
    context: dict[str, Any] = {
        **page_context(request, "comments"),
        "found": found,
        "post": post,
        "title": title_text(post) if post else found.title or _("Thread %(id)s") % {"id": post_id},
        "badges": post_badges(post) if post else [],
        "html": mark_safe(to_html(post.content)) if post else "",  # noqa: S308 - cleaned by nh3
        "path": thread_path(post_id),
        "post_path": post_path(post_id),
        "community_path": community_path(found.subreddit),
        "source_url": reddit_link(post_id),
        "is_branch": branch is not None,
        "comments": _views(nodes, focus if branch else ""),
        "number": number,
        "last_page": len(pages),
        "looked_now": now.isoformat(),
        "missing": _missing(found),
    }
    return render(request, "reddit/thread.html", context)


def _thread_or_404(request: HttpRequest, post_id: str) -> Thread:
    if POST_ID.fullmatch(post_id) is None:
        raise Http404
    try:
        return threads.thread(post_id, person_of(request))
    except actions.Unknown:
        raise Http404 from None


def _missing(found: Thread) -> int:
    """Return how many comments Reddit counts that are not stored: older ones, removed ones, or missed ones."""
    return max(0, found.post.num_comments - found.count) if found.post else 0


def _number(text: str) -> int:
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 6 else 1


@require_POST
def looked(request: HttpRequest, post_id: str) -> HttpResponse:
    """Note that the user saw the thread as it was at `at`."""
    _thread = _thread_or_404(request, post_id)
    person = person_of(request)
    if person is not None:
        threads.look(person, _thread.post_id, _moment(request.POST.get("at", "")))
    if getattr(request, "htmx", False):
        return HttpResponse(status=204)
    return redirect(thread_path(post_id))


def _moment(text: str) -> datetime:
    """Return the moment that the page named; anything else is now."""
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    return moment if moment is not None and moment.tzinfo is not None else clock.now()
