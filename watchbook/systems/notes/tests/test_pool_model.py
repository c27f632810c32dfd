"""Random histories of the pool against the document's diagram, written down a second time and more plainly."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest
from django.db import connections
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from watchbook.base.testing.environment import examples
from watchbook.systems.notes import actions
from watchbook.systems.notes.models import Breaker, Cookie, CookieLease
from watchbook.systems.notes.rules import NotesError
from watchbook.systems.notes.store import pool
from watchbook.systems.notes.tests.data import START

# NOTES_MODEL_EXAMPLES=500 runs many more.
EXAMPLES = int(os.environ.get("NOTES_MODEL_EXAMPLES", examples(15)))
COOKIE_ERRORS = ["", "counted", "cool", "heavy", "dead"]
LIMIT = 6


class Diagram:
    """What the document draws, for one cookie."""

    def __init__(self):
        self.state, self.in_row, self.total, self.until, self.rounds = "active", 0, 0, None, 0

    def rest(self, now):
        if self.state == "cooling" and now >= self.until:
            self.state, self.in_row, self.until = "active", 0, None

    def end(self, cookie_error, has_succeeded, began_in_round, now):
        self.rest(now)
        if self.state in ("invalid", "banned") or began_in_round != self.rounds:
            return
        if not cookie_error:
            if has_succeeded and self.state == "active":
                self.in_row = 0
            return
        self.total += 1
        self.in_row += 1
        if cookie_error == "dead":
            self.state, self.until = "invalid", None
        elif self.state == "cooling":
            self.state, self.until = "banned", None
        elif self.total >= 10:
            self.state = "invalid"
        elif self.in_row >= 3 or cookie_error in ("cool", "heavy"):
            self.state, self.until = "cooling", now + timedelta(minutes=30)
            self.rounds += 1


class PoolMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        for model in (CookieLease, Cookie, Breaker):
            model.objects.all().delete()
        self.now = START
        self.drawn = {name: Diagram() for name in ("one", "two")}
        self.used = dict.fromkeys(self.drawn, 0)
        self.day = pool.today(self.now)
        self.out = []
        for name in self.drawn:
            actions.add_cookie(name, f"web_session=made-up-of-{name}-12345", daily_limit=LIMIT)

    @rule(minutes=st.sampled_from([1, 10, 29, 30, 31, 300, 1500]))
    def time_goes_by(self, minutes):
        self.now += timedelta(minutes=minutes)

    def begin_day(self):
        if pool.today(self.now) != self.day:
            self.day = pool.today(self.now)
            self.used = dict.fromkeys(self.drawn, 0)

    @rule(wanted=st.integers(1, 4))
    def lease(self, wanted):
        self.begin_day()
        for drawn in self.drawn.values():
            drawn.rest(self.now)
        free = [name for name, drawn in self.drawn.items() if drawn.state == "active" and self.used[name] < LIMIT]
        if not free:
            with pytest.raises(NotesError, match="COOKIE_EXHAUSTED"):
                pool.lease("xhs", wanted, self.now)
            return
        taken = pool.lease("xhs", wanted, self.now)
        assert taken.cookie_name == min(free, key=lambda name: (self.used[name], name))
        assert taken.granted == min(wanted, LIMIT - self.used[taken.cookie_name])
        self.used[taken.cookie_name] += taken.granted
        self.out.append((taken, self.drawn[taken.cookie_name].rounds, self.day))

    @rule(name=st.sampled_from(["one", "two"]))
    def probe(self, name):
        self.begin_day()
        for drawn in self.drawn.values():
            drawn.rest(self.now)
        taken = pool.probe(Cookie.objects.get(cookie_name=name), self.now)
        self.used[name] += 1
        self.out.append((taken, self.drawn[name].rounds, self.day))

    @precondition(lambda self: self.out)
    @rule(data=st.data(), cookie_error=st.sampled_from(COOKIE_ERRORS), succeeded=st.booleans())
    def end(self, data, cookie_error, succeeded):
        place = data.draw(st.integers(0, len(self.out) - 1))
        taken, began_in_round, day = self.out.pop(place)
        asked = data.draw(st.integers(0, taken.granted))
        use = pool.Use(asked=asked, succeeded=int(succeeded), cookie_error=cookie_error)
        pool.end(taken, use, self.now)
        pool.end(taken, pool.Use(asked=0, cookie_error="dead"), self.now)
        self.drawn[taken.cookie_name].end(cookie_error, succeeded, began_in_round, self.now)
        # What the database still counts as the old day is only begun anew by the next lease.
        if day == Cookie.objects.get(pk=taken.cookie_id).daily_date == self.day:
            self.used[taken.cookie_name] = max(self.used[taken.cookie_name] - (taken.granted - asked), 0)

    @rule()
    def restart(self):
        """Nothing is kept in the process: a new connection sees the same pool."""
        if not connections["default"].in_atomic_block:
            connections.close_all()

    @rule(name=st.sampled_from(["one", "two"]))
    def a_new_secret(self, name):
        self.begin_day()
        number = self.now.timestamp() + Cookie.objects.get(cookie_name=name).secret_version
        actions.add_cookie(name, f"web_session=made-up-{name}-{number:.0f}")
        drawn = self.drawn[name]
        drawn.state, drawn.in_row, drawn.total, drawn.until = "active", 0, 0, None
        drawn.rounds += 1

    @invariant()
    def the_rows_are_as_drawn(self):
        for name, drawn in self.drawn.items():
            row = Cookie.objects.get(cookie_name=name)
            seen = (row.status, row.consecutive_errors, row.total_errors, row.cooling_until)
            resting = row.status == "cooling" and row.cooling_until <= self.now
            if resting:
                continue  # its time is up; the next lease or end notices
            drawn.rest(self.now)
            assert seen == (drawn.state, drawn.in_row, drawn.total, drawn.until), name
            if row.daily_date == self.day and pool.today(self.now) == self.day:
                assert row.daily_used == self.used[name], name


def walk(*, examples, steps):
    free = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}
    chosen = settings(max_examples=examples, stateful_step_count=steps, **free)
    run_state_machine_as_test(PoolMachine, settings=chosen)


@pytest.mark.django_db
def test_pool_behaves_as_the_diagram_says():
    walk(examples=EXAMPLES, steps=30)


@pytest.mark.django_db(transaction=True)
def test_pool_survives_restarts():
    walk(examples=3, steps=20)
