from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbook.core import watching
from watchbook.core.watching import ACTIVE, ERROR, PAUSED, Plan, Watched, cron

NOW = datetime(2026, 3, 2, 4, 0, tzinfo=UTC)
HOURLY = Plan(interval=timedelta(hours=1), jitter_share=0)
DAILY = Plan(schedule=cron("20 4 * * *"))
NEW = Watched(ACTIVE, 0, False, NOW)


def fail(watched, times, plan=HOURLY, **more):
    steps = []
    for _ in range(times):
        step = watching.failed(watched, plan, "key", watched.next_at, **more)
        watched = step.watched
        steps.append(step)
    return steps


def test_third_failure_begins_the_error_state_once():
    steps = fail(NEW, 5)
    assert [step.entered_error for step in steps] == [False, False, True, False, False]
    assert [step.watched.status for step in steps] == [ACTIVE, ACTIVE, ERROR, ERROR, ERROR]


def test_backoff_doubles_up_to_the_longest_wait():
    moments = [NOW, *(step.watched.next_at for step in fail(NEW, 10))]
    hours = [(after - before) / timedelta(hours=1) for before, after in pairwise(moments)]
    assert hours == [1, 1, 1, 2, 4, 8, 16, 24, 24, 24]


def test_success_after_a_notified_error_recovers_once():
    broken = fail(NEW, 3)[-1].watched
    step = watching.succeeded(broken, HOURLY, "key", broken.next_at)
    assert step.recovered
    assert (step.watched.status, step.watched.failures) == (ACTIVE, 0)
    assert not watching.succeeded(step.watched, HOURLY, "key", step.watched.next_at).recovered


def test_recovery_survives_pause_resume_and_another_failure():
    broken = fail(NEW, 3)[-1].watched
    resumed = watching.resumed(watching.paused(broken), NOW)
    assert (resumed.status, resumed.failures, resumed.is_due(NOW)) == (ACTIVE, 0, True)
    again = watching.failed(resumed, HOURLY, "key", NOW)
    assert not again.entered_error
    assert watching.succeeded(again.watched, HOURLY, "key", NOW).recovered


def test_paused_thing_is_never_due():
    assert not watching.paused(NEW).is_due(NOW + timedelta(days=99))
    assert watching.paused(NEW).status == PAUSED


@pytest.mark.parametrize("plan", [HOURLY, DAILY, Plan(interval=timedelta(minutes=15))])
@given(failures=st.integers(0, 40), minutes=st.integers(-3000, 3000), pause=st.none() | st.floats(0, 1e12))
def test_no_result_leaves_a_check_due_for_ever(plan, failures, minutes, pause):
    now = NOW + timedelta(minutes=minutes)
    watched = Watched(ERROR if failures >= 3 else ACTIVE, failures, failures >= 3, NOW)
    for following in (
        watching.failed(watched, plan, "key", now, asked_pause=pause).watched,
        watching.succeeded(watched, plan, "key", now).watched,
        watching.skipped(watched, plan, "key", now),
    ):
        assert following.next_at > now
        assert not plan.is_far_ahead(following.next_at, now)


def test_retry_after_is_respected_up_to_the_longest_wait():
    assert HOURLY.next_at("key", NOW, asked_pause=7200) == NOW + timedelta(hours=2)
    assert HOURLY.next_at("key", NOW, asked_pause=60) == NOW + timedelta(hours=1)
    assert HOURLY.next_at("key", NOW, asked_pause=1e18) == NOW + timedelta(hours=24)


def test_cron_plan_uses_its_slots_whatever_failed():
    assert DAILY.next_at("key", NOW, failures=9) == cron("20 4 * * *").next_after(NOW)


def test_jitter_comes_early_and_is_stable_per_thing():
    plan = Plan(interval=timedelta(hours=1))
    moments = {plan.next_at(f"key{n}", NOW) for n in range(50)}
    assert len(moments) == 50
    assert all(NOW + timedelta(minutes=58) <= moment <= NOW + timedelta(hours=1) for moment in moments)
    assert plan.next_at("key1", NOW) == plan.next_at("key1", NOW)


def test_moment_of_a_jumped_clock_is_far_ahead():
    assert HOURLY.is_far_ahead(datetime(2038, 1, 1, tzinfo=UTC), NOW)
    assert not HOURLY.is_far_ahead(NOW + timedelta(hours=24), NOW)


def test_plan_needs_an_interval_or_a_schedule():
    with pytest.raises(ValueError, match="either"):
        Plan()
