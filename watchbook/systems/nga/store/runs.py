"""Rows of a run and of its topics, and topics that the site deleted or hid.

When each page was last read whole, and which pages to read again for edits within the daily budget.

An edit is the less likely the longer nothing happened on a page. With a rate of weight / (quiet time + 6 hours) the
edits that are expected since the last reading are `expected_edits`. A page is due when they reach the same number for
all pages of its weight, so that the time between two readings grows with the quiet time. Where more pages are due than
the budget allows, those with the most expected edits are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import chain
from math import ceil, log

from django.db.models import Max, Sum

from watchbook.base.clock import SHANGHAI
from watchbook.base.store.rows import Columns
from watchbook.base.work import crash_point
from watchbook.systems.nga import options
from watchbook.systems.nga.errors import NgaError
from watchbook.systems.nga.models import (
    MOST_PAGES,
    CrawlRun,
    CrawlRunResult,
    CrawlRunThread,
    Forum,
    RunKind,
    Thread,
    ThreadPageReading,
    ThreadReadingState,
)
from watchbook.systems.nga.models.runs import THREAD_FAILED
from watchbook.systems.nga.parse import FloorRecord
from watchbook.systems.nga.parse.records import FLOORS_PER_PAGE
from watchbook.systems.nga.store.publish import GONE, publish_topics, send_news
from watchbook.systems.nga.store.versions import Cuts, PageReading, fit_small, fit_summary

SCHEDULED, BY_HAND, BY_AUDIT, FOLLOWING, REREADING = "schedule_12h", "manual", "audit", "follow", "reread"
# Code in `error_summary` of a topic that was skipped on purpose: a reason, not a failure.
SKIPPED = "skipped"
WINDOW_DAYS = 3


def window_of(now: datetime) -> tuple[date, date]:
    """The last three natural days of Shanghai, today included."""
    today = now.astimezone(SHANGHAI).date()
    return today - timedelta(days=WINDOW_DAYS - 1), today


def last_failures(threads: Iterable[int]) -> dict[int, int]:
    """Return the newest row of each topic whose previous reading failed.

    Sorted by it, topics that failed come last and take turns: in an outage the first request of a run decides, and a
    topic that can never be read must not decide twice.
    """
    rows = CrawlRunThread.objects.filter(thread__in=list(threads))
    newest = rows.order_by().values("thread_id").annotate(last=Max("pk"))
    failed = CrawlRunThread.objects.filter(THREAD_FAILED, pk__in=newest.values("last"))
    return dict(failed.values_list("thread_id", "pk"))


@dataclass
class ThreadWork:
    """Counts and error of one topic in one run."""

    fetched_page_count: int = 0
    new_post_count: int = 0
    updated_post_count: int = 0
    last_page: int | None = None
    is_cut: bool = False
    """The page limit ended the reading before the topic did."""
    error_summary: str | None = None
    http_error_code: int | None = None
    cuts: Cuts = field(default_factory=Cuts)

    @property
    def is_ok(self) -> bool:
        return self.error_summary is None


def begin_run(forum: Forum, trigger: str, window: tuple[date, date], now: datetime) -> CrawlRun:
    return CrawlRun.objects.create(
        forum=forum,
        run_started_at=now,
        run_trigger_text=trigger,
        date_window_start=window[0],
        date_window_end=window[1],
        created_at=now,
        updated_at=now,
    )


def save_counts(run: CrawlRun, now: datetime, *, is_finished: bool = False) -> None:
    run.updated_at = now
    if is_finished:
        run.run_finished_at = now
    run.save(
        update_fields=[
            "thread_scanned_count", "thread_change_detected_count", "thread_updated_count", "http_request_count",
            "run_finished_at", "updated_at",
        ]
    )  # fmt: skip


def save_result(run: CrawlRun, kind: RunKind, error: NgaError | None, now: datetime, *, is_list_complete: bool) -> None:
    """Record how the run ended. `error` is the one that stopped it, or that kept the list from being complete."""
    values = {
        "run_kind": kind,
        "is_list_complete": is_list_complete,
        "error_code": error.code[:60] if error else "",
        "error_summary": fit_summary(error.summary) if error else "",
        "http_error_code": error.http_error_code if error else None,
        "finished_at": now,
    }
    CrawlRunResult.objects.update_or_create(crawl_run=run, defaults=values)


def begin_thread(run: CrawlRun, thread: Thread, *, is_change: bool, now: datetime) -> CrawlRunThread:
    return CrawlRunThread.objects.create(
        crawl_run=run,
        thread=thread,
        change_detected_by_last_reply_at=is_change,
        detected_last_reply_at=thread.last_reply_at,
        started_at=now,
    )


def finish_thread(
    row: CrawlRunThread, thread: Thread, work: ThreadWork, now: datetime, *, moves_on: bool = True
) -> None:
    """Record the result for one topic in its run, and what follows for the topic."""
    finish_row(row, work, now)
    values: dict[str, object] = {"updated_at": now}
    if work.is_ok:
        values["last_crawled_at"] = now
    if work.is_ok and moves_on:
        values |= {
            "is_truncated_by_page_limit": work.is_cut,
            "truncated_at_page_number": fit_small(work.last_page or 0) if work.is_cut else None,
        }
    Thread.objects.filter(pk=thread.pk).update(**values)


def finish_row(row: CrawlRunThread, work: ThreadWork, now: datetime) -> None:
    """Record the result for one topic in its run alone, as a repair does."""
    row.fetched_page_count = fit_small(work.fetched_page_count)
    row.page_limit_applied = work.is_cut
    row.new_post_count, row.updated_post_count = work.new_post_count, work.updated_post_count
    row.http_error_code = work.http_error_code
    row.error_summary = fit_summary(work.error_summary) if work.error_summary is not None else None
    row.finished_at = now
    row.save()
    send_news(row.thread)


def skip_thread(run: CrawlRun, thread: Thread, now: datetime) -> None:
    """Record that a changed topic was skipped because it has too many pages."""
    row = begin_thread(run, thread, is_change=True, now=now)
    row.finished_at = now
    row.error_summary = f"{SKIPPED}: {thread.crawl_page_total_last_seen} pages"
    row.save(update_fields=["finished_at", "error_summary"])


def skip_too_long(forum: Forum, now: datetime) -> None:
    """Topics that owe pages and were found too long while they were read: the list may not show them any more."""
    owing = Thread.objects.filter(forum=forum, crawl_backfill_next_page_number__isnull=False)
    for thread in owing.filter(crawl_page_total_last_seen__gt=MOST_PAGES):
        thread.is_skipped_by_page_total_limit, thread.crawl_backfill_next_page_number = True, None
        thread.skipped_by_page_total_limit_at = thread.skipped_by_page_total_limit_at or now
        thread.updated_at = now
        thread.save(
            update_fields=[
                "is_skipped_by_page_total_limit", "crawl_backfill_next_page_number", "skipped_by_page_total_limit_at",
                "updated_at",
            ]
        )  # fmt: skip


def clear_backfill(thread: Thread, now: datetime) -> None:
    """There is no such page: the topic is shorter than it was, and nothing is owed."""
    Thread.objects.filter(pk=thread.pk).update(crawl_backfill_next_page_number=None, updated_at=now)


ANSWERS_BELIEVED = 2


def record_gone(thread: Thread, crawl_run_id: int, now: datetime) -> None:
    state, _ = ThreadReadingState.objects.get_or_create(thread=thread, defaults={"updated_at": now})
    if state.gone_crawl_run_id == crawl_run_id:
        return
    state.gone_answer_count += 1
    state.gone_crawl_run_id, state.updated_at = crawl_run_id, now
    if state.gone_answer_count >= ANSWERS_BELIEVED and state.gone_at is None:
        state.gone_at = now
        publish_topics([thread], GONE, now)
    state.save()


def record_readable(
    thread: Thread, state: ThreadReadingState | None, is_newest_first: bool, now: datetime
) -> ThreadReadingState | None:
    """The topic gave a page: it is not gone. Remembers the order of its floors, too. Most topics need no row."""
    known = (state.is_newest_first, state.gone_answer_count) if state else (False, 0)
    if known == (is_newest_first, 0):
        return state
    state = state or ThreadReadingState(thread=thread)
    state.is_newest_first, state.gone_answer_count = is_newest_first, 0
    state.gone_crawl_run_id = state.gone_at = None
    state.updated_at = now
    state.save()
    return state


ORDINARY, LIKELY, LIVELY = 1, 4, 8
WEIGHTS = (ORDINARY, LIKELY, LIVELY)
# Page with so many edited posts, or with both an edited and a reserving one.
LIVELY_EDITS = 3
FIRST_HOURS = timedelta(hours=6)
# The age of the last event at the next reading, as a multiple of that at this one.
GROWTH = {ORDINARY: 2.0, LIKELY: 1.4, LIVELY: 1.2}
SHORTEST, LONGEST = timedelta(hours=1), timedelta(days=90)
RETRY = timedelta(days=1)
SLOT = timedelta(hours=1)
CANDIDATES = 500

# "Reserved" and the like, alone in a short post; or the announcement of an edit in a post of any length.
_PLACE = re.compile(r"占楼|占坑|占位|占个|先占|预留|留楼|留坑|备用楼?|自留|\breserved?\b", re.IGNORECASE)
_ANNOUNCED = re.compile(
    r"待编辑|待编|待更|待补|待续|待填|待完善|持续更新|不定期更新|更新中|施工中|填坑中|先发后改|稍后补"
    r"|\b(?:wip|tbd|to be edited)\b",
    re.IGNORECASE,
)
_QUOTE = re.compile(r"\[quote\].{0,20000}?\[/quote\]", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"\[[^\[\]]{0,200}\]|<[^<>]{0,20}>")
SHORT_POST, LOOKED_AT = 60, 20_000

PAGES = Columns(
    ThreadPageReading, ["thread", "page_number", "read_at", "quiet_since", "weight", "next_reread_at"]
)  # fmt: skip


def is_reserving(source: str) -> bool:
    """Whether a post says that its text is still to come. What it quotes does not count."""
    text = _TAG.sub("", _QUOTE.sub("", source[:LOOKED_AT])).strip()
    return bool(_ANNOUNCED.search(text) or (len(text) <= SHORT_POST and _PLACE.search(text)))


def weight_of(floors: Iterable[FloorRecord]) -> int:
    """How likely edits are on a page, by what its posts say and by edits that the site names."""
    edited, is_reserved = 0, False
    for floor in floors:
        edited += floor.source_edited_at is not None
        is_reserved = is_reserved or is_reserving(floor.content_source)
    if edited >= LIVELY_EDITS or (edited and is_reserved):
        return LIVELY
    return LIKELY if edited or is_reserved else ORDINARY


def next_reading(read_at: datetime, quiet_since: datetime, weight: int) -> datetime:
    age = max(read_at - quiet_since, timedelta()) + FIRST_HOURS
    return read_at + min(max(age * (GROWTH[weight] - 1), SHORTEST), LONGEST)


def expected_edits(read_at: datetime, quiet_since: datetime, weight: int, now: datetime) -> float:
    """Edits since the last reading, up to a factor that is the same for all pages."""
    before, since = max(read_at - quiet_since, timedelta()), max(now - quiet_since, timedelta())
    return weight * log((since + FIRST_HOURS) / (before + FIRST_HOURS))


def record(reading: PageReading, now: datetime) -> None:
    """Note the pages that are read whole now. An answer without posts proves nothing."""
    pages = whole_pages(reading)
    if not pages:
        return
    shown = chain(reading.floors, reading.before.floors if reading.before else ())
    floors: dict[int, list[FloorRecord]] = {}
    for floor in shown:
        floors.setdefault(floor.floor_number // FLOORS_PER_PAGE + 1, []).append(floor)
    rows = [_row(reading.thread_id, number, floors.get(number, []), now) for number in pages]
    PAGES.upsert(rows, unique=PAGES.names[:2], update=PAGES.names[2:])
    crash_point("nga.page_read")


def whole_pages(reading: PageReading) -> list[int]:
    """Pages by post number: the site's own, or those of which this and the page before hold every post."""
    page = reading.page
    if not page.seen_numbers:
        return []
    if not page.is_newest_first:
        return [page.page_number]
    covered = set(page.expected_numbers()) | set(reading.before.expected_numbers() if reading.before else ())
    found = []
    for number in sorted({floor // FLOORS_PER_PAGE + 1 for floor in covered}):
        first = (number - 1) * FLOORS_PER_PAGE
        if covered.issuperset(range(first, min(first + FLOORS_PER_PAGE, page.total_floors))):
            found.append(number)
    return found


def _row(thread_id: int, number: int, floors: Sequence[FloorRecord], now: datetime) -> tuple[object, ...]:
    times = [at for floor in floors for at in (floor.post_created_at, floor.source_edited_at) if at is not None]
    quiet_since = min(max(times, default=now), now)
    weight = weight_of(floors)
    return (thread_id, number, now, quiet_since, weight, next_reading(now, quiet_since, weight))


def is_anything_due(now: datetime) -> bool:
    # The weights are named for the index.
    return ThreadPageReading.objects.filter(weight__in=WEIGHTS, next_reread_at__lte=now).exists()


def due(now: datetime, limit: int) -> list[ThreadPageReading]:
    """The pages with the most expected edits, among those that wait longest and those with the newest events."""
    found: dict[tuple[int, int], ThreadPageReading] = {}
    for weight in WEIGHTS:
        rows = ThreadPageReading.objects.filter(weight=weight, next_reread_at__lte=now)
        for order in ("next_reread_at", "-quiet_since"):
            found |= {(row.thread_id, row.page_number): row for row in rows.order_by(order)[:CANDIDATES]}
    ranked = sorted(found.items(), key=lambda each: (-_expected(each[1], now), each[0]))
    return [row for _key, row in ranked[:limit]]


def _expected(row: ThreadPageReading, now: datetime) -> float:
    return expected_edits(row.read_at, row.quiet_since, row.weight, now)


def postpone(thread: Thread, numbers: Iterable[int], now: datetime) -> None:
    """Pages that were asked for and not read whole: later, and the later the longer it has not worked."""
    rows = ThreadPageReading.objects.filter(
        thread=thread, page_number__in=list(numbers), next_reread_at__lte=now
    )  # fmt: skip
    for row in rows:
        wait = min(max(now - row.read_at, RETRY), LONGEST)
        rows.filter(page_number=row.page_number).update(next_reread_at=now + wait)


def requests_left(now: datetime) -> int:
    """The part of today's budget for one run: what is left, spread over the rest of the day in Shanghai."""
    local = now.astimezone(SHANGHAI)
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    runs = CrawlRun.objects.filter(run_trigger_text=REREADING, run_started_at__gte=midnight)
    spent = runs.aggregate(sum=Sum("http_request_count"))["sum"] or 0
    left = options.REREAD_REQUESTS.value - spent
    slots = max(ceil((midnight + timedelta(days=1) - local) / SLOT), 1)
    return max(ceil(left / slots), 0)
