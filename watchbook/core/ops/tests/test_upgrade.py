"""Upgrades: a verified backup before migrations, a schema compared with the models, a SQLite file complete at exit."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import zstandard
from django.db import connection

from watchbook.core.ops import schema
from watchbook.core.ops.backup.archive import Reader
from watchbook.core.ops.tests.processes import Running, prepare_tables, rows, run
from watchbook.core.ops.tests.test_backup import python

# As before the last migration of this package.
OLDER = "DROP TABLE process_keys; DELETE FROM django_migrations WHERE app = 'ops' AND name >= '0004'"


@pytest.fixture
def older(tmp_path):
    """A data folder with an account and a schema that lacks one migration."""
    prepare_tables(tmp_path)
    with closing(sqlite3.connect(tmp_path / "watchbook.sqlite3")) as database, database:
        names = {row[1] for row in database.execute("PRAGMA table_info(users)")}
        wanted = dict.fromkeys(names, "") | {"id": "0" * 32, "email": "ada@example.com", "created_at": "2026-01-01"}
        marks = ", ".join("?" * len(wanted))
        database.execute(f"INSERT INTO users ({', '.join(wanted)}) VALUES ({marks})", list(wanted.values()))
        database.executescript(OLDER)
    return tmp_path


FIRST = """
import sys, django
from pathlib import Path
django.setup()
from watchbook.core.ops import first_database, upgrade
first_database.FILE = Path(sys.argv[1])
done = upgrade.migrate_if_needed()
print(len(done.pending))
"""


NEWER = "INSERT INTO django_migrations (app, name, applied) VALUES ('ops', '9999_newer', '2026-01-01')"
USE = """
import sys, django
from pathlib import Path
django.setup()
from watchbook.core.ops import first_database
first_database.FILE = Path(sys.argv[1])
print(first_database.use())
"""


def packed(folder: Path, change: str) -> Path:
    """A first database as a package contains it, after a change."""
    prepare_tables(folder / "made")
    with closing(sqlite3.connect(folder / "made" / "watchbook.sqlite3", isolation_level=None)) as database:
        database.executescript(change)
        database.execute("PRAGMA journal_mode=DELETE")
    assert "-wal" not in "".join(path.name for path in (folder / "made").iterdir())
    file = folder / "first.zst"
    file.write_bytes(zstandard.ZstdCompressor().compress((folder / "made" / "watchbook.sqlite3").read_bytes()))
    return file


@pytest.mark.crash
@pytest.mark.parametrize(("change", "is_used"), [(OLDER, True), (NEWER, False)], ids=["older", "newer"])
def test_first_database_of_a_newer_version_is_not_used(tmp_path, change, is_used):
    home = tmp_path / "home"
    assert python(home, USE, str(packed(tmp_path, change))).strip() == str(is_used)
    assert bool(rows(home, "SELECT name FROM sqlite_master WHERE name = 'users'")) is is_used


@pytest.mark.crash
@pytest.mark.parametrize(
    ("change", "pending"),
    [("SELECT 1", 0), (OLDER, 1), pytest.param(NEWER, None, marks=pytest.mark.nightly)],
    ids=["of this version", "of an older version", "of a newer version"],
)
def test_first_database_comes_from_the_package_and_is_upgraded_if_that_is_older(tmp_path, change, pending):
    home = tmp_path / "home"
    said = python(home, FIRST, str(packed(tmp_path, change))).strip()
    # A file of a newer version is not used: all migrations run.
    assert int(said) == pending if pending is not None else int(said) > 50
    assert rows(home, "SELECT COUNT(*) FROM process_keys") == [(0,)]
    assert rows(home, "SELECT COUNT(*) FROM django_migrations WHERE name = '9999_newer'") == [(0,)]
    assert rows(home, "PRAGMA journal_mode") == [("wal",)]


@pytest.mark.crash
@pytest.mark.parametrize("command", ["up", "migrate"])
def test_upgrade_makes_a_verified_backup_first(older, command):
    if command == "up":
        process = Running(older, "-m", "watchbook", "up")
        process.wait_for("Watchbook is at")
        assert process.ask() == 0
        output = "".join(process.lines)
    else:
        done = run(older, "migrate", "--verbosity", "0")
        assert done.returncode == 0
        output = done.stderr
    [kept] = (older / "backups").glob("watchbook-*.tar")
    assert f"{kept}: " in output
    reader = Reader(kept)
    reader.check(lambda: None)
    assert ["ops", "0004_process_keys"] not in reader.manifest.migrations
    assert (reader.manifest.tables["users"], "process_keys" in reader.manifest.tables) == (1, False)
    reader.close()
    assert rows(older, "SELECT COUNT(*) FROM process_keys") == [(0,)]
    assert rows(older, "SELECT subject FROM audit_events WHERE event = 'backup.made'") == [(kept.name,)]
    if command == "migrate":
        assert run(older, "migrate", "--verbosity", "0").returncode == 0
        assert len(list((older / "backups").iterdir())) == 1  # nothing was pending, so no second one


@pytest.mark.crash
def test_failed_backup_stops_the_upgrade_unless_it_is_off(older):
    (older / "backups").write_text("a file where the folder should be")
    done = run(older, "migrate", "--verbosity", "0")
    assert done.returncode == 1
    assert "The backup before the upgrade failed: " in done.stderr
    assert "WATCHBOOK_UPGRADE_BACKUP=off" in done.stderr
    assert rows(older, "SELECT name FROM sqlite_master WHERE name = 'process_keys'") == []

    done = run(older, "migrate", "--verbosity", "0", WATCHBOOK_UPGRADE_BACKUP="off")
    assert (done.returncode, done.stderr) == (0, "")
    assert rows(older, "SELECT COUNT(*) FROM process_keys") == [(0,)]


@pytest.mark.crash
def test_schema_without_data_is_migrated_without_a_backup(older):
    with closing(sqlite3.connect(older / "watchbook.sqlite3")) as database, database:
        database.execute("DELETE FROM users")
    done = run(older, "migrate", "--verbosity", "0")
    assert (done.returncode, done.stderr) == (0, "")
    assert not (older / "backups").exists()


@pytest.mark.crash
def test_sqlite_file_alone_is_complete_after_exit(tmp_path):
    prepare_tables(tmp_path)
    process = Running(tmp_path, "-m", "watchbook", "up")
    process.wait_for("Watchbook is at")
    assert run(tmp_path, "settings", "set", "WATCHBOOK_BACKUP_KEEP", "3").returncode == 0
    assert process.ask() == 0
    assert _alone(tmp_path, "SELECT COUNT(*) > 0 FROM job_schedules") == [(1,)]
    assert _alone(tmp_path, "SELECT name FROM stored_settings") == [("WATCHBOOK_BACKUP_KEEP",)]
    log = tmp_path / "watchbook.sqlite3-wal"
    assert not log.exists() or log.stat().st_size == 0


def _alone(home: Path, statement: str) -> list[tuple[object, ...]]:
    """Ask a copy of the main file, without its companions."""
    copy = home / "alone"
    copy.mkdir(exist_ok=True)
    shutil.copyfile(home / "watchbook.sqlite3", copy / "watchbook.sqlite3")
    return rows(copy, statement)


@pytest.mark.django_db(transaction=True)
def test_schema_of_the_migrations_is_that_of_the_models():
    assert schema.differences() == []


@pytest.mark.sql
@pytest.mark.django_db(transaction=True)
def test_differences_of_the_schema_are_named():
    quote = connection.ops.quote_name
    table = quote("settings_checks")
    drop_index = " ON job_runs" if connection.vendor == "mysql" else ""
    undo = []
    with connection.cursor() as cursor:
        try:
            cursor.execute(f"ALTER TABLE {table} ADD COLUMN stray integer NULL")
            undo.append(f"ALTER TABLE {table} DROP COLUMN stray")
            cursor.execute(f"ALTER TABLE {quote('stored_settings')} RENAME TO {quote('stored_settings_old')}")
            undo.append(f"ALTER TABLE {quote('stored_settings_old')} RENAME TO {quote('stored_settings')}")
            cursor.execute(f"ALTER TABLE {table} RENAME COLUMN answer TO words")
            undo.append(f"ALTER TABLE {table} RENAME COLUMN words TO answer")
            cursor.execute(f"DROP INDEX job_runs_ready{drop_index}")
            cursor.execute("CREATE INDEX job_runs_ready ON job_runs (queue)")
            undo.append(f"DROP INDEX job_runs_ready{drop_index}")
            undo.append(_ready_index())
            found = schema.differences()
        finally:
            for statement in undo:
                cursor.execute(statement)
    assert schema.differences() == []
    assert "Table stored_settings is missing." in found
    assert "Table settings_checks: column stray is not in the models." in found
    assert "Table settings_checks: column answer is missing." in found
    [ready] = [line for line in found if "job_runs_ready" in line]
    assert ready.startswith("Table job_runs: index job_runs_ready has the columns queue, not ")


def _ready_index() -> str:
    from watchbook.core.jobs.models import JobRun

    [index] = [each for each in JobRun._meta.indexes if each.name == "job_runs_ready"]
    with connection.schema_editor(collect_sql=True) as editor:
        return str(index.create_sql(JobRun, editor))
