"""Many at once. NOTES_RACE_ROUNDS=200 runs the whole distance."""

from __future__ import annotations

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection, connections

from watchbook.base import clock
from watchbook.systems.notes import actions, store
from watchbook.systems.notes.models import Candidate, CandidateStatus, Cookie, CookieLease, Execution, Note
from watchbook.systems.notes.store import candidates
from watchbook.systems.notes.store import pool as cookie_pool
from watchbook.systems.notes.store.candidates import FoundNote, store_found
from watchbook.systems.notes.tests.data import commit, held, note_id

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = int(os.environ.get("NOTES_RACE_ROUNDS", "10"))
CALLERS = 40
WORKERS, NOTES = 20, 2000


class _Connections:
    """A thread gives its connection back, also to a pool that has fewer than there are threads."""

    def close(self) -> None:
        connections.close_all()


def together(count, act):
    """The same step by so many threads at one moment; gives what each came back with."""
    barrier = Barrier(count)

    def step(number):
        barrier.wait(timeout=60)
        with closing(_Connections()):
            return act(number)

    with ThreadPoolExecutor(count) as threads:
        return [done.result(timeout=120) for done in [threads.submit(step, number) for number in range(count)]]


def test_of_forty_acquires_one_wins_in_every_round():
    """The same forty threads in every round, each with its own connection; between rounds the winner releases."""
    got, fences = [], []

    def settle():
        [winner] = [one for one in got if one.locked]
        assert len(got) == CALLERS
        assert Execution.objects.filter(workflow_name="collect", status="running").count() == 1
        fences.append(winner.fence)
        store.release(winner.holder, "completed", clock.now())
        got.clear()

    start, end = Barrier(CALLERS), Barrier(CALLERS, action=settle)

    def call():
        with closing(_Connections()):
            for _ in range(ROUNDS):
                start.wait(timeout=60)
                got.append(store.acquire("collect", clock.now()))
                if connection.vendor == "postgresql":
                    connections.close_all()  # its pool has fewer connections than there are threads
                end.wait(timeout=60)

    with ThreadPoolExecutor(CALLERS) as threads:
        for done in [threads.submit(call) for _ in range(CALLERS)]:
            done.result(timeout=3600)
    assert Execution.objects.count() == ROUNDS
    assert fences == sorted(set(fences)), "a fence only grows"


def test_expired_lock_is_taken_by_one_run():
    long_ago = clock.now() - timedelta(hours=1)
    for number in range(min(ROUNDS, 20)):
        assert store.acquire(f"w{number}", long_ago).locked
        got = together(10, lambda _number, name=f"w{number}": store.acquire(name, clock.now()))
        assert sum(one.locked for one in got) == 1


def test_twenty_workers_claim_every_candidate_once():
    store_found([FoundNote(note_id(number), "xhs") for number in range(1, NOTES + 1)], clock.now())

    def work(number):
        mine = store.acquire(f"worker {number}", clock.now()).holder
        taken = []
        while rows := candidates.claim(mine, 10, clock.now()):
            taken += [row.note_id for row in rows]
        return taken

    taken = Counter(one for part in together(WORKERS, work) for one in part)
    assert len(taken) == NOTES
    assert set(taken.values()) == {1}
    assert Candidate.objects.filter(status=CandidateStatus.PROCESSING).count() == NOTES
    assert Candidate.objects.exclude(processing_lock=None).values("processing_lock").distinct().count() <= WORKERS


def test_same_note_committed_by_many_is_written_once():
    store_found([FoundNote(note_id(1), "xhs")], clock.now())
    mine = store.acquire("collect", clock.now()).holder
    actions.claim(held(mine))
    done = together(10, lambda _number: commit(mine, note_id(1)))
    assert Counter(one["action"] for one in done) == {"created": 1, "skipped": 9}
    assert Note.objects.count() == 1
    assert Execution.objects.get().items_processed == 1


def test_daily_limit_is_never_overshot():
    for number in range(3):
        actions.add_cookie(f"cookie {number}", f"web_session=made-up-{number}-12345", daily_limit=7)

    def take(_number):
        try:
            return cookie_pool.lease("xhs", 1, clock.now()).cookie_name
        except actions.NotesError as error:
            return str(error.code)

    got = Counter(one for _ in range(2) for one in together(20, take))
    assert got.pop("COOKIE_EXHAUSTED") == 40 - 21
    assert set(got.values()) == {7}
    assert set(Cookie.objects.values_list("daily_used", flat=True)) == {7}
    assert CookieLease.objects.count() == 21
