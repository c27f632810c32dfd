from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from watchbook.core import registry
from watchbook.core.jobs import overview, runner, scheduler
from watchbook.core.jobs.models import JobRun, State
from watchbook.core.ops import backup
from watchbook.core.ops.backup import taking
from watchbook.core.ops.backup.archive import CannotTake


@pytest.fixture
def nightly(monkeypatch, settings, tmp_path):
    settings.HOME = tmp_path
    job = registry.Job("ops.backup", "watchbook.core.ops.jobs:back_up", queue="maintenance_queue", max_attempts=1)
    monkeypatch.setattr(registry, "jobs", lambda: {job.name: job})
    return lambda: runner.run_now("ops.backup")


@pytest.mark.django_db
def test_nightly_backup_follows_its_switch_without_a_restart(monkeypatch, noon, client, operator):
    def announced() -> list[object]:
        [line] = [line for line in overview.listed(noon) if line["name"] == "ops.backup"]
        return [line["schedule"], line["next_run"]]

    def scheduled(days: int) -> int:
        scheduler.make_due_runs(noon + timedelta(days=days))
        return JobRun.objects.filter(name="ops.backup").count()

    client.force_login(operator)
    scheduler.make_due_runs(noon)
    assert announced() == [None, None]
    assert scheduled(days=1) == 0
    assert "off" in client.get("/operations/jobs/ops.backup/").text
    monkeypatch.setenv("WATCHBOOK_BACKUP_DAILY", "on")
    assert None not in announced()
    assert scheduled(days=2) == 1


@pytest.mark.django_db
def test_trouble_is_one_sentence_and_old_backups_stay(nightly, monkeypatch):
    backup.folder().mkdir()
    for number in range(10):
        (backup.folder() / f"watchbook-{number}.tar").touch()

    def full(path: Path, **_):
        raise CannotTake("The disk has 0.1 GB left.")

    monkeypatch.setattr(taking, "take", full)
    run = nightly()
    assert (run.state, run.error_code, run.error) == (State.FAILED, "backup_failed", "The disk has 0.1 GB left.")
    assert len(list(backup.folder().iterdir())) == 10


@pytest.mark.django_db
def test_good_backup_lets_the_oldest_go(nightly, monkeypatch):
    monkeypatch.setenv("WATCHBOOK_BACKUP_KEEP", "3")
    backup.folder().mkdir()
    for number in range(5):
        (backup.folder() / f"watchbook-{number}.tar").touch()

    def taken(path: Path, *, report, **_):
        report({"step": "database"})
        path.touch()
        return taking.Taken(
            path, 1, "", taking.Manifest("1", "2026-01-01T00:00:00+00:00", "sqlite", False, [], {"t": 9})
        )

    monkeypatch.setattr(taking, "take", taken)
    run = nightly()
    assert run.state == State.DONE
    assert (run.progress["rows"], run.progress["removed"]) == (9, 3)
    assert len(list(backup.folder().iterdir())) == 3
    assert (backup.folder() / run.progress["name"]).exists()
