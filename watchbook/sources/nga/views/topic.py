"""One topic: twenty floors a page by their numbers, or only one author's, or only those that changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from watchbook.base import clock
from watchbook.base.text import clean_text
from watchbook.core.ui.paging import with_values
from watchbook.sources.nga import finding
from watchbook.sources.nga.models import CrawlRunThread, Forum, Post, Thread, ThreadTag
from watchbook.sources.nga.models.forum import FLOORS_PER_PAGE
from watchbook.sources.nga.paths import floor_place
from watchbook.sources.nga.views.floors import floors_of, source_address
from watchbook.sources.nga.views.head import live_work
from watchbook.sources.nga.views.map import Survey, survey
from watchbook.sources.nga.views.paging import whole
from watchbook.sources.nga.views.rows import Opening, is_newest_first, reading_state, topic_badges
from watchbook.sources.nga.views.versions import compared, versions_of

LARGEST = 2**31 - 1


@require_GET
def topic(request: HttpRequest, tid: int) -> HttpResponse:
    thread = finding.thread(tid, request.GET.get("fid"))
    if "floor" in request.GET:
        return redirect(floor_place(thread, whole(request.GET["floor"]) or 0))
    choice = Choice.of(request, thread)
    posts, missing = (choice.some(), []) if choice.is_narrow else choice.page()
    seen = survey(thread, choice.number)
    opened = whole(request.GET.get("open", ""))
    context: dict[str, Any] = {
        **_head(request, thread, seen, posts),
        "choice": choice,
        "posts": posts,
        "shown": floors_of(thread, posts, missing),
        "survey": seen,
        "opened": opened,
        "compared": _newest_difference([post for post in posts if post.floor_number == opened]),
        "unread": _unread(thread, choice),
    }
    return render(request, "nga/topic.html", context)


@require_GET
def floor(request: HttpRequest, tid: int, floor_number: int) -> HttpResponse:
    thread = finding.thread(tid, request.GET.get("fid"))
    return redirect(floor_place(thread, min(floor_number, LARGEST)))


@require_GET
def post(request: HttpRequest, tid: int, pid: int) -> HttpResponse:
    """Where a quotation leads: to the floor when it is stored, else to the source."""
    thread = finding.thread(tid, request.GET.get("fid"))
    number = Post.objects.filter(thread=thread, source_post_id=pid).values_list("floor_number", flat=True).first()
    return redirect(source_address(tid, pid) if number is None else floor_place(thread, number))


@dataclass(frozen=True)
class Choice:
    """Which floors of a topic a reader asked for."""

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
        posts = list(Post.objects.on_page(self.thread.pk, self.number).with_parents().select_related("absence"))
        if self.thread.crawl_cursor_max_floor_number is None:
            return posts, []
        end = min(self.last + 1, self.thread.crawl_cursor_max_floor_number + 1)
        return posts, sorted(set(range(self.first, end)) - {post.floor_number for post in posts})

    def some(self) -> list[Post]:
        """The next floors that pass the filter, in the order of their numbers."""
        rows: QuerySet[Post] = Post.objects.filter(thread=self.thread).with_parents().select_related("absence")
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
    def everybody(self) -> str:
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


def _head(request: HttpRequest, thread: Thread, seen: Survey, posts: Sequence[Post]) -> dict[str, Any]:
    forum: Forum = thread.forum
    opening = next((post for post in posts if post.floor_number == 0), None)
    state = Opening(bool(opening and opening.is_deleted_by_source))
    return {
        "tab": "topics",
        "thread": thread,
        "forum": forum,
        "badges": topic_badges(thread, seen.gaps, state),
        "tags": list(ThreadTag.objects.filter(thread_maps__thread=thread).order_by("pk")[:20]),
        "reading": CrawlRunThread.objects.filter(thread=thread).order_by("-pk").first(),
        "is_newest_first": is_newest_first(thread),
        "state": reading_state(thread),
        "source_url": source_address(thread.source_thread_id),
        "floor_count": max(thread.reply_count_display + 1, seen.stored + seen.gaps),
        "is_operator": bool(getattr(request.user, "is_staff", False)),
        "work": live_work(),
        "now": clock.now(),
    }


def _newest_difference(posts: Sequence[Post]) -> Any:
    """What changed last in the floor whose history was opened."""
    if not posts:
        return None
    found = versions_of(posts[0])
    return compared(posts[0], found, len(found) - 1, len(found))


def _unread(thread: Thread, choice: Choice) -> int | None:
    """The first floor that is still to be read, when the reader stands at the end of what is stored."""
    if choice.is_narrow or not choice.is_last or thread.crawl_backfill_next_page_number is None:
        return None
    if is_newest_first(thread):
        # Its last page holds the first floors: what is owed follows the last known one.
        return 0 if thread.crawl_cursor_max_floor_number is None else thread.crawl_cursor_max_floor_number + 1
    return (thread.crawl_backfill_next_page_number - 1) * FLOORS_PER_PAGE
