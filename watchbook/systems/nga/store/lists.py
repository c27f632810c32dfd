"""Store one page of a topic list: new topics, changed fields, titles and tags, and which topics to crawl.

The page to crawl next is written in the same transaction as the new last reply, so a change that was seen is not lost
when the run is interrupted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from watchbook.base.clock import SHANGHAI
from watchbook.base.work import crash_point
from watchbook.systems.nga import options
from watchbook.systems.nga.models import (
    MOST_PAGES,
    Forum,
    SingleTopicForum,
    TagSource,
    Thread,
    ThreadReadingState,
    ThreadTag,
    ThreadTagMap,
)
from watchbook.systems.nga.parse import TopicPage, TopicRecord, prefixes
from watchbook.systems.nga.parse.records import FLOORS_PER_PAGE
from watchbook.systems.nga.store.publish import NEW_TOPIC, TITLE_CHANGED, index_threads, publish_topics
from watchbook.systems.nga.store.versions import (
    MAX_NAME,
    MAX_PREFIX,
    MAX_TAG,
    MAX_TITLE,
    Cuts,
    ListStored,
    fit_count,
    fit_small,
    fit_text,
)

Named = tuple[str, str]
"""Source and text of a tag."""


def tags_of(record: TopicRecord, cuts: Cuts) -> list[Named]:
    named = tags_of_title(record.title, cuts)
    if record.topic_tag:
        named.append((TagSource.TOPIC_TAG.value, fit_text(record.topic_tag, MAX_TAG, "tag", cuts)))
    return named


def tags_of_title(title: str, cuts: Cuts) -> list[Named]:
    return [(TagSource.TITLE_PREFIX.value, fit_text(text, MAX_TAG, "tag", cuts)) for text in prefixes(title)]


def attach_tags(wanted: Mapping[int, Sequence[Named]], now: datetime) -> None:
    """Tags by row id of their topics. Costs one query when all are there already, and none without tags."""
    named = {tag for tags in wanted.values() for tag in tags}
    if not named:
        return
    ids = _ids(named)
    missing = [tag for tag in sorted(named) if tag not in ids]
    if missing:
        rows = [ThreadTag(tag_source=source, tag_text=text, created_at=now, updated_at=now) for source, text in missing]
        ThreadTag.objects.bulk_create(rows, ignore_conflicts=True)
        ids = _ids(named)
    maps = [
        ThreadTagMap(thread_id=thread_id, tag_id=ids[tag], first_attached_at=now)
        for thread_id, tags in wanted.items()
        for tag in dict.fromkeys(tags)
    ]
    ThreadTagMap.objects.bulk_create(maps, ignore_conflicts=True, batch_size=500)


def _ids(named: set[Named]) -> dict[Named, int]:
    rows = ThreadTag.objects.filter(tag_text__in={text for _, text in named})
    return {(row.tag_source, row.tag_text): row.pk for row in rows}


def prefix_of(title: str, cuts: Cuts) -> str | None:
    found = prefixes(title)
    return fit_text(found[0], MAX_PREFIX, "prefix", cuts) if found else None


def title_values(thread: Thread, page: TopicPage, now: datetime) -> dict[str, Any]:
    """A title that changed since the list was read. A mirror has the title of its row, not that of the topic."""
    cuts = Cuts()
    title = fit_text(page.title, MAX_TITLE, "title", cuts)
    if not title or title == thread.title or page.fid != thread.forum.source_forum_id:
        return {}
    values = {"title": title, "title_prefix_text": prefix_of(page.title, cuts), "title_last_changed_at": now}
    thread.title = title
    attach_tags({thread.pk: tags_of_title(page.title, cuts)}, now)
    index_threads([thread], now)
    publish_topics([thread], TITLE_CHANGED, now)
    return values


LIST_FIELDS = (
    "title", "title_prefix_text", "title_last_changed_at", "last_reply_at", "reply_count_display", "view_count_display",
    "is_pinned",
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
    has_pins: bool = False
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


# The board of the specification: suggested to operators, and crawled only when they ask for it.
SUGGESTED_FID, SUGGESTED_NAME = 7, "艾泽拉斯议事厅"


def ensure_forum(fid: int, now: datetime) -> None:
    """Add a board that the operator names in an option or a command."""
    values = {
        "forum_name": SUGGESTED_NAME if fid == SUGGESTED_FID else None,
        "list_url": list_url(fid),
        "created_at": now,
        "updated_at": now,
    }
    forum, _ = Forum.objects.get_or_create(source_forum_id=fid, defaults=values)
    SingleTopicForum.objects.filter(forum=forum).delete()


def list_url(fid: int) -> str:
    return f"{options.BASE_URL.value}/thread.php?fid={fid}&order_by=postdatedesc"[:255]


def store_list_page(reading: ListReading, now: datetime) -> ListStored:
    cuts = Cuts()
    known = {thread.source_thread_id: thread for thread in _known(reading)}
    found = _Found(records={record.tid: record for record in reading.topics})
    for record in reading.topics:
        _take(reading, record, known.get(record.tid), found, now, cuts)
    Thread.objects.bulk_create(found.new)
    Thread.objects.bulk_update(found.written, LIST_FIELDS, batch_size=50)
    crash_point("nga.list_written")
    if reading.has_pins:
        _unpin(reading, now)
    _tag(found, now, cuts)
    _store_order([*found.new, *known.values()], found.records, now)
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
    # Always in the same order: two writers of the same topics wait for each other instead of deadlocking.
    rows = Thread.objects.select_for_update().order_by("pk")
    return rows.filter(forum_id=reading.forum.pk, source_thread_id__in=tids)


def _take(
    reading: ListReading, record: TopicRecord, thread: Thread | None, found: _Found, now: datetime, cuts: Cuts
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
        values |= _backfill_values(thread, record, now)
        found.changed.append(thread)
    elif _grew_too_long(thread, record) or (thread.is_skipped_by_page_total_limit and reading.is_in_window(record)):
        values |= _backfill_values(thread, record, now)
    if values:
        for name, value in {**values, "updated_at": now}.items():
            setattr(thread, name, value)
        found.written.append(thread)


def _grew_too_long(thread: Thread, record: TopicRecord) -> bool:
    """It owes pages and has too many by now: what is owed is not read any more, in the window or after it."""
    return thread.crawl_backfill_next_page_number is not None and record.page_count > MOST_PAGES


def _new_thread(reading: ListReading, record: TopicRecord, now: datetime, cuts: Cuts) -> Thread:
    assert record.thread_created_at is not None  # it is in the window
    thread = Thread(
        forum_id=reading.forum.pk,
        source_thread_id=record.tid,
        title=fit_text(record.title, MAX_TITLE, "title", cuts),
        title_prefix_text=prefix_of(record.title, cuts),
        author_name=fit_text(record.author_name, MAX_NAME, "author", cuts),
        author_source_user_id=record.author_source_user_id,
        thread_created_at=record.thread_created_at,
        last_reply_at=_last_reply(record),
        reply_count_display=fit_count(record.reply_count_display),
        view_count_display=None if record.view_count_display is None else fit_count(record.view_count_display),
        is_pinned=bool(record.is_pinned),
        is_digest=bool(record.is_digest),
        first_seen_on_list_page_number=fit_small(reading.page_number),
        last_seen_on_list_page_number=fit_small(reading.page_number),
        last_detected_change_at=now,
        created_at=now,
        updated_at=now,
    )
    for name, value in _backfill_values(thread, record, now).items():
        setattr(thread, name, value)
    return thread


def _seen_values(
    reading: ListReading, record: TopicRecord, thread: Thread, now: datetime, cuts: Cuts
) -> dict[str, Any]:
    """List fields that are different from the stored ones."""
    seen: dict[str, Any] = {
        "title": fit_text(record.title, MAX_TITLE, "title", cuts) or thread.title,
        "last_reply_at": _last_reply(record) or thread.last_reply_at,
        "reply_count_display": fit_count(record.reply_count_display),
        "last_seen_on_list_page_number": fit_small(reading.page_number),
    }
    # A pinned topic may occur a second time at its ordinary place: only the first page is decisive.
    if record.is_pinned is not None and reading.has_pins:
        seen["is_pinned"] = record.is_pinned
    if record.is_digest is not None:
        seen["is_digest"] = record.is_digest
    if record.view_count_display is not None:
        seen["view_count_display"] = fit_count(record.view_count_display)
    values = {name: value for name, value in seen.items() if getattr(thread, name) != value}
    if "title" in values:
        values |= {"title_prefix_text": prefix_of(record.title, cuts), "title_last_changed_at": now}
    return values


def _last_reply(record: TopicRecord) -> datetime | None:
    """A topic without replies has been last spoken in by its author."""
    return record.last_reply_at or record.thread_created_at


def _backfill_values(thread: Thread, record: TopicRecord, now: datetime) -> dict[str, Any]:
    """Return the page to crawl next: the one already set, else the page of the last stored post."""
    pages = record.page_count
    values: dict[str, Any] = {"crawl_page_total_last_seen": fit_count(pages)}
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
    """Unpin topics that are not on page 1, where all pinned topics are listed."""
    pinned = [record.tid for record in reading.topics if record.is_pinned]
    others = Thread.objects.filter(forum_id=reading.forum.pk, is_pinned=True).exclude(source_thread_id__in=pinned)
    others.update(is_pinned=False, updated_at=now)


def _tag(found: _Found, now: datetime, cuts: Cuts) -> None:
    threads = {thread.pk: thread for thread in (*found.new, *found.retitled, *found.changed)}
    attach_tags({pk: tags_of(found.records[one.source_thread_id], cuts) for pk, one in threads.items()}, now)


def _store_order(threads: Iterable[Thread], records: dict[int, TopicRecord], now: datetime) -> None:
    """Store which topics show newest replies first, and that listed topics are not deleted."""
    threads = list(threads)
    states = ThreadReadingState.objects.in_bulk([thread.pk for thread in threads])
    for thread in threads:
        is_newest_first = records[thread.source_thread_id].is_newest_first
        state = states.get(thread.pk) or ThreadReadingState(thread=thread)
        if state.is_newest_first != is_newest_first:
            _recount_backfill(thread, records[thread.source_thread_id], now)
        if (state.is_newest_first, state.gone_answer_count) != (is_newest_first, 0):
            state.is_newest_first, state.gone_answer_count = is_newest_first, 0
            state.gone_crawl_run_id = state.gone_at = None
            state.updated_at = now
            state.save()


def _recount_backfill(thread: Thread, record: TopicRecord, now: datetime) -> None:
    """The page that is owed has another number now: it is the one of the floor after the last that is known."""
    known = thread.crawl_cursor_max_floor_number
    if thread.crawl_backfill_next_page_number is None or known is None:
        return
    number = page_of_floor(known + 1, record.reply_count_display + 1, record.is_newest_first)
    thread.crawl_backfill_next_page_number, thread.updated_at = number, now
    thread.save(update_fields=["crawl_backfill_next_page_number", "updated_at"])


def _tell(found: _Found, now: datetime) -> None:
    index_threads([*found.new, *found.retitled], now)
    publish_topics(found.new, NEW_TOPIC, now)
    publish_topics(found.retitled, TITLE_CHANGED, now)
