"""The list of posts, the posts of one author, and one post with its versions and their differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import pgettext
from django.views.decorators.http import require_GET

from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.accounts.audit import export
from watchbook.core.search import query as queries
from watchbook.core.search.find import Hit
from watchbook.kit import formatting
from watchbook.kit.badges import Badge
from watchbook.kit.charts import Chart, Series, lines
from watchbook.kit.diff import Difference, compare
from watchbook.kit.lists import Shown
from watchbook.kit.paging import keyset
from watchbook.systems.reddit import actions, filters, options
from watchbook.systems.reddit.actions import Version
from watchbook.systems.reddit.models import Comment, FoundBy, PostPoint, PostRaw
from watchbook.systems.reddit.parse import to_html
from watchbook.systems.reddit.records import author_path, community_path, post_path, reddit_link
from watchbook.systems.reddit.store.files import pictures
from watchbook.systems.reddit.views.page_header import (
    AUTHOR,
    REASONS,
    page_context,
    post_badges,
    post_or_404,
    removed_text,
    title_text,
)

PER_PAGE = 30


@dataclass(frozen=True)
class PostRow:
    """A row of the list; `hit` is the search hit, if words were searched."""

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

    @property
    def rising(self) -> str:
        return rising_text(self.row)

    @property
    def author_path(self) -> str:
        return author_path(self.row.author)


def post_rows(rows: Sequence[PostRaw], hits: Sequence[Hit] = ()) -> list[PostRow]:
    found = {hit.object_id: hit for hit in hits}
    return [
        PostRow(row, title_text(row), post_badges(row), removed_text(row), found.get(row.source_post_id))
        for row in rows
    ]


@require_GET
def posts(request: HttpRequest) -> HttpResponseBase:
    listing = filters.posts(request.GET, viewer_scopes(request.user))
    if file := export(request, listing):
        return file
    shown = _by_words(request, listing) if listing.found else _by_time(listing)
    context = {**page_context(request, "posts"), "listing": listing, "longest": queries.MAX_QUERY, **shown}
    return render(request, "reddit/posts.html", context)


def _by_time(listing: Shown[PostRaw]) -> dict[str, Any]:
    return {"page": listing.page, "post_rows": post_rows(listing.page.items)}


def _by_words(request: HttpRequest, listing: Shown[PostRaw]) -> dict[str, Any]:
    words, cursor = listing.chosen.values["q"], request.GET.get("cursor", "")
    found = filters.search(words, listing.rows, viewer_scopes(request.user), limit=PER_PAGE, cursor=cursor)
    listing.found_on_page(len(found.rows), is_more=bool(found.next or cursor))
    return {"post_rows": post_rows(found.rows, found.hits), "next": found.next, "query": found.query}


@require_GET
def author(request: HttpRequest, author: str) -> HttpResponse:
    """Stored posts of one author. A name in other case leads to the name as Reddit writes it."""
    if AUTHOR.fullmatch(author) is None:
        raise Http404
    try:
        found = actions.author(author)
    except actions.Unknown:
        raise Http404 from None
    if found.author != author:
        return redirect(author_path(found.author))
    page = keyset(actions.posts().filter(author=found.author), request.GET, by="created_at", size=PER_PAGE)
    context = {
        **page_context(request, "posts"),
        "found": found,
        "homes": [(home, community_path(home), count) for home, count in found.communities],
        "page": page,
        "post_rows": post_rows(page.items),
    }
    return render(request, "reddit/author.html", context)


MAX_REPOSTS = 10


@dataclass(frozen=True)
class ShownVersion:
    """A version as shown on the page."""

    version: Version
    is_current: bool

    @property
    def number(self) -> int:
        return self.version.number

    @property
    def name(self) -> str:
        return (_("version %(n)s, current") if self.is_current else _("version %(n)s")) % {"n": self.number}

    @property
    def reason(self) -> str:
        return str(REASONS.get(self.version.reason, self.version.reason))

    @property
    def text(self) -> str:
        """Return title and text; both are compared."""
        return f"{self.version.title}\n\n{self.version.content}".strip()


@dataclass(frozen=True)
class Comparison:
    old: ShownVersion
    new: ShownVersion
    diff: Difference
    side: SafeString


@require_GET
def post(request: HttpRequest, post_id: str) -> HttpResponse:
    row = post_or_404(post_id)
    found = [ShownVersion(one, is_current=one.valid_to is None) for one in actions.versions(row.source_post_id)]
    last = found[-1].number if found else 1
    chosen = _number(request, "to", last)
    by_number = {one.number: one for one in found}
    if found and chosen not in by_number:
        raise Http404
    context: dict[str, Any] = {
        **page_context(request, "posts"),
        "row": row,
        "path": post_path(row.source_post_id),
        "community_path": community_path(row.subreddit),
        "author_path": author_path(row.author),
        "honors_deletions": options.HONOR_DELETIONS.value,
        "title": title_text(row),
        "badges": post_badges(row),
        "removed": removed_text(row),
        "versions": found[::-1],
        "chosen": by_number.get(chosen),
        "comparison": _comparison(row, by_number, _number(request, "from", max(chosen - 1, 1)), chosen),
        "found_by": FoundBy(row.found_by).label if row.found_by in FoundBy.values else row.found_by,
        "html": mark_safe(to_html(by_number[chosen].version.content)) if chosen in by_number else "",  # noqa: S308
        "parent": _parent(row),
        "pictures": pictures(row),
        "poll": row.extra_data.get("poll"),
        "link": _link(row),
        "edited_at": _edited_at(row),
        "source_url": reddit_link(row.source_post_id),
        "curve": curve(actions.points(row.source_post_id)),
        "rising": rising_text(row),
        "stored_comments": Comment.objects.filter(post_id=row.source_post_id).count(),
        "reposts": [] if row.blanked_at else post_rows(list(actions.same_text(row)[:MAX_REPOSTS])),
    }
    return render(request, "reddit/post.html", context)


def rising_text(row: PostRaw) -> str:
    """Return how much faster than usual a post gains points, or nothing if it does not rise."""
    if row.rising < actions.RISING_FROM:
        return ""
    return _("rising: %(n)s times the usual points per hour") % {"n": formatting.number_text(round(row.rising, 1))}


def curve(points: Sequence[PostPoint]) -> Chart | None:
    """Draw score and comments at each check; one point alone is no curve."""
    if len(points) < 2:
        return None
    series = [
        Series(pgettext("chart", "score"), [point.score for point in points], "sys-reddit"),
        Series(pgettext("chart", "comments"), [point.num_comments for point in points], "c-h3"),
    ]
    label = _("Score and comments at %(n)s checks; last score %(score)s.") % {
        "n": len(points), "score": formatting.number_text(points[-1].score)
    }  # fmt: skip
    return lines([point.at for point in points], series, label=label, place="half")


def _comparison(row: PostRaw, versions: dict[int, ShownVersion], old: int, new: int) -> Comparison | None:
    """Compare two versions, or return None if the text was erased or there is only one version."""
    if row.blanked_at or old not in versions or new not in versions or old == new:
        return None
    first, second = versions[min(old, new)], versions[max(old, new)]
    side = render_to_string("reddit/_diff_side.html", {"new": second, "edited_at": _edited_at(row)})
    return Comparison(first, second, compare(first.text, second.text), side)


def _number(request: HttpRequest, name: str, otherwise: int) -> int:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 else otherwise


def _parent(row: PostRaw) -> dict[str, Any] | None:
    """Return the parent of a crosspost with its text as HTML."""
    parent = row.extra_data.get("crosspost")
    if not isinstance(parent, dict):
        return None
    html = mark_safe(to_html(parent.get("text", "")))  # noqa: S308 - cleaned by nh3
    return {**parent, "html": html, "link": reddit_link(str(parent["id"])) if parent.get("id") else ""}


def _link(row: PostRaw) -> str:
    """Return the link of a link post if it is an HTTP URL."""
    url = str(row.extra_data.get("url", ""))
    return url if url.startswith(("http://", "https://")) else ""


def _edited_at(row: PostRaw) -> datetime | None:
    """Return the edit time given by Reddit, which has none for edits within the first minutes."""
    try:
        return datetime.fromisoformat(str(row.extra_data.get("edited_at", "")))
    except ValueError:
        return None
