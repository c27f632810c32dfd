from __future__ import annotations

from datetime import timedelta

import pytest

from watchbook.base import clock
from watchbook.core.jobs.runner import run_now
from watchbook.core.stream import entries
from watchbook.core.stream.entries import record
from watchbook.core.stream.models import StreamEntry
from watchbook.core.stream.tests.conftest import entry

pytestmark = pytest.mark.django_db


def clean():
    return run_now("stream.clean")


def fill(days, count):
    with clock.set_to(clock.now() - timedelta(days=days)):
        record([entry(f"{days}-{number}") for number in range(count)])


def test_entries_older_than_the_option_are_deleted(monkeypatch):
    monkeypatch.setenv("STREAM_KEEP_DAYS", "30")
    monkeypatch.setattr(entries, "BATCH", 3)
    fill(days=31, count=7)
    fill(days=29, count=2)
    run = clean()
    assert (run.outcome, run.progress) == ("done", {"removed": 7})
    assert StreamEntry.objects.count() == 2
    assert clean().outcome == "nothing_to_do"


def test_zero_keeps_everything(monkeypatch):
    monkeypatch.setenv("STREAM_KEEP_DAYS", "0")
    fill(days=5000, count=1)
    assert clean().outcome == "nothing_to_do"
    assert StreamEntry.objects.count() == 1
