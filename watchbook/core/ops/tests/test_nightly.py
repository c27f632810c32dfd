from __future__ import annotations

from pathlib import Path

import pytest

from watchbook.core import registry
from watchbook.core.jobs import runner
from watchbook.core.jobs.models import State
from watchbook.core.ops import jobs
from watchbook.core.ops.backup import shelf, taking
from watchbook.core.ops.backup.errors import CannotTake


@pytest.fixture
def nightly(monkeypatch, settings, tmp_path):
    settings.HOME = tmp_path
    job = registry.Job("ops.backup", "watchbook.core.ops.jobs:back_up", queue="maintenance_queue", max_attempts=1)
    monkeypatch.setattr(registry, "jobs", lambda: {job.name: job})
    return lambda: runner.run_now("ops.backup")


def test_nightly_backup_is_off_unless_switched_on(monkeypatch, noon):
    assert jobs.backup_wanted(noon) is False
    monkeypatch.setenv("WATCHBOOK_BACKUP_DAILY", "on")
    assert jobs.backup_wanted(noon) is True


@pytest.mark.django_db
def test_trouble_is_one_sentence_and_old_backups_stay(nightly, monkeypatch):
    shelf.folder().mkdir()
    for number in range(10):
        (shelf.folder() / f"watchbook-{number}.tar").touch()

    def full(path: Path, **_):
        raise CannotTake("The disk has 0.1 GB left.")

    monkeypatch.setattr(taking, "take", full)
    run = nightly()
    assert (run.state, run.error_code, run.error) == (State.FAILED, "backup_failed", "The disk has 0.1 GB left.")
    assert len(list(shelf.folder().iterdir())) == 10


@pytest.mark.django_db
def test_a_good_backup_lets_the_oldest_go(nightly, monkeypatch):
    monkeypatch.setenv("WATCHBOOK_BACKUP_KEEP", "3")
    shelf.folder().mkdir()
    for number in range(5):
        (shelf.folder() / f"watchbook-{number}.tar").touch()

    def taken(path: Path, *, tell, **_):
        tell({"step": "database"})
        path.touch()
        return taking.Taken(
            path, 1, "", taking.Manifest("1", "2026-01-01T00:00:00+00:00", "sqlite", False, [], {"t": 9})
        )

    monkeypatch.setattr(taking, "take", taken)
    run = nightly()
    assert run.state == State.DONE
    assert (run.progress["rows"], run.progress["removed"]) == (9, 3)
    assert len(list(shelf.folder().iterdir())) == 3
    assert (shelf.folder() / run.progress["name"]).exists()
