"""A worker stops in the middle of a run: the next run takes its lock over; a run that does nothing says why."""

from __future__ import annotations

from datetime import timedelta

import pytest

from watchbook.base import clock
from watchbook.base.logs import using_request_id
from watchbook.core.jobs import queue
from watchbook.core.jobs.models import JobRun
from watchbook.core.jobs.runner import run_now
from watchbook.systems.notes import store
from watchbook.systems.notes.jobs.collect import has_pending
from watchbook.systems.notes.models import Candidate, CandidateStatus, Execution, Note
from watchbook.systems.notes.rules import LockLost
from watchbook.systems.notes.store import candidates
from watchbook.systems.notes.store import pool as cookie_pool
from watchbook.systems.notes.tests.data import offer

pytestmark = pytest.mark.django_db


def stopped(job="notes.collect", workflow="collect", *, request_id=""):
    """A run whose worker was killed with the lock and all candidates; its lease has ended."""
    run = queue.claim(queue.enqueue(job, exclusive=f"job:{job}", request_id=request_id), "killed worker")
    with using_request_id(request_id or f"run-{run.pk}-{run.fence}"):
        got = store.acquire(workflow, clock.now())
        candidates.claim(got.holder, 10, clock.now())
    JobRun.objects.filter(pk=run.pk).update(lease_until=clock.now() - timedelta(seconds=1))
    return got


@pytest.mark.parametrize("request_id", ["", "request-of-a-person"])
def test_next_run_takes_the_lock_of_a_killed_run(platform, pool, request_id):
    pool()
    offer(*platform.add_many(3))
    dead = stopped(request_id=request_id)
    assert queue.requeue_expired() == 1
    assert has_pending(clock.now())
    run = run_now("notes.collect", exclusive="job:notes.collect")
    assert (run.outcome, run.progress["collected"], Note.objects.count()) == ("done", 3, 3)
    assert Execution.objects.get(execution_id=dead.execution_id).status == "timeout"
    with pytest.raises(LockLost):
        store.renew(dead.holder, clock.now())


def test_candidates_of_a_killed_run_count_an_attempt(platform, pool):
    pool()
    offer(*platform.add_many(1))
    for _ in range(3):
        stopped()
        queue.requeue_expired()
        run_now("notes.recover")
    assert Candidate.objects.get().status == CandidateStatus.FAILED


@pytest.mark.parametrize(("job", "workflow"), [("notes.creators", "creators"), ("notes.comments", "comments")])
def test_locks_of_creators_and_comments_are_freed_too(platform, job, workflow):
    stopped(job, workflow)
    queue.requeue_expired()
    run_now("notes.recover")
    assert not Execution.objects.exclude(slot=None).exists()


def test_lock_of_another_program_is_kept_and_named(platform, pool):
    pool()
    stopped("notes.creators", "creators")
    queue.requeue_expired()
    offer(*platform.add_many(3))
    with using_request_id("n8n"):
        other = store.acquire("collect", clock.now())
    run = run_now("notes.collect")
    assert (run.outcome, run.progress) == ("nothing_to_do", {"reason": "held_by_another"})
    store.renew(other.holder, clock.now())


def test_lock_of_a_run_with_a_valid_lease_is_kept(platform, pool):
    pool()
    offer(*platform.add_many(3))
    dead = stopped()
    JobRun.objects.update(lease_until=clock.now() + timedelta(minutes=5))
    run_now("notes.recover")
    store.renew(dead.holder, clock.now())


def test_run_that_does_nothing_says_why(platform, pool, monkeypatch):
    pool()
    assert run_now("notes.collect").progress == {}
    offer(*platform.add_many(3))
    monkeypatch.setenv("NOTES_RUNNER", "off")
    assert run_now("notes.collect").progress == run_now("notes.creators").progress == {"reason": "runner_off"}
    monkeypatch.delenv("NOTES_RUNNER")
    cookie_pool.open_breaker("xhs", "outage", clock.now())
    assert run_now("notes.collect").progress == run_now("notes.search").progress == {"reason": "breaker_open"}
    monkeypatch.setenv("NOTES_ADAPTER", "")
    assert run_now("notes.collect").progress == run_now("notes.comments").progress == {"reason": "no_adapter"}
