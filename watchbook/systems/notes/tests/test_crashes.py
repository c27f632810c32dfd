"""A collection that is killed: its lock and its claims come back after their time, and no note is there twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from datetime import timedelta

import pytest
from django.conf import settings

from watchbook.base import clock
from watchbook.base.testing import servers
from watchbook.systems.notes import actions
from watchbook.systems.notes.jobs.collect import collect
from watchbook.systems.notes.models import Candidate, CandidateStatus, Execution, Note
from watchbook.systems.notes.tests.data import offer

pytestmark = [pytest.mark.crash, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize(
    ("place", "collected"), [("notes.acquired:1", 0), ("notes.committing:1", 0), ("notes.committing:3", 2)]
)
def test_killed_collection_is_finished_by_the_next(platform, pool, place, collected):
    pool()
    notes = platform.add_many(5)
    offer(*notes)
    own = {"DATABASE_URL": servers.same_database(), "WATCHBOOK_HOME": str(settings.HOME), "CRASH_AT": place}
    command = [sys.executable, "-m", "watchbook", "notes", "collect"]
    killed = subprocess.run(command, env={**os.environ, **own}, capture_output=True, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert Note.objects.count() == collected
    later = clock.now() + timedelta(minutes=31)
    with clock.set_to(later):
        actions.recover()
        totals = collect()
    assert totals.collected == 5 - collected
    assert set(Note.objects.values_list("note_id", flat=True)) == {note.note_id for note in notes}
    assert Note.objects.count() == 5
    assert set(Candidate.objects.values_list("status", flat=True)) == {CandidateStatus.COLLECTED}
    assert not Execution.objects.exclude(slot=None).exists()
