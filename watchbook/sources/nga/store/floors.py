"""One page of a topic: its floors, their versions, and the place up to which the topic is read, all or nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import Q

from watchbook.base.crash import crash_point
from watchbook.sources.nga.models import Post, Thread
from watchbook.sources.nga.parse import FloorRecord
from watchbook.sources.nga.parse.records import FLOORS_PER_PAGE
from watchbook.sources.nga.store import absences, fit, rows, versions
from watchbook.sources.nga.store.records import PageReading, PageStored
from watchbook.sources.nga.store.telling import index_threads, tell_floors
from watchbook.sources.nga.store.titles import title_values
from watchbook.sources.nga.store.versions import Change

log = logging.getLogger(__name__)

# What is asked about a stored floor, and what a change writes back. The text, by far the largest, is read when needed.
COMPARED = (
    "source_post_id", "floor_number", "author_name", "content_fingerprint_sha256", "is_deleted_by_source",
    "is_folded_by_source", "content_last_changed_at",
)  # fmt: skip


def store_page(reading: PageReading, now: datetime) -> PageStored:
    """An unchanged page costs two queries. The topic's row is held: a repair beside it waits."""
    thread = Thread.objects.select_for_update().get(pk=reading.thread_id)
    known = _known(thread, reading)
    cuts = fit.Cuts()
    fresh, changes, conflicts = _compare(thread, reading, known, now, cuts)
    changes += absences.note_absent(_not_shown(reading, known.values()), reading.crawl_run_id, now)
    absences.forget([post for post in known.values() if _is_shown(reading, post)])
    rows.insert(fresh)
    versions.apply(changes, reading.run_thread_id, now)
    crash_point("nga.floors_written")
    _move(thread, reading, [*known.values(), *fresh], now)
    _tell(thread, fresh, changes, now)
    return PageStored(len(fresh), len(changes), conflicts, cuts)


def _known(thread: Thread, reading: PageReading) -> dict[int, Post]:
    numbers = {*_span(reading), *(record.floor_number for record in reading.floors)}
    pids = _shown_ids(reading)
    same = Q(floor_number__in=numbers) | Q(source_post_id__in=pids)
    posts = Post.objects.filter(same, thread_id=thread.pk).select_related("absence").only(*COMPARED, "absence")
    return {post.source_post_id: post for post in posts}


def _span(reading: PageReading) -> range:
    """Floors that would stand on this page, also those past the present end of the topic."""
    page = reading.page
    if page.is_newest_first:
        return page.expected_numbers()
    first = (page.page_number - 1) * FLOORS_PER_PAGE
    return range(first, first + FLOORS_PER_PAGE)


def _compare(
    thread: Thread, reading: PageReading, known: dict[int, Post], now: datetime, cuts: fit.Cuts
) -> tuple[list[Post], list[Change], int]:
    """New floors, changed ones, and how many could not be placed."""
    taken = {post.floor_number for post in known.values()}
    fresh, changes, conflicts = [], [], 0
    for record in reading.floors:
        post = known.get(record.source_post_id)
        if post is not None:
            change = versions.difference(post, record)
            changes += [change] if change else []
        elif record.floor_number in taken:
            conflicts += 1
        else:
            taken.add(record.floor_number)
            fresh.append(versions.new_post(thread, record, now, cuts))
    # Notes shown under their posts whose floors stand on other pages: what is stored of them is kept up to date.
    for note in reading.page.notes_elsewhere:
        if (post := known.get(note.source_post_id)) and (change := versions.difference(post, note)):
            changes.append(change)
    bodiless = {stub.source_post_id for stub in reading.page.stubs} - {one.source_post_id for one in reading.floors}
    changes += [versions.reappeared(post) for pid in bodiless if (post := known.get(pid)) and post.is_deleted_by_source]
    if conflicts:
        log.warning("topic %s: %d floors have numbers of other posts", thread.source_thread_id, conflicts)
    return fresh, changes, conflicts


def _is_shown(reading: PageReading, post: Post) -> bool:
    return post.source_post_id in _shown_ids(reading)


def _shown_ids(reading: PageReading) -> set[int]:
    shown: Iterable[Any] = (*reading.floors, *reading.page.stubs, *reading.page.notes_elsewhere)
    return {one.source_post_id for one in shown}


def _not_shown(reading: PageReading, known: Iterable[Post]) -> list[Post]:
    if not reading.page.seen_numbers:
        return []  # an answer without any floor is never taken for twenty deletions
    span, shown = _span(reading), _shown_ids(reading)
    return [post for post in known if post.floor_number in span and post.source_post_id not in shown]


def _move(thread: Thread, reading: PageReading, posts: list[Post], now: datetime) -> None:
    page = reading.page
    values = cursor_values(thread, posts)
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
        rows.update([thread], values)


def cursor_values(thread: Thread, posts: list[Post]) -> dict[str, Any]:
    """The cursor is the highest floor that is stored."""
    floor = max((post.floor_number for post in posts), default=-1)
    pid = max((post.source_post_id for post in posts), default=-1)
    values: dict[str, Any] = {}
    if floor > (-1 if thread.crawl_cursor_max_floor_number is None else thread.crawl_cursor_max_floor_number):
        values["crawl_cursor_max_floor_number"] = floor
    if pid > (-1 if thread.crawl_cursor_max_source_post_id is None else thread.crawl_cursor_max_source_post_id):
        values["crawl_cursor_max_source_post_id"] = pid
    return values


def _tell(thread: Thread, fresh: list[Post], changes: list[Change], now: datetime) -> None:
    opening = [post for post in fresh if post.floor_number == 0]
    opening += [change.post for change in changes if change.post.floor_number == 0 and change.record]
    if opening:
        index_threads([thread], now, opening_html=opening[0].content_html)
    told = [(change.post, change.reasons) for change in changes if change.reasons]
    if told:
        tell_floors(thread, told, now)


def store_missing(thread_id: int, floors: Iterable[FloorRecord], wanted: set[int], now: datetime) -> set[int]:
    """Repair: only the floors that are wanted, and neither cursor nor list fields. Gives the numbers now stored."""
    thread = Thread.objects.select_for_update().get(pk=thread_id)
    offered = {record.floor_number: record for record in floors if record.floor_number in wanted}
    if not offered:
        return set()
    pids = [record.source_post_id for record in offered.values()]
    here = Post.objects.filter(Q(floor_number__in=offered) | Q(source_post_id__in=pids), thread_id=thread.pk)
    taken = list(here.values_list("floor_number", "source_post_id"))
    numbers, ids = {number for number, _ in taken}, {pid for _, pid in taken}
    cuts = fit.Cuts()
    fresh = [
        versions.new_post(thread, record, now, cuts)
        for number, record in sorted(offered.items())
        if number not in numbers and record.source_post_id not in ids
    ]
    rows.insert(fresh)
    crash_point("nga.repair_written")
    _tell(thread, fresh, [], now)
    return {post.floor_number for post in fresh} | (numbers & wanted)
