"""The promise of an outage as `make outages` judges it: three attempts, then one after each pause."""

from __future__ import annotations

from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from tests.outages import desk
from tests.rules.random_outages import Nga, Outage, Reddit

BEGAN = datetime.fromisoformat("2026-06-01T04:00:00+00:00")


@pytest.mark.parametrize(
    ("runs", "is_kept"),
    [
        ([], True),
        ([3, 1, 1], True),
        ([1, 2, 1], True),
        ([4], False),
        ([4, 1], False),
        ([3, 3], False),
        ([3, 1, 2], False),
        ([2, 2], False),
    ],
)
def test_runs_keep_the_promise_or_not(runs, is_kept):
    assert desk.is_calm(desk.attempts_of(runs)) is is_kept


@pytest.mark.parametrize(
    ("seconds", "bursts"),
    [
        ((), []),
        ((0, 5), [2]),
        ((0, 5, 300, 640, 1300), [3, 1, 1]),
        ((0, 1, 2, 3, 400), [4, 1]),
        ((0, 10, 20, 400, 410), [3, 2]),
    ],
)
def test_attempts_of_a_receiver_that_do_not_wait_count_together(monkeypatch, seconds, bursts):
    attempts = [SimpleNamespace(at=BEGAN + timedelta(seconds=after)) for after in seconds]
    monkeypatch.setattr(desk, "failed_attempts", lambda _outage: attempts)
    assert desk.bursts_of_attempts(Outage("down")) == bursts


@pytest.mark.parametrize(("seconds", "pauses"), [(30, 0), (60, 1), (400, 2), (3060, 4), (19_800, 13)])
def test_forum_has_no_more_attempts_than_pauses_end(seconds, pauses):
    site: Any = None
    outage = Outage("down", began_at=BEGAN, ended_at=BEGAN + timedelta(seconds=seconds))
    assert desk.most_pauses(Nga(site), outage) == pauses
    assert desk.most_pauses(Reddit(site), outage) > 10_000
