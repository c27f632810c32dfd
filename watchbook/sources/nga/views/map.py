"""A topic at one glance: which pages have edits, which lack floors; and the figures beside it. One query."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from watchbook.core.ui.charts import Cell, cells
from watchbook.core.ui.moments import number_text
from watchbook.sources.nga.models import Post, Thread
from watchbook.sources.nga.models.forum import FLOORS_PER_PAGE
from watchbook.sources.nga.paths import page_path
from watchbook.sources.nga.views.rows import gap_count

# A cell is an element of the page: a long topic has several pages in each.
MOST_CELLS = 260


@dataclass(frozen=True)
class Survey:
    """What is stored of a topic."""

    stored: int
    gaps: int
    edited: int
    deleted: int
    folded: int
    drawing: SafeString


@dataclass
class _Stretch:
    """Some pages in a row."""

    stored: int = 0
    edited: int = 0


def survey(thread: Thread, page: int) -> Survey:
    columns = ("floor_number", "content_last_changed_at", "is_deleted_by_source", "is_folded_by_source")
    rows = list(Post.objects.filter(thread=thread).values_list(*columns))
    per_cell = -(-max(thread.floor_page_count, 1) // MOST_CELLS)
    stretches = [_Stretch() for _cell in range(-(-thread.floor_page_count // per_cell))]
    for number, changed_at, _is_deleted, _is_folded in rows:
        if number // FLOORS_PER_PAGE // per_cell < len(stretches):
            stretch = stretches[number // FLOORS_PER_PAGE // per_cell]
            stretch.stored += 1
            stretch.edited += changed_at is not None
    return Survey(
        stored=len(rows),
        gaps=gap_count(thread, len(rows)),
        edited=sum(changed_at is not None for _number, changed_at, _is_deleted, _is_folded in rows),
        deleted=sum(is_deleted for _number, _changed_at, is_deleted, _is_folded in rows),
        folded=sum(is_folded for _number, _changed_at, _is_deleted, is_folded in rows),
        drawing=_draw(thread, stretches, per_cell, page),
    )


def _draw(thread: Thread, stretches: list[_Stretch], per_cell: int, page: int) -> SafeString:
    highest = thread.crawl_cursor_max_floor_number or 0
    drawn, lacking, edited = [], 0, 0
    for index, stretch in enumerate(stretches):
        first = index * per_cell + 1
        last = min(first + per_cell - 1, thread.floor_page_count)
        expected = min(last * FLOORS_PER_PAGE, highest + 1) - (first - 1) * FLOORS_PER_PAGE
        missing = max(expected - stretch.stored, 0)
        lacking += missing > 0
        edited += stretch.edited > 0
        drawn.append(
            Cell(
                title=_title(first, last, stretch, missing),
                css=_look(stretch, is_here=first <= page <= last),
                is_marked=missing > 0,
                href=page_path(thread, first),
            )
        )
    return cells(drawn, label=_label(thread.floor_page_count, lacking, edited))


def _look(stretch: _Stretch, *, is_here: bool) -> str:
    shade = "c-h0" if not stretch.stored else "c-h3" if stretch.edited else "c-h1"
    return f"{shade} is-here" if is_here else shade


def _title(first: int, last: int, stretch: _Stretch, missing: int) -> str:
    pages = number_text(first) if first == last else f"{number_text(first)}–{number_text(last)}"
    parts = [_("page %(n)s") % {"n": pages}]
    if stretch.edited:
        parts.append(ngettext("%(n)s edited", "%(n)s edited", stretch.edited) % {"n": stretch.edited})
    if missing:
        parts.append(ngettext("%(n)s missing", "%(n)s missing", missing) % {"n": missing})
    return pgettext("list", ", ").join(parts)


def _label(pages: int, lacking: int, edited: int) -> str:
    return _("%(pages)s pages of 20 floors; %(gaps)s with gaps, %(edits)s with edits") % {
        "pages": number_text(pages),
        "gaps": number_text(lacking),
        "edits": number_text(edited),
    }
