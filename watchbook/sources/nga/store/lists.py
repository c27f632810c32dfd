"""One page of a board's list: new topics, changed fields, and which topics owe a reading, in one transaction.

The mark "owes pages" is written together with the new last reply, so that a change once seen is never lost, however
the run ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from watchbook.base.clock import SHANGHAI
from watchbook.base.crash import crash_point
from watchbook.sources.nga.models import MOST_PAGES, Forum, Thread, ThreadReadingState
from watchbook.sources.nga.parse import TopicRecord
from watchbook.sources.nga.parse.records import FLOORS_PER_PAGE
from watchbook.sources.nga.store import fit
from watchbook.sources.nga.store.records import ListStored
from watchbook.sources.nga.store.tags import attach_tags, tags_of
from watchbook.sources.nga.store.telling import NEW_TOPIC, TITLE_CHANGED, index_threads, tell_topics
from watchbook.sources.nga.store.titles import prefix_of

LIST_FIELDS = (
    "title", "title_prefix_text", "title_last_changed_at", "last_reply_at", "reply_count_display", "is_pinned",
    "is_digest", "last_seen_on_list_page_number", "last_detected_change_at", "crawl_page_total_last_seen",
    "crawl_backfill_next_page_number", "is_skipped_by_page_total_limit", "skipped_by_page_total_limit_at",
    "updated_at",
)  # fmt: skip


@dataclass(frozen=True)
class ListReading:
    """The own topics of one page of a board, each once."""

    forum: Forum
    page_number: int
    topics: Sequence[TopicRecord]
    window: tuple[date, date]
    tells_pins: bool = False
    """The whole first page: what is not pinned here is pinned nowhere."""

    def is_in_window(self, record: TopicRecord) -> bool:
        if record.thread_created_at is None:
            return False
        return self.window[0] <= record.thread_created_at.astimezone(SHANGHAI).date() <= self.window[1]


@dataclass
class _Found:
    new: list[Thread] = field(default_factory=list)
    changed: list[Thread] = field(default_factory=list)
    written: list[Thread] = field(default_factory=list)
    retitled: list[Thread] = field(default_factory=list)
    records: dict[int, TopicRecord] = field(default_factory=dict)


def store_list_page(reading: ListReading, now: datetime) -> ListStored:
    cuts = fit.Cuts()
    known = {thread.source_thread_id: thread for thread in _known(reading)}
    found = _Found(records={record.tid: record for record in reading.topics})
    for record in reading.topics:
        _take(reading, record, known.get(record.tid), found, now, cuts)
    Thread.objects.bulk_create(found.new)
    Thread.objects.bulk_update(found.written, LIST_FIELDS, batch_size=50)
    crash_point("nga.list_written")
    if reading.tells_pins:
        _unpin(reading, now)
    _tag(found, now, cuts)
    _remember_order([*found.new, *known.values()], found.records, now)
    _tell(found, now)
    in_window = {record.tid for record in reading.topics if reading.is_in_window(record)}
    changed = {thread.pk for thread in found.changed}
    owed = {
        thread.pk
        for tid, thread in known.items()
        if tid in in_window and thread.crawl_backfill_next_page_number is not None and thread.pk not in changed
    }
    return ListStored(tuple(found.changed), frozenset(in_window), frozenset(owed), cuts)


def _known(reading: ListReading) -> Iterable[Thread]:
    tids = [record.tid for record in reading.topics]
    # In one order for everybody: two writers of the same topics wait for each other instead of locking up.
    rows = Thread.objects.select_for_update().order_by("pk")
    return rows.filter(forum_id=reading.forum.pk, source_thread_id__in=tids)


def _take(
    reading: ListReading, record: TopicRecord, thread: Thread | None, found: _Found, now: datetime, cuts: fit.Cuts
) -> None:
    if thread is None:
        # What was posted before the window began is not fetched, and without a reading it is no part of the archive.
        if reading.is_in_window(record):
            thread = _new_thread(reading, record, now, cuts)
            found.new.append(thread)
            found.changed.append(thread)
        return
    values = _seen_values(reading, record, thread, now, cuts)
    if values.get("title"):
        found.retitled.append(thread)
    if reading.is_in_window(record) and _last_reply(record) != thread.last_reply_at:
        values["last_detected_change_at"] = now
        values |= _owed(thread, record, now)
        found.changed.append(thread)
    elif _grew_too_long(thread, record) or (thread.is_skipped_by_page_total_limit and reading.is_in_window(record)):
        values |= _owed(thread, record, now)
    if values:
        for name, value in {**values, "updated_at": now}.items():
            setattr(thread, name, value)
        found.written.append(thread)


def _grew_too_long(thread: Thread, record: TopicRecord) -> bool:
    """It owes pages and has too many by now: what is owed is not read any more, in the window or after it."""
    return thread.crawl_backfill_next_page_number is not None and record.page_count > MOST_PAGES


def _new_thread(reading: ListReading, record: TopicRecord, now: datetime, cuts: fit.Cuts) -> Thread:
    assert record.thread_created_at is not None  # it is in the window
    thread = Thread(
        forum_id=reading.forum.pk,
        source_thread_id=record.tid,
        title=fit.text(record.title, fit.TITLE, "title", cuts),
        title_prefix_text=prefix_of(record.title, cuts),
        author_name=fit.text(record.author_name, fit.NAME, "author", cuts),
        author_source_user_id=record.author_source_user_id,
        thread_created_at=record.thread_created_at,
        last_reply_at=_last_reply(record),
        reply_count_display=fit.count(record.reply_count_display),
        is_pinned=bool(record.is_pinned),
        is_digest=bool(record.is_digest),
        first_seen_on_list_page_number=fit.small(reading.page_number),
        last_seen_on_list_page_number=fit.small(reading.page_number),
        last_detected_change_at=now,
        created_at=now,
        updated_at=now,
    )
    for name, value in _owed(thread, record, now).items():
        setattr(thread, name, value)
    return thread


def _seen_values(
    reading: ListReading, record: TopicRecord, thread: Thread, now: datetime, cuts: fit.Cuts
) -> dict[str, Any]:
    """List fields that are different from the stored ones."""
    seen: dict[str, Any] = {
        "title": fit.text(record.title, fit.TITLE, "title", cuts) or thread.title,
        "last_reply_at": _last_reply(record) or thread.last_reply_at,
        "reply_count_display": fit.count(record.reply_count_display),
        "last_seen_on_list_page_number": fit.small(reading.page_number),
    }
    # A pinned topic may stand a second time at its ordinary place: only the first page tells.
    if record.is_pinned is not None and reading.tells_pins:
        seen["is_pinned"] = record.is_pinned
    if record.is_digest is not None:
        seen["is_digest"] = record.is_digest
    values = {name: value for name, value in seen.items() if getattr(thread, name) != value}
    if "title" in values:
        values |= {"title_prefix_text": prefix_of(record.title, cuts), "title_last_changed_at": now}
    return values


def _last_reply(record: TopicRecord) -> datetime | None:
    """A topic without replies has been last spoken in by its author."""
    return record.last_reply_at or record.thread_created_at


def _owed(thread: Thread, record: TopicRecord, now: datetime) -> dict[str, Any]:
    """Where reading begins: at the page that is owed already, else at the page of the last known floor."""
    pages = record.page_count
    values: dict[str, Any] = {"crawl_page_total_last_seen": fit.count(pages)}
    if pages > MOST_PAGES:
        # Known before any request is spent.
        values |= {"is_skipped_by_page_total_limit": True, "crawl_backfill_next_page_number": None}
        values["skipped_by_page_total_limit_at"] = thread.skipped_by_page_total_limit_at or now
        return values
    cursor = thread.crawl_cursor_max_floor_number
    begin = 1 if cursor is None else page_of_floor(cursor, record.reply_count_display + 1, record.is_newest_first)
    values["is_skipped_by_page_total_limit"] = False
    values["crawl_backfill_next_page_number"] = thread.crawl_backfill_next_page_number or begin
    return values


def page_of_floor(floor: int, total: int, is_newest_first: bool) -> int:
    """Pages are cut by floor number: from the beginning, or from the end where the newest replies come first."""
    floor = min(floor, max(total - 1, 0)) if is_newest_first else floor
    return (total - 1 - floor if is_newest_first else floor) // FLOORS_PER_PAGE + 1


def _unpin(reading: ListReading, now: datetime) -> None:
    """Pinned topics stand on page 1 alone: what does not stand there is pinned no more."""
    pinned = [record.tid for record in reading.topics if record.is_pinned]
    others = Thread.objects.filter(forum_id=reading.forum.pk, is_pinned=True).exclude(source_thread_id__in=pinned)
    others.update(is_pinned=False, updated_at=now)


def _tag(found: _Found, now: datetime, cuts: fit.Cuts) -> None:
    threads = {thread.pk: thread for thread in (*found.new, *found.retitled, *found.changed)}
    attach_tags({pk: tags_of(found.records[one.source_thread_id], cuts) for pk, one in threads.items()}, now)


def _remember_order(threads: Iterable[Thread], records: dict[int, TopicRecord], now: datetime) -> None:
    """Which topics show their newest replies first; and one that stands in the list is not gone."""
    threads = list(threads)
    states = ThreadReadingState.objects.in_bulk([thread.pk for thread in threads])
    for thread in threads:
        is_newest_first = records[thread.source_thread_id].is_newest_first
        state = states.get(thread.pk) or ThreadReadingState(thread=thread)
        if state.is_newest_first != is_newest_first:
            _count_from_the_other_end(thread, records[thread.source_thread_id], now)
        if (state.is_newest_first, state.gone_answer_count) != (is_newest_first, 0):
            state.is_newest_first, state.gone_answer_count = is_newest_first, 0
            state.gone_crawl_run_id = state.gone_at = None
            state.updated_at = now
            state.save()


def _count_from_the_other_end(thread: Thread, record: TopicRecord, now: datetime) -> None:
    """The page that is owed has another number now: it is the one of the floor after the last that is known."""
    known = thread.crawl_cursor_max_floor_number
    if thread.crawl_backfill_next_page_number is None or known is None:
        return
    number = page_of_floor(known + 1, record.reply_count_display + 1, record.is_newest_first)
    thread.crawl_backfill_next_page_number, thread.updated_at = number, now
    thread.save(update_fields=["crawl_backfill_next_page_number", "updated_at"])


def _tell(found: _Found, now: datetime) -> None:
    index_threads([*found.new, *found.retitled], now)
    tell_topics(found.new, NEW_TOPIC, now)
    tell_topics(found.retitled, TITLE_CHANGED, now)
