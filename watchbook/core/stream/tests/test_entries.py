from __future__ import annotations

import math

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from watchbook.core.stream.entries import record
from watchbook.core.stream.models import StreamEntry
from watchbook.core.stream.tests.conftest import entry

pytestmark = pytest.mark.django_db


def test_repeat_is_harmless():
    record([entry(1, "first", event_key="r1")])
    record([entry(1, "again", event_key="r1"), entry(1, "second", event_key="r2"), entry(1, kind="new")])
    assert sorted(StreamEntry.objects.values_list("title", flat=True)) == ["first", "second", "thing 1"]


def test_entries_commit_with_their_transaction():
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        record([entry(1)])
        raise ZeroDivisionError
    assert not StreamEntry.objects.exists()


def test_one_ceiling_of_queries_for_1_and_200_entries():
    counts = []
    for size in (1, 200):
        with CaptureQueriesContext(connection) as captured:
            record([entry(f"{size}-{number}") for number in range(size)])
        counts.append(len(captured))
    assert max(counts) <= 5


def test_hostile_text_is_stored_fit_and_cut():
    record([entry(1, "a\x00b\ud800" + "x" * 2000, summary="s\x00" * 5000, data={"k\x00": ["v\ud800", 1, None]})])
    row = StreamEntry.objects.get()
    assert row.title.startswith("ab\ufffdx")
    assert len(row.title) == 500
    assert len(row.summary) == 2000
    assert row.data == {"k": ["v\ufffd", 1, None]}


@pytest.mark.parametrize("address", ["javascript:alert(1)", "//evil.example", "data:text/html,x"])
def test_unsafe_links_are_dropped(address):
    record([entry(1, url_path=address)])
    assert StreamEntry.objects.get().url_path == ""


@pytest.mark.parametrize("given", [{"event_key": "x" * 121}, {"data": {"n": math.nan}}, {"data": {"n": "x" * 30_000}}])
def test_what_no_database_holds_alike_is_refused(given):
    with pytest.raises(ValueError, match=r".+"):
        record([entry(1, **given)])
