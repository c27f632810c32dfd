"""Shared parts of all forum pages: header, simple paging, titles, states and badges of topics, reasons in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext, pgettext, pgettext_lazy

from watchbook.base import clock
from watchbook.core.health import Health, worst
from watchbook.core.jobs.models import JobRun, JobSchedule
from watchbook.core.jobs.overview import ShownRun
from watchbook.kit import badges
from watchbook.kit.badges import Badge
from watchbook.kit.formatting import number_text
from watchbook.systems.nga import health
from watchbook.systems.nga.actions import AUDIT, CRAWL, THREAD
from watchbook.systems.nga.filters import boards
from watchbook.systems.nga.models import ChangeReason, CrawlRunThread, ErrorCategory, Forum, Thread, ThreadReadingState
from watchbook.systems.nga.parse.errors import SENTENCES


def head(request: HttpRequest, tab: str, fid: int | None = None) -> dict[str, Any]:
    forums = boards()
    forum = chosen(forums, fid)
    return {
        "tab": tab,
        "forum": forum,
        "forums": forums,
        "health": health_of(forum, forums),
        "work": live_work(),
        "gap_count": Thread.objects.with_gaps().count(),
        "is_operator": bool(getattr(request.user, "is_staff", False)),
        "now": clock.now(),
    }


def chosen(forums: Sequence[Forum], fid: int | None) -> Forum | None:
    """The board that is asked for; without a number the first."""
    if fid is None:
        return forums[0] if forums else None
    for forum in forums:
        if forum.source_forum_id == fid:
            return forum
    raise Http404


def health_of(forum: Forum | None, forums: Sequence[Forum]) -> Health:
    """Return the health of one board, or of the worst one."""
    boards = health.board_healths(forums, health.crawl_job())
    return boards[forum.pk] if forum and forum.pk in boards else worst(boards.values())


def next_run(job: str) -> Any:
    schedule = JobSchedule.objects.filter(name=job, is_enabled=True).first()
    return schedule.next_at if schedule else None


def live_work() -> ShownRun | None:
    """The crawl, audit or reading that is queued or running now."""
    now = clock.now()
    run = JobRun.objects.current((CRAWL, AUDIT, THREAD), now)
    return ShownRun(run, now) if run else None


Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class ListPart(Generic[Row]):
    """Some rows; `after` is the key to continue from, empty at the end."""

    items: list[Row]
    after: str = ""
    is_first: bool = True

    def __iter__(self) -> Iterator[Row]:
        return iter(self.items)


def list_part(rows: QuerySet[Row], asked: Mapping[str, Any], *, size: int) -> ListPart[Row]:
    """Oldest first by primary key. One query, whatever the page."""
    after = whole(str(asked.get("after") or ""))
    if after is not None:
        rows = rows.filter(pk__gt=after)
    found = list(rows.order_by("pk")[: size + 1])
    more = len(found) > size
    return ListPart(found[:size], str(found[size - 1].pk) if more else "", is_first=after is None)


def whole(text: str) -> int | None:
    """A number that every column holds, or none."""
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        return None
    return int(text)


OVER_PAGE_LIMIT = gettext_noop("The topic has over 1,000 pages: its posts are not crawled.")
TRIGGERS = {
    "schedule_12h": pgettext_lazy("trigger", "every 12 hours"),
    "manual": pgettext_lazy("trigger", "manual"),
    "cron": pgettext_lazy("trigger", "scheduled"),
    "audit": pgettext_lazy("trigger", "daily audit"),
    "follow": pgettext_lazy("trigger", "followed topics"),
    "reread": pgettext_lazy("trigger", "old pages"),
}
REASONS = {
    ChangeReason.CONTENT: pgettext_lazy("version", "text changed"),
    ChangeReason.DELETED: pgettext_lazy("version", "deleted on the site"),
    ChangeReason.FOLDED: pgettext_lazy("version", "collapsed on the site"),
}
CATEGORIES = {
    ErrorCategory.HTTP: pgettext_lazy("category", "request"),
    ErrorCategory.PARSE: pgettext_lazy("category", "response"),
    ErrorCategory.DB: pgettext_lazy("category", "database"),
    ErrorCategory.UNKNOWN: pgettext_lazy("category", "unknown cause"),
}
REPAIRS = {
    "partial": Badge(pgettext_lazy("audit", "Partial"), "warn", "s-warn"),
    "skipped": Badge(pgettext_lazy("audit", "Skipped"), "", "s-off"),
}


def trigger_text(given: str) -> str:
    return str(TRIGGERS.get(given, given))


def reason_text(given: str) -> str:
    comma = pgettext("list", ", ")
    return comma.join(
        str(REASONS.get(ChangeReason(one), one)) if one in ChangeReason else one for one in given.split(";")
    )


def category_text(given: str | None) -> str:
    return str(CATEGORIES.get(ErrorCategory(given), given)) if given in ErrorCategory.values else given or ""


def repair_badge(status: str) -> Badge:
    return REPAIRS.get(status) or badges.find("audit", status)


def error_text(summary: str | None) -> str:
    """`code: the site's words` as a sentence of ours where the code has one, and the site's words after it."""
    code, _colon, rest = (summary or "").partition(":")
    sentence = OVER_PAGE_LIMIT if code == "skipped" else SENTENCES.get(code)
    if sentence is None:
        return summary or ""
    rest = rest.strip()
    return f"{_(sentence)} {rest}" if rest and rest != sentence else _(sentence)


def requests_text(count: int) -> str:
    return ngettext("%(n)s request", "%(n)s requests", count) % {"n": number_text(count)}


_PREFIX = re.compile(r"\s*\[([^\[\]]+)\]")


def title_prefixes(title: str) -> list[str]:
    """Return the texts of all `[…]` groups at the beginning of a title."""
    found = []
    at = 0
    while hit := _PREFIX.match(title, at):
        found.append(hit[1].strip())
        at = hit.end()
    return found if title[at:].strip() else found[:0]


def own_title(thread: Thread) -> str:
    """Return the title without the prefixes at its beginning, which are shown as tags."""
    rest = thread.title
    while (hit := _PREFIX.match(rest)) and rest[hit.end() :].strip():
        rest = rest[hit.end() :]
    return rest.strip()


def is_skipped(row: CrawlRunThread) -> bool:
    return (row.error_summary or "").startswith("skipped:")


def outcome_badge(row: CrawlRunThread) -> Badge:
    """Return the badge for the result of one topic in one run."""
    if is_skipped(row):
        return badges.find("floor", "skipped")
    if row.error_summary or row.http_error_code:
        return badges.find("job", "failed")
    if row.finished_at is None:
        return badges.find("job", "running")
    if row.page_limit_applied:
        return badges.find("floor", "backfilling")
    return badges.find("job", "done")


@dataclass(frozen=True)
class Opening:
    """The state of a topic's opening post."""

    is_deleted: bool = False
    is_edited: bool = False


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


def titles() -> dict[str, str]:
    return {"html": _("HTML file"), "markdown": _("Markdown with pictures"), "epub": "EPUB", "jsonl": "JSON Lines"}
