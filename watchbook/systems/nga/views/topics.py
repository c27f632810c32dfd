"""The topic list of a board, its rows, and the search.

Topics as files to take away: one topic, or the topics of a list as a zip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, FilteredRelation, OuterRef, Q, Subquery
from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from watchbook.core.accounts.access import viewer_scopes
from watchbook.core.accounts.audit import export
from watchbook.core.search import query as queries
from watchbook.kit.badges import Badge
from watchbook.kit.formatting import number_text
from watchbook.kit.lists import Shown
from watchbook.kit.lists.shown import ExportLink
from watchbook.kit.paging import InvalidCursor, Page, keyset, with_values
from watchbook.systems.nga import filters, options
from watchbook.systems.nga.export.files import FORMS
from watchbook.systems.nga.export.responses import topic_file, topics_zip
from watchbook.systems.nga.filters import LAST_REPLY, Filters, Match, Matches, by_reply
from watchbook.systems.nga.models import Forum, Post, Thread
from watchbook.systems.nga.models.forum import floor_url, path
from watchbook.systems.nga.views.page_header import (
    Opening,
    gap_count,
    head,
    is_newest_first,
    own_title,
    title_prefixes,
    titles,
    topic_badges,
)

# Side by side, the worst one last.
MOST_BADGES = 3


@dataclass(frozen=True)
class Row:
    thread: Thread
    title: str
    prefixes: list[str]
    floors: int
    stored: str
    badges: list[Badge]


def rows_of(threads: Sequence[Thread]) -> list[Row]:
    floors = _floors([thread.pk for thread in threads])
    return [_row(thread, *floors[thread.pk]) for thread in threads]


def _floors(ids: Sequence[int]) -> dict[int, tuple[int, Opening]]:
    """Return the number of stored posts of each topic and the state of its opening post."""
    counted = Post.objects.filter(thread=OuterRef("pk")).order_by().values("thread").annotate(number=Count("pk"))
    found = Thread.objects.filter(pk__in=ids).annotate(
        stored=Subquery(counted.values("number")),
        opening=FilteredRelation("posts", condition=Q(posts__floor_number=0)),
    )
    columns = ("pk", "stored", "opening__is_deleted_by_source", "opening__content_last_changed_at")
    return {
        pk: (stored or 0, Opening(bool(is_deleted), changed_at is not None))
        for pk, stored, is_deleted, changed_at in found.values_list(*columns)
    }


def _row(thread: Thread, stored: int, opening: Opening) -> Row:
    gaps = gap_count(thread, stored)
    floors = max(thread.reply_count_display + 1, stored + gaps)
    return Row(
        thread=thread,
        title=own_title(thread),
        prefixes=title_prefixes(thread.title),
        floors=floors,
        stored=_stored_text(thread, stored, floors),
        badges=topic_badges(thread, gaps, opening)[-MOST_BADGES:],
    )


def _stored_text(thread: Thread, stored: int, floors: int) -> str:
    if thread.is_skipped_by_page_total_limit and not stored:
        return _("not crawled")
    if thread.crawl_backfill_next_page_number is not None and thread.crawl_page_total_last_seen:
        owed, total = thread.crawl_backfill_next_page_number, thread.crawl_page_total_last_seen
        read = max(total - owed, 0) if is_newest_first(thread) else owed - 1
        return _("page %(n)s of %(all)s") % {"n": number_text(read), "all": number_text(total)}
    if stored >= floors:
        return _("all stored")
    return _("%(n)s stored") % {"n": number_text(stored)}


PER_PAGE = 30


@require_GET
def topics(request: HttpRequest) -> HttpResponseBase:
    selected = Filters.of(request.GET)
    if selected.q:
        return redirect(f"{reverse('nga:search')}{with_values(request.GET)}")
    shown = head(request, "topics", selected.fid)
    forums = [shown["forum"]] if shown["forum"] else []
    listing = filters.listing(selected, forums, request.GET)
    if file := export(request, listing) or topics_zip(request, listing, request.GET.get("zip", "")):
        return file
    page = _page(request, selected, forums)
    context = {**shown, "selected": selected, "listing": listing, "page": page, "rows": rows_of(page.items)}
    context["more_exports"] = zip_links(listing)
    return render(request, "nga/topics.html", context)


def _page(request: HttpRequest, selected: Filters, forums: list[Forum]) -> Page[Thread]:
    rows = filters.topics_of(selected, forums).select_related("reading_state")
    if selected.order != LAST_REPLY:
        return keyset(rows, request.GET, by=selected.column, size=PER_PAGE)
    asked = {name: request.GET.get(name, "") for name in ("older", "newer")}
    try:
        piece = by_reply(rows, size=PER_PAGE, **asked)
    except InvalidCursor:
        piece = by_reply(rows, size=PER_PAGE)
    return Page(list(piece.items), newer=piece.newer, older=piece.older)


@dataclass(frozen=True)
class Found:
    """A match and its line in a list."""

    match: Match
    row: Row

    @property
    def path(self) -> str:
        """A match in a post leads to the post."""
        thread = self.match.thread
        return floor_url(thread, self.match.floor_number) if self.match.post else path(thread)


@require_GET
def search(request: HttpRequest) -> HttpResponseBase:
    selected = Filters.of(request.GET, filters.FOUND)
    shown = head(request, "search", selected.fid)
    # Without a board in the address all boards are searched, and the page says so.
    searched = [shown["forum"]] if selected.fid is not None else shown["forums"]
    listing = filters.found_listing(selected, searched, request.GET, viewer_scopes(request.user))
    wanted = request.GET.get("zip", "")
    if selected.q and (file := export(request, listing) or topics_zip(request, listing, wanted)):
        return file
    matches = _search(request, selected, searched)
    listing.found_on_page(len(matches.items), is_more=bool(matches.next or request.GET.get("cursor")))
    lines = rows_of([match.thread for match in matches.items])
    context = {
        **shown,
        "selected": selected,
        "listing": listing,
        "query": matches.query,
        "next": matches.next,
        "found": [Found(match, row) for match, row in zip(matches.items, lines, strict=True)],
        "longest": queries.MAX_QUERY,
        "more_exports": zip_links(listing),
        "searched_board": shown["forum"] if selected.fid is not None else None,
    }
    return render(request, "nga/search.html", context)


def _search(request: HttpRequest, selected: Filters, forums: list[Forum]) -> Matches:
    asked = {"scopes": viewer_scopes(request.user), "limit": PER_PAGE, "in_posts": True}
    try:
        return filters.search(selected, forums, cursor=request.GET.get("cursor", ""), **asked)  # type: ignore[arg-type]
    except InvalidCursor:
        return filters.search(selected, forums, **asked)  # type: ignore[arg-type]


ICONS = {"html": "globe", "markdown": "file", "epub": "library", "jsonl": "code"}


def zip_links(listing: Shown[Any]) -> list[ExportLink]:
    """For the export menu of a list: the topics themselves, one file each."""
    most = options.EXPORT_TOPICS.value
    note = ngettext("zip, up to %(n)s topic", "zip, up to %(n)s topics", most) % {"n": number_text(most)}
    return [ExportLink(title, ICONS[form], listing.query(zip=form), note) for form, title in titles().items()]


@require_GET
def topic(request: HttpRequest, tid: int, form: str) -> HttpResponseBase:
    if form not in FORMS:
        raise Http404
    return topic_file(request, filters.thread(tid, request.GET.get("fid")), form)
