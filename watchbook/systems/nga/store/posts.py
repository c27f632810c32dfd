"""Store one page of a topic: posts, versions, absences, comments and the crawl position, in one transaction."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from watchbook.base.store.rows import Columns
from watchbook.base.work import crash_point
from watchbook.systems.nga.models import NoteParent, Post, PostAbsence, PostFact, Thread
from watchbook.systems.nga.parse import FloorRecord, StubRecord
from watchbook.systems.nga.parse.records import FLOORS_PER_PAGE
from watchbook.systems.nga.store import runs, versions
from watchbook.systems.nga.store.lists import title_values
from watchbook.systems.nga.store.publish import IndexedPost, index_posts, index_threads, notify_posts, publish_posts
from watchbook.systems.nga.store.versions import (
    NEW_FLOOR,
    Change,
    Cuts,
    KnownFloor,
    NewFloor,
    PageReading,
    PageStored,
    absent,
    fit_count,
)

READINGS_OF_A_DELETION = 2
AGAIN = ("reading_count", "crawl_run_id", "last_absent_at")
FIRST_ABSENCE = Columns(PostAbsence, [*AGAIN, "first_absent_at", "post_id"])
ABSENT_AGAIN = Columns(PostAbsence, AGAIN)


def record_absences(floors: Iterable[KnownFloor], crawl_run_id: int, now: datetime) -> list[Change]:
    """Count this reading for each; gives those that are deleted now. Two readings of one run count once."""
    first, again, gone = [], [], []
    for floor in floors:
        if floor.is_deleted_by_source or floor.absent_run_id == crawl_run_id:
            continue
        count = (floor.absent_count or 0) + 1
        if floor.absent_count is None:
            first.append((count, crawl_run_id, now, now, floor.pk))
            continue
        again.append((count, crawl_run_id, now, floor.pk))
        if count >= READINGS_OF_A_DELETION:
            gone.append(absent(floor))
    FIRST_ABSENCE.insert(first)
    ABSENT_AGAIN.update(again)
    return gone


def clear_absences(floors: Sequence[KnownFloor]) -> None:
    """Delete the absences of posts that are shown again."""
    known = [floor.pk for floor in floors if floor.absent_count is not None]
    if known:
        PostAbsence.objects.filter(pk__in=known).delete()


PARENTS = Columns(NoteParent, ["thread_id", "source_post_id", "parent_source_post_id", "created_at"])


def store_parents(
    thread_id: int,
    shown: Iterable[FloorRecord | StubRecord],
    stored: Mapping[int, KnownFloor],
    fresh: Iterable[int],
    now: datetime,
) -> None:
    """Of notes that are stored, now or before, and whose post was not known. Nothing is written for any other."""
    new = set(fresh)
    rows = {
        one.source_post_id: (thread_id, one.source_post_id, one.parent_post_id, now)
        for one in shown
        if one.parent_post_id is not None
        and (
            one.source_post_id in new
            or ((floor := stored.get(one.source_post_id)) is not None and floor.parent_post_id is None)
        )
    }
    PARENTS.insert(list(rows.values()), pass_over=True)


log = logging.getLogger(__name__)


def store_page(reading: PageReading, now: datetime) -> PageStored:
    """An unchanged page costs three queries. The topic's row is held: a repair beside it waits."""
    thread = versions.lock_thread(reading.thread_id)
    shown, span = _shown_ids(reading), _span(reading)
    stored = versions.known_posts(thread.pk, span, [record.floor_number for record in reading.floors], shown)
    cuts = Cuts()
    fresh, changes = _compare(thread, reading, stored, now, cuts)
    if missed := _not_shown(reading, stored.values(), span, shown):
        changes += record_absences(missed, reading.crawl_run_id, now)
    clear_absences([floor for floor in stored.values() if floor.source_post_id in shown])
    NEW_FLOOR.insert(fresh)
    store_parents(thread.pk, _shown(reading), stored, [floor.source_post_id for floor in fresh], now)
    versions.apply(changes, reading.run_thread_id, now)
    keys = _keys(thread, fresh)
    _store_facts((*reading.floors, *reading.page.notes_elsewhere), stored, keys)
    crash_point("nga.floors_written")
    _move(thread, reading, [*stored.values(), *fresh], now)
    runs.record(reading, now)
    _tell(thread, fresh, changes, keys, now)
    notify_posts(thread, fresh, changes, keys, now)
    return PageStored(len(fresh), len(changes), cuts)


FACTS = Columns(PostFact, ["post", "up_vote_count", "source_edited_at", "client_text", "known_values"])
MOST_VOTES = 2**31 - 1


def _keys(thread: Thread, fresh: Sequence[NewFloor]) -> dict[int, int]:
    """Row keys of new posts by post id."""
    if not fresh:
        return {}
    rows = Post.objects.filter(thread_id=thread.pk, source_post_id__in=[floor.source_post_id for floor in fresh])
    return dict(rows.values_list("source_post_id", "pk"))


def _store_facts(records: Iterable[FloorRecord], stored: Mapping[int, KnownFloor], keys: Mapping[int, int]) -> None:
    """Votes, edit times and clients that are not as they were. A page that says the same writes nothing."""
    rows = {}
    for record in records:
        floor = stored.get(record.source_post_id)
        pk = floor.pk if floor else keys.get(record.source_post_id)
        votes = max(-MOST_VOTES, min(record.up_vote_count, MOST_VOTES))
        stamp = int(record.source_edited_at.timestamp()) if record.source_edited_at else 0
        values = f"{votes}|{stamp}|{record.client_text}"
        known = floor.known_facts if floor else None
        if pk is not None and values != (known or "0|0|"):
            rows[pk] = (pk, votes, record.source_edited_at, record.client_text, values)
    if rows:
        FACTS.upsert(list(rows.values()), unique=["post"], update=FACTS.names[1:])


def _span(reading: PageReading) -> range:
    """Return the post numbers of this page, also those past the current end of the topic."""
    page = reading.page
    if page.is_newest_first:
        return page.expected_numbers()
    first = (page.page_number - 1) * FLOORS_PER_PAGE
    return range(first, first + FLOORS_PER_PAGE)


def _compare(
    thread: Thread, reading: PageReading, stored: dict[int, KnownFloor], now: datetime, cuts: Cuts
) -> tuple[list[NewFloor], list[Change]]:
    """Return new and changed posts; posts whose number is taken are counted in the log."""
    taken = {floor.floor_number for floor in stored.values()}
    fresh, changes, conflicts = [], [], 0
    for record in reading.floors:
        floor = stored.get(record.source_post_id)
        if floor is not None:
            change = versions.difference(floor, record)
            changes += [change] if change else []
        elif record.floor_number in taken:
            conflicts += 1
        else:
            taken.add(record.floor_number)
            fresh.append(versions.new_floor(thread, record, now, cuts))
    # Notes shown under their posts whose floors stand on other pages: what is stored of them is kept up to date.
    for note in reading.page.notes_elsewhere:
        if (floor := stored.get(note.source_post_id)) and (change := versions.difference(floor, note)):
            changes.append(change)
    bodiless = {stub.source_post_id for stub in reading.page.stubs} - {one.source_post_id for one in reading.floors}
    gone = [floor for pid in bodiless if (floor := stored.get(pid)) and floor.is_deleted_by_source]
    changes += [versions.reappeared(floor) for floor in gone]
    if conflicts:
        log.warning("topic %s: %d floors have numbers of other posts", thread.source_thread_id, conflicts)
    return fresh, changes


def _shown(reading: PageReading) -> tuple[FloorRecord | StubRecord, ...]:
    return (*reading.floors, *reading.page.stubs, *reading.page.notes_elsewhere)


def _shown_ids(reading: PageReading) -> set[int]:
    return {one.source_post_id for one in _shown(reading)}


def _not_shown(reading: PageReading, stored: Iterable[KnownFloor], span: range, shown: set[int]) -> list[KnownFloor]:
    if not reading.page.seen_numbers:
        return []  # an answer without any floor never counts as twenty deletions
    return [floor for floor in stored if floor.floor_number in span and floor.source_post_id not in shown]


def _move(thread: Thread, reading: PageReading, floors: Sequence[KnownFloor | NewFloor], now: datetime) -> None:
    page = reading.page
    values = _cursor_values(thread, floors)
    values |= title_values(thread, page, now)
    wanted: dict[str, Any] = {"crawl_page_total_last_seen": fit_count(page.page_count)}
    if page.is_digest is not None:
        wanted["is_digest"] = page.is_digest
    if reading.moves_on:
        wanted["crawl_backfill_next_page_number"] = reading.next_page
    values |= {name: value for name, value in wanted.items() if getattr(thread, name) != value}
    # A reading of single pages changes until when edits are known, which mirrors of the list have to see.
    if values or not reading.moves_on:
        values["updated_at"] = now
        for name, value in values.items():
            setattr(thread, name, value)
        _columns(tuple(values)).update([(*values.values(), thread.pk)])


@cache
def _columns(names: tuple[str, ...]) -> Columns:
    """A topic's place is mostly moved by the same few columns."""
    return Columns(Thread, names)


def _cursor_values(thread: Thread, floors: Sequence[KnownFloor | NewFloor]) -> dict[str, Any]:
    """The cursor is the highest floor that is stored."""
    highest = max((floor.floor_number for floor in floors), default=-1)
    pid = max((floor.source_post_id for floor in floors), default=-1)
    values: dict[str, Any] = {}
    if highest > (-1 if thread.crawl_cursor_max_floor_number is None else thread.crawl_cursor_max_floor_number):
        values["crawl_cursor_max_floor_number"] = highest
    if pid > (-1 if thread.crawl_cursor_max_source_post_id is None else thread.crawl_cursor_max_source_post_id):
        values["crawl_cursor_max_source_post_id"] = pid
    return values


def _tell(thread: Thread, fresh: list[NewFloor], changes: list[Change], keys: Mapping[int, int], now: datetime) -> None:
    opening = [floor.content_html for floor in fresh if floor.floor_number == 0]
    opening += [change.content_html for change in changes if change.floor.floor_number == 0 and change.has_new_text]
    if opening:
        index_threads([thread], now, opening_html=opening[0])
    _index(thread, fresh, changes, keys)
    told = [change for change in changes if change.reasons]
    if told:
        publish_posts(thread, told, now)


def _index(thread: Thread, fresh: list[NewFloor], changes: list[Change], keys: Mapping[int, int]) -> None:
    """New and changed texts into the search."""
    posts = [
        IndexedPost(keys[new.source_post_id], new.floor_number, new.author_name, new.post_created_at, new.content_html)
        for new in fresh
        if new.floor_number
    ]
    for change in changes:
        if change.record and change.has_new_text:
            at = change.record.post_created_at or thread.thread_created_at
            floor = change.floor
            posts.append(IndexedPost(floor.pk, floor.floor_number, floor.author_name, at, change.content_html))
    if posts:
        index_posts(thread, posts)


def store_missing(thread_id: int, floors: Iterable[FloorRecord], wanted: set[int], now: datetime) -> set[int]:
    """Repair: only the floors that are wanted, and neither cursor nor list fields. Gives the numbers now stored."""
    thread = versions.lock_thread(thread_id)
    offered = {record.floor_number: record for record in floors if record.floor_number in wanted}
    if not offered:
        return set()
    pids = {record.source_post_id for record in offered.values()}
    here = versions.known_posts(thread.pk, range(0), offered, pids)
    numbers = {floor.floor_number for floor in here.values()}
    cuts = Cuts()
    fresh = [
        versions.new_floor(thread, record, now, cuts)
        for number, record in sorted(offered.items())
        if number not in numbers and record.source_post_id not in here
    ]
    NEW_FLOOR.insert(fresh)
    store_parents(thread.pk, offered.values(), here, [floor.source_post_id for floor in fresh], now)
    keys = _keys(thread, fresh)
    _store_facts(offered.values(), {}, keys)
    crash_point("nga.repair_written")
    _tell(thread, fresh, [], keys, now)
    return {floor.floor_number for floor in fresh} | (numbers & wanted)
