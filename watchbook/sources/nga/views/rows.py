"""Topics as lines of a list, with how much of each is stored: one more query for any number of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, FilteredRelation, OuterRef, Q, Subquery
from django.utils.translation import gettext as _

from watchbook.core.ui import badges
from watchbook.core.ui.badges import Badge
from watchbook.core.ui.moments import number_text
from watchbook.sources.nga.models import Post, Thread, ThreadReadingState
from watchbook.sources.nga.views.words import own_title

# Side by side, the worst one last.
MOST_BADGES = 3


@dataclass(frozen=True)
class Opening:
    """The state of a topic's opening post."""

    is_deleted: bool = False
    is_edited: bool = False


@dataclass(frozen=True)
class Row:
    thread: Thread
    title: str
    floors: int
    stored: str
    badges: list[Badge]


def rows_of(threads: Sequence[Thread]) -> list[Row]:
    floors = _floors([thread.pk for thread in threads])
    return [_row(thread, *floors[thread.pk]) for thread in threads]


def _floors(ids: Sequence[int]) -> dict[int, tuple[int, Opening]]:
    """How many floors of each topic are stored, counted in the index alone, and the state of the opening post."""
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
        floors=floors,
        stored=_stored_text(thread, stored, floors),
        badges=topic_badges(thread, gaps, opening)[-MOST_BADGES:],
    )


def is_newest_first(thread: Thread) -> bool:
    state = reading_state(thread)
    return state is not None and state.is_newest_first


def is_gone(thread: Thread) -> bool:
    """Did the source say, twice, that the topic is gone or hidden?"""
    state = reading_state(thread)
    return state is not None and state.gone_at is not None


def reading_state(thread: Thread) -> ThreadReadingState | None:
    """Read together with the topic (`select_related`). Most topics have none."""
    return getattr(thread, "reading_state", None)


def gap_count(thread: Thread, stored: int) -> int:
    """Floors below the highest stored one that are not there."""
    if thread.crawl_cursor_max_floor_number is None:
        return 0
    # Read from its end, the rest of such a topic lies below the cursor until it has been read.
    if is_newest_first(thread) and thread.crawl_backfill_next_page_number is not None:
        return 0
    return max(thread.crawl_cursor_max_floor_number + 1 - stored, 0)


def topic_badges(thread: Thread, gaps: int, opening: Opening) -> list[Badge]:
    found = [
        (thread.is_pinned, badges.find("floor", "pinned")),
        (thread.is_digest, badges.find("floor", "digest")),
        (opening.is_edited, badges.find("floor", "edited")),
        (thread.is_skipped_by_page_total_limit, badges.find("floor", "skipped")),
        (thread.crawl_backfill_next_page_number is not None, badges.find("floor", "backfilling")),
        (gaps > 0, badges.gaps(gaps)),
        (opening.is_deleted or is_gone(thread), badges.find("floor", "deleted")),
    ]
    return [badge for is_so, badge in found if is_so]


def _stored_text(thread: Thread, stored: int, floors: int) -> str:
    if thread.is_skipped_by_page_total_limit and not stored:
        return _("not read")
    if thread.crawl_backfill_next_page_number is not None and thread.crawl_page_total_last_seen:
        owed, total = thread.crawl_backfill_next_page_number, thread.crawl_page_total_last_seen
        read = max(total - owed, 0) if is_newest_first(thread) else owed - 1
        return _("page %(n)s of %(all)s") % {"n": number_text(read), "all": number_text(total)}
    if stored >= floors:
        return _("all stored")
    return _("%(n)s stored") % {"n": number_text(stored)}
