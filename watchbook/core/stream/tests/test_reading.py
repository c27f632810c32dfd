"""The watermark and its marks, against a plain set of unread ids."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given, settings
from hypothesis import strategies as st

from watchbook.base import clock
from watchbook.base.testing.environment import examples
from watchbook.base.testing.people import make_person
from watchbook.core.jobs.runner import run_now
from watchbook.core.stream import reading
from watchbook.core.stream.entries import record
from watchbook.core.stream.models import ReadingMark, ReadingState, StreamEntry
from watchbook.core.stream.tests.conftest import NOON, entry

pytestmark = pytest.mark.django_db


def fill(count, start=0, **given):
    """Record entries; returns their ids in order of arrival."""
    record([entry(f"{start}-{number}", **given) for number in range(count)])
    return list(
        StreamEntry.objects.filter(object_id__startswith=f"{start}-").order_by("pk").values_list("pk", flat=True)
    )


def unread(user):
    reader = reading.reader_of(user)
    return [row.pk for row in reading.unread_entries(reader, reader.entries, size=5000)]


def count(user):
    return str(reading.count_unread(reading.reader_of(user)))


def test_entries_from_before_the_account_are_read(alice):
    fill(3)
    newcomer = make_person("newcomer")
    later = fill(2, start=1)
    assert unread(newcomer) == later[::-1]
    assert count(alice) == "5"


def test_marks_differ_from_the_watermark_only(alice):
    ids = fill(5)
    assert len(reading.mark(alice, ids[1:3], read=True)) == 2
    assert unread(alice) == [ids[4], ids[3], ids[0]]
    with clock.set_to(clock.now() + timedelta(minutes=5)):
        reading.mark_all_read(alice)
    assert (unread(alice), ReadingMark.objects.count()) == ([], 0)
    assert ReadingState.objects.get(user=alice).watermark == ids[4]
    reading.mark(alice, [ids[0]], read=False)
    assert (unread(alice), ReadingMark.objects.count()) == ([ids[0]], 1)


def test_entry_of_a_slow_transaction_stays_unread(alice):
    """A lower id may be committed later: the watermark does not pass entries of the last two minutes."""
    ids = fill(3)
    late = StreamEntry.objects.get(pk=ids[1])
    StreamEntry.objects.filter(pk=ids[1]).delete()
    reading.mark_all_read(alice)
    assert unread(alice) == []
    late.save(force_insert=True)
    assert unread(alice) == [ids[1]]


def test_all_read_spares_what_came_after_the_page(alice):
    ids = fill(4)
    with clock.set_to(clock.now() + timedelta(minutes=5)):
        reading.mark_all_read(alice, until=ids[1])
    assert unread(alice) == [ids[3], ids[2]]


@pytest.mark.sql
def test_more_marks_than_a_list_reads_by_id_are_found_all(alice, monkeypatch):
    ids = fill(8)
    with clock.set_to(clock.now() + timedelta(minutes=5)):
        reading.mark_all_read(alice)
    reading.mark(alice, ids[:6], read=False)
    monkeypatch.setattr(reading, "MOST_EARLIER", 2)
    reader = reading.reader_of(alice)
    assert unread(alice) == ids[5::-1]
    assert count(alice) == "6"
    after = reading.unread_entries(reader, reader.entries, after=ids[0], size=4)
    assert [row.pk for row in after] == ids[4:0:-1]
    oldest = reading.unread_entries(reader, reader.entries.filter(pk=ids[0]), size=5)
    assert [row.pk for row in oldest] == ids[:1]


def test_entries_of_others_are_neither_counted_nor_marked(alice, bob):
    hidden = fill(2, scope=f"user:{bob.pk}")
    assert reading.mark(alice, hidden, read=True) == []
    assert (unread(alice), count(alice)) == ([], "0")
    assert count(bob) == "2"


def test_rows_stay_few_for_one_who_leaves_one_entry_unread(alice, monkeypatch):
    monkeypatch.setattr(reading, "KEPT_MARKS", 10)
    ids = fill(60)
    with clock.set_to(clock.now() + timedelta(minutes=5)):
        for pk in ids[1:]:
            reading.mark(alice, [pk], read=True)
    assert unread(alice) == [ids[0]]
    assert ReadingMark.objects.count() <= 11
    assert ReadingState.objects.get(user=alice).watermark > ids[0]


def test_nightly_job_passes_what_others_can_see(alice, bob):
    fill(5, scope=f"user:{bob.pk}")
    ids = fill(2, start=1)
    with clock.set_to(clock.now() + timedelta(minutes=5)):
        run_now("stream.clean")
    assert ReadingState.objects.get(user=alice).watermark == ids[0] - 1
    assert unread(alice) == ids[::-1]


def test_counts_are_bounded(alice, monkeypatch):
    fill(12)
    reader = reading.reader_of(alice)
    assert str(reading.count_unread(reader, most=9)) == "9+"
    monkeypatch.setattr(reading, "COUNTED_IDS", 4)
    assert str(reading.count_unread(reader)) == "4+"


def test_page_costs_the_same_queries_for_2_and_400_entries(alice):
    costs = []
    for number in (2, 400):
        ids = fill(number, start=number)
        reading.mark(alice, ids[::2], read=True)
        reading.mark_all_read(alice, until=ids[0])
        with CaptureQueriesContext(connection) as captured:
            reader = reading.reader_of(alice)
            reading.unread_entries(reader, reader.entries)
            reading.count_unread(reader)
        costs.append(len(captured))
    # Scopes, watermark, list and count; each has a second part while marks before the watermark exist.
    assert max(costs) <= 6


def test_marking_costs_a_bounded_number_of_queries(alice):
    ids = fill(300)
    with CaptureQueriesContext(connection) as captured:
        reading.mark(alice, ids, read=True)
    assert len(captured) <= 16


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("record"), st.lists(st.booleans(), min_size=1, max_size=6)),
        st.tuples(st.sampled_from(["read", "unread"]), st.sets(st.integers(0, 40), max_size=12)),
        st.tuples(st.just("all"), st.integers(0, 60)),
        st.tuples(st.just("kind"), st.integers(0, 60)),
        st.tuples(st.just("wait"), st.integers(1, 4)),
        st.tuples(st.just("compact"), st.just(0)),
        st.tuples(st.just("delete"), st.integers(0, 40)),
    ),
    max_size=25,
)


class History:
    """A user's real state beside a set of unread ids."""

    def __init__(self, user):
        self.user, self.now, self.ids, self.visible, self.naive = user, NOON, [], {}, set()

    def record(self, visible):
        for is_visible in visible:
            number = len(self.visible)
            kind = "new" if number % 3 == 0 else "edited"
            (pk,) = fill(1, start=number, kind=kind, scope="members" if is_visible else "user:0")
            self.ids.append(pk)
            self.visible[pk] = kind if is_visible else ""
            if is_visible:
                self.naive.add(pk)

    def chosen(self, numbers):
        return [self.ids[number % len(self.ids)] for number in numbers] if self.ids else []

    def read(self, numbers):
        reading.mark(self.user, ids := self.chosen(numbers), read=True)
        self.naive -= set(ids)

    def unread(self, numbers):
        reading.mark(self.user, ids := self.chosen(numbers), read=False)
        self.naive |= {pk for pk in ids if self.visible[pk]}

    def all(self, number):
        until = self.chosen([number])[0] if self.ids and number < 50 else None
        reading.mark_all_read(self.user, until=until)
        self.naive = {pk for pk in self.naive if until is not None and pk > until}

    def kind(self, number):
        until = (self.chosen([number]) or [0])[0]
        rows = reading.reader_of(self.user).entries.filter(kind="new")
        matching = {pk for pk in self.naive if pk <= until and self.visible[pk] == "new"}
        assert reading.mark_rows_read(self.user, rows, until=until) == (len(matching), False)
        self.naive -= matching

    def wait(self, minutes):
        self.now += timedelta(minutes=minutes)

    def compact(self, _nothing):
        with reading.transaction.atomic():
            reading._compact(reading._locked(self.user), ["members"])

    def delete(self, number):
        if self.ids:
            pk = self.ids.pop(number % len(self.ids))
            StreamEntry.objects.filter(pk=pk).delete()
            self.naive.discard(pk)

    def check(self):
        expected = sorted(self.naive, reverse=True)
        assert unread(self.user) == expected
        assert count(self.user) == str(len(expected))
        reader = reading.reader_of(self.user)
        assert reading.unread_among(reader, self.ids) & set(expected) == set(expected)
        if expected:
            middle = expected[len(expected) // 2]
            rows = reader.entries
            newer = [row.pk for row in reading.unread_entries(reader, rows, after=middle, size=2)]
            assert newer == [pk for pk in expected if pk > middle][-2:]
            older = [row.pk for row in reading.unread_entries(reader, rows, before=middle, size=2)]
            assert older == [pk for pk in expected if pk < middle][:2]


@settings(max_examples=examples(60), deadline=None)
@given(steps=STEPS, kept=st.sampled_from([0, 2, 100]), window=st.sampled_from([1, 3, 2000]))
def test_any_history_equals_a_plain_set(steps, kept, window):
    with reading.transaction.atomic(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "KEPT_MARKS", kept)
        patch.setattr(reading, "WINDOW", window)
        history = History(make_person("reader"))
        for name, value in steps:
            with clock.set_to(history.now):
                getattr(history, name)(value)
                history.check()
        reading.transaction.set_rollback(True)
