"""One topic: twenty posts a page, filters by author and change, and the post map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext
from django.views.decorators.http import require_GET, require_safe

from watchbook.base import clock
from watchbook.base.text import clean_text
from watchbook.core.stream.clip import clips_url
from watchbook.kit.charts import Cell, cells
from watchbook.kit.formatting import moment_text, number_text
from watchbook.kit.paging import with_values
from watchbook.systems.nga import filters, options
from watchbook.systems.nga.export.reading import PART, POSTS_PER_CHAPTER
from watchbook.systems.nga.models import CrawlRunThread, Forum, MediaAsset, Post, Thread, ThreadTag
from watchbook.systems.nga.models.forum import FLOORS_PER_PAGE, floor_url, page_path
from watchbook.systems.nga.store.media import OLD_FORMATS, media_file
from watchbook.systems.nga.views.page_header import (
    Opening,
    error_text,
    gap_count,
    is_newest_first,
    is_skipped,
    live_work,
    reading_state,
    titles,
    topic_badges,
    whole,
)
from watchbook.systems.nga.views.posts import floors_of, source_address
from watchbook.systems.nga.views.versions import compared, versions_of

# Parts of a topic that are saved together.
MOST_PARTS = 50
# A cell is an element of the page: a long topic has several pages in each.
MOST_CELLS = 260


@dataclass(frozen=True)
class PostMap:
    """Counts of the stored posts of a topic, and the drawing of its pages."""

    stored: int
    gaps: int
    edited: int
    deleted: int
    folded: int
    drawing: SafeString
    read_at: datetime | None
    """When this page was last read whole."""
    oldest_at: datetime | None
    """When the page was read that was not read for the longest time."""
    oldest_page: int


@dataclass
class _PageGroup:
    """Some pages in a row."""

    stored: int = 0
    edited: int = 0
    read_at: datetime | None = None


def post_map(thread: Thread, page: int) -> PostMap:
    columns = ("floor_number", "content_last_changed_at", "is_deleted_by_source", "is_folded_by_source")
    rows = list(Post.objects.filter(thread=thread).values_list(*columns))
    per_cell = -(-max(thread.floor_page_count, 1) // MOST_CELLS)
    groups = [_PageGroup() for _cell in range(-(-thread.floor_page_count // per_cell))]
    for number, changed_at, _is_deleted, _is_folded in rows:
        if number // FLOORS_PER_PAGE // per_cell < len(groups):
            list_part = groups[number // FLOORS_PER_PAGE // per_cell]
            list_part.stored += 1
            list_part.edited += changed_at is not None
    read = thread.read_times()
    for number, read_at in read.items():
        if (number - 1) // per_cell < len(groups):
            list_part = groups[(number - 1) // per_cell]
            list_part.read_at = min(list_part.read_at or read_at, read_at)
    oldest = min(read, key=lambda number: (read[number], number), default=0)
    return PostMap(
        stored=len(rows),
        gaps=gap_count(thread, len(rows)),
        edited=sum(changed_at is not None for _number, changed_at, _is_deleted, _is_folded in rows),
        deleted=sum(is_deleted for _number, _changed_at, is_deleted, _is_folded in rows),
        folded=sum(is_folded for _number, _changed_at, _is_deleted, is_folded in rows),
        drawing=_draw(thread, groups, per_cell, page),
        read_at=read.get(page),
        oldest_at=read.get(oldest),
        oldest_page=oldest,
    )


def _draw(thread: Thread, groups: list[_PageGroup], per_cell: int, page: int) -> SafeString:
    highest = thread.crawl_cursor_max_floor_number or 0
    drawn, lacking, edited = [], 0, 0
    for index, list_part in enumerate(groups):
        first = index * per_cell + 1
        last = min(first + per_cell - 1, thread.floor_page_count)
        expected = min(last * FLOORS_PER_PAGE, highest + 1) - (first - 1) * FLOORS_PER_PAGE
        missing = max(expected - list_part.stored, 0)
        lacking += missing > 0
        edited += list_part.edited > 0
        drawn.append(
            Cell(
                title=_title(first, last, list_part, missing),
                css=_look(list_part, is_here=first <= page <= last),
                is_marked=missing > 0,
                href=page_path(thread, first),
            )
        )
    return cells(drawn, label=_label(thread.floor_page_count, lacking, edited))


def _look(list_part: _PageGroup, *, is_here: bool) -> str:
    shade = "c-h0" if not list_part.stored else "c-h3" if list_part.edited else "c-h1"
    return f"{shade} is-here" if is_here else shade


def _title(first: int, last: int, list_part: _PageGroup, missing: int) -> str:
    pages = number_text(first) if first == last else f"{number_text(first)}–{number_text(last)}"
    parts = [_("page %(n)s") % {"n": pages}]
    if list_part.edited:
        parts.append(ngettext("%(n)s edited", "%(n)s edited", list_part.edited) % {"n": list_part.edited})
    if missing:
        parts.append(ngettext("%(n)s missing", "%(n)s missing", missing) % {"n": missing})
    if list_part.read_at:
        parts.append(_("read %(when)s") % {"when": moment_text(list_part.read_at, "date")})
    return pgettext("list", ", ").join(parts)


def _label(pages: int, lacking: int, edited: int) -> str:
    return _("%(pages)s pages of 20 posts; %(gaps)s with gaps, %(edits)s with edits") % {
        "pages": number_text(pages),
        "gaps": number_text(lacking),
        "edits": number_text(edited),
    }


LARGEST = 2**31 - 1


@require_GET
def topic(request: HttpRequest, tid: int) -> HttpResponse:
    thread = filters.thread(tid, request.GET.get("fid"))
    if "floor" in request.GET:
        return redirect(floor_url(thread, whole(request.GET["floor"]) or 0))
    choice = Choice.of(request, thread)
    posts, missing = (choice.some(), []) if choice.is_narrow else choice.page()
    seen = post_map(thread, choice.number)
    opened = whole(request.GET.get("open", ""))
    context: dict[str, Any] = {
        **_head(request, thread, seen, posts),
        "choice": choice,
        "posts": posts,
        "shown": floors_of(thread, posts, missing),
        "post_map": seen,
        "opened": opened,
        "compared": _newest_difference([post for post in posts if post.floor_number == opened]),
        "unread": _unread(thread, choice),
    }
    return render(request, "nga/topic.html", context)


@require_GET
def floor(request: HttpRequest, tid: int, floor_number: int) -> HttpResponse:
    thread = filters.thread(tid, request.GET.get("fid"))
    return redirect(floor_url(thread, min(floor_number, LARGEST)))


@require_GET
def post(request: HttpRequest, tid: int, pid: int) -> HttpResponse:
    """Redirect a quotation to the stored post, or to the site."""
    thread = filters.thread(tid, request.GET.get("fid"))
    number = Post.objects.filter(thread=thread, source_post_id=pid).values_list("floor_number", flat=True).first()
    return redirect(source_address(tid, pid) if number is None else floor_url(thread, number))


@require_safe
def picture(request: HttpRequest, digest: str) -> HttpResponseBase:
    """A picture that was stored before core.media; its type comes from its first bytes, and nothing else is sent."""
    asset = get_object_or_404(MediaAsset, content_sha256=digest[:64])
    file = media_file(asset.content_sha256)
    if asset.media_format_text not in OLD_FORMATS or not file.is_file():
        raise Http404
    answer = FileResponse(file.open("rb"), content_type=f"image/{asset.media_format_text}")
    # What a digest names never changes; who may see it is decided here and nowhere in between.
    answer.headers["Cache-Control"] = "private, max-age=31536000, immutable"
    return answer


@dataclass(frozen=True)
class Choice:
    """The page, author and change filters of a topic page."""

    thread: Thread
    asked: Any
    number: int = 1
    author_id: int | None = None
    author: str = ""
    is_changed: bool = False
    after: int | None = None
    before: int | None = None

    @classmethod
    def of(cls, request: HttpRequest, thread: Thread) -> Choice:
        asked = request.GET
        return cls(
            thread=thread,
            asked=asked,
            number=min(max(whole(asked.get("page", "")) or 1, 1), max(thread.floor_page_count, 1)),
            author_id=whole(asked.get("author_id", "")),
            author=clean_text(asked.get("author", ""))[:80],
            is_changed=asked.get("show") == "changed",
            after=whole(asked.get("after", "")),
            before=whole(asked.get("before", "")),
        )

    @property
    def is_narrow(self) -> bool:
        return self.is_changed or self.is_author

    @property
    def is_author(self) -> bool:
        return self.author_id is not None or bool(self.author)

    def page(self) -> tuple[list[Post], list[int]]:
        """The floors of the page, and the numbers that should be there and are not."""
        posts = list(
            Post.objects.on_page(self.thread.pk, self.number).with_parents().select_related("absence", "facts")
        )
        if self.thread.crawl_cursor_max_floor_number is None:
            return posts, []
        end = min(self.last + 1, self.thread.crawl_cursor_max_floor_number + 1)
        return posts, sorted(set(range(self.first, end)) - {post.floor_number for post in posts})

    def some(self) -> list[Post]:
        """The next floors that pass the filter, in the order of their numbers."""
        rows: QuerySet[Post] = Post.objects.filter(thread=self.thread).with_parents().select_related("absence", "facts")
        if self.is_changed:
            marked = Q(is_deleted_by_source=True) | Q(is_folded_by_source=True)
            rows = rows.filter(Q(content_last_changed_at__isnull=False) | marked)
        if self.author_id is not None:
            rows = rows.filter(author_source_user_id=self.author_id)
        elif self.author:
            rows = rows.filter(author_name=self.author, author_source_user_id=None)
        if self.before is not None:
            late = rows.filter(floor_number__lt=self.before).order_by("-floor_number")
            return list(late[:FLOORS_PER_PAGE])[::-1]
        if self.after is not None:
            rows = rows.filter(floor_number__gt=self.after)
        return list(rows.order_by("floor_number")[:FLOORS_PER_PAGE])

    @property
    def first(self) -> int:
        return (self.number - 1) * FLOORS_PER_PAGE

    @property
    def last(self) -> int:
        return self.first + FLOORS_PER_PAGE - 1

    @property
    def shown_last(self) -> int:
        return min(self.last, self.thread.crawl_cursor_max_floor_number or 0)

    @property
    def previous(self) -> int:
        return self.number - 1

    @property
    def next(self) -> int:
        return self.number + 1

    @property
    def previous_floors(self) -> str:
        return f"{self.first - FLOORS_PER_PAGE}–{self.first - 1}"

    @property
    def next_floors(self) -> str:
        return f"{self.last + 1}–{self.last + FLOORS_PER_PAGE}"

    @property
    def is_last(self) -> bool:
        return self.number >= self.thread.floor_page_count

    @property
    def all_authors(self) -> str:
        return self._query(author_id="", author="")

    @property
    def starter(self) -> str:
        """Only the person who opened the topic."""
        if self.thread.author_source_user_id:
            return self._query(author_id=str(self.thread.author_source_user_id))
        return self._query(author=self.thread.author_name)

    @property
    def changed(self) -> str:
        return self._query(show="" if self.is_changed else "changed")

    def _query(self, **values: str) -> str:
        return with_values(self.asked, page="", after="", before="", open="", **values)


def _head(request: HttpRequest, thread: Thread, seen: PostMap, posts: Sequence[Post]) -> dict[str, Any]:
    forum: Forum = thread.forum
    opening = next((post for post in posts if post.floor_number == 0), None)
    state = Opening(bool(opening and opening.is_deleted_by_source))
    reading = CrawlRunThread.objects.filter(thread=thread).order_by("-pk").first()
    return {
        "tab": "topics",
        "thread": thread,
        "forum": forum,
        "badges": topic_badges(thread, seen.gaps, state),
        "tags": list(ThreadTag.objects.filter(thread_maps__thread=thread).order_by("pk")[:20]),
        "reading": reading,
        "failure": error_text(reading.error_summary) if reading and not is_skipped(reading) else "",
        "is_newest_first": is_newest_first(thread),
        "state": reading_state(thread),
        "following": getattr(thread, "following", None),
        "quiet_days": options.FOLLOW_QUIET_DAYS.value,
        "source_url": source_address(thread.source_thread_id),
        "export_titles": titles(),
        "save_url": clips_url(parts_of(thread)),
        "floor_count": max(thread.reply_count_display + 1, seen.stored + seen.gaps),
        "is_operator": bool(getattr(request.user, "is_staff", False)),
        "work": live_work(),
        "now": clock.now(),
    }


def _newest_difference(posts: Sequence[Post]) -> Any:
    """Return the newest diff of the opened post."""
    if not posts:
        return None
    found = versions_of(posts[0])
    return compared(posts[0], found, len(found) - 1, len(found))


def _unread(thread: Thread, choice: Choice) -> int | None:
    """Return the first post that is not crawled yet, on the last stored page only."""
    if choice.is_narrow or not choice.is_last or thread.crawl_backfill_next_page_number is None:
        return None
    if is_newest_first(thread):
        # Its last page holds the first floors: what is owed follows the last known one.
        return 0 if thread.crawl_cursor_max_floor_number is None else thread.crawl_cursor_max_floor_number + 1
    return (thread.crawl_backfill_next_page_number - 1) * FLOORS_PER_PAGE


def parts_of(thread: Thread) -> list[tuple[str, str]]:
    """The items (kind, id) that save the whole topic to the library: one page for so many posts, 50 pages at most."""
    highest = thread.crawl_cursor_max_floor_number
    if highest is None:
        return []
    size = POSTS_PER_CHAPTER * max(1, -(-(highest + 1) // (POSTS_PER_CHAPTER * MOST_PARTS)))
    return [(PART, f"{thread.pk}-{first}-{first + size - 1}") for first in range(0, highest + 1, size)]
