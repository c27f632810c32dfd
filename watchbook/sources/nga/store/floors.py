"""One page of a topic: its floors, their versions, and the place up to which the topic is read, all or nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from watchbook.base.crash import crash_point
from watchbook.base.store.rows import Columns
from watchbook.sources.nga.models import Thread
from watchbook.sources.nga.parse import FloorRecord, StubRecord
from watchbook.sources.nga.parse.records import FLOORS_PER_PAGE
from watchbook.sources.nga.store import absences, fit, known, versions
from watchbook.sources.nga.store.hung import note_parents
from watchbook.sources.nga.store.known import KnownFloor
from watchbook.sources.nga.store.records import PageReading, PageStored
from watchbook.sources.nga.store.telling import index_threads, tell_floors
from watchbook.sources.nga.store.titles import title_values
from watchbook.sources.nga.store.versions import NEW_FLOOR, Change, NewFloor

log = logging.getLogger(__name__)


def store_page(reading: PageReading, now: datetime) -> PageStored:
    """An unchanged page costs two queries. The topic's row is held: a repair beside it waits."""
    thread = known.hold_thread(reading.thread_id)
    shown, span = _shown_ids(reading), _span(reading)
    stored = known.floors(thread.pk, span, [record.floor_number for record in reading.floors], shown)
    cuts = fit.Cuts()
    fresh, changes = _compare(thread, reading, stored, now, cuts)
    if missed := _not_shown(reading, stored.values(), span, shown):
        changes += absences.note_absent(missed, reading.crawl_run_id, now)
    absences.forget([floor for floor in stored.values() if floor.source_post_id in shown])
    NEW_FLOOR.insert(fresh)
    note_parents(thread.pk, _shown(reading), stored, [floor.source_post_id for floor in fresh], now)
    versions.apply(changes, reading.run_thread_id, now)
    crash_point("nga.floors_written")
    _move(thread, reading, [*stored.values(), *fresh], now)
    _tell(thread, fresh, changes, now)
    return PageStored(len(fresh), len(changes), cuts)


def _span(reading: PageReading) -> range:
    """Floors that would stand on this page, also those past the present end of the topic."""
    page = reading.page
    if page.is_newest_first:
        return page.expected_numbers()
    first = (page.page_number - 1) * FLOORS_PER_PAGE
    return range(first, first + FLOORS_PER_PAGE)


def _compare(
    thread: Thread, reading: PageReading, stored: dict[int, KnownFloor], now: datetime, cuts: fit.Cuts
) -> tuple[list[NewFloor], list[Change]]:
    """New floors and changed ones; the log tells how many could not be placed."""
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
        return []  # an answer without any floor is never taken for twenty deletions
    return [floor for floor in stored if floor.floor_number in span and floor.source_post_id not in shown]


def _move(thread: Thread, reading: PageReading, floors: Sequence[KnownFloor | NewFloor], now: datetime) -> None:
    page = reading.page
    values = _cursor_values(thread, floors)
    values |= title_values(thread, page, now)
    wanted: dict[str, Any] = {"crawl_page_total_last_seen": fit.count(page.page_count)}
    if page.is_digest is not None:
        wanted["is_digest"] = page.is_digest
    if reading.moves_on:
        wanted["crawl_backfill_next_page_number"] = reading.next_page
    values |= {name: value for name, value in wanted.items() if getattr(thread, name) != value}
    if values:
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


def _tell(thread: Thread, fresh: list[NewFloor], changes: list[Change], now: datetime) -> None:
    opening = [floor.content_html for floor in fresh if floor.floor_number == 0]
    opening += [change.content_html for change in changes if change.floor.floor_number == 0 and change.has_new_text]
    if opening:
        index_threads([thread], now, opening_html=opening[0])
    told = [change for change in changes if change.reasons]
    if told:
        tell_floors(thread, told, now)


def store_missing(thread_id: int, floors: Iterable[FloorRecord], wanted: set[int], now: datetime) -> set[int]:
    """Repair: only the floors that are wanted, and neither cursor nor list fields. Gives the numbers now stored."""
    thread = known.hold_thread(thread_id)
    offered = {record.floor_number: record for record in floors if record.floor_number in wanted}
    if not offered:
        return set()
    pids = {record.source_post_id for record in offered.values()}
    here = known.floors(thread.pk, range(0), offered, pids)
    numbers = {floor.floor_number for floor in here.values()}
    cuts = fit.Cuts()
    fresh = [
        versions.new_floor(thread, record, now, cuts)
        for number, record in sorted(offered.items())
        if number not in numbers and record.source_post_id not in here
    ]
    NEW_FLOOR.insert(fresh)
    note_parents(thread.pk, offered.values(), here, [floor.source_post_id for floor in fresh], now)
    crash_point("nga.repair_written")
    _tell(thread, fresh, [], now)
    return {floor.floor_number for floor in fresh} | (numbers & wanted)
