"""A backup of one kind of database restores into another kind, every table and every kind of value."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest
from django.db import models

from watchbook.base.store.fields import WallTimeField
from watchbook.base.testing import migrated, servers
from watchbook.core.ops.backup.portable import copy_row, reading
from watchbook.core.ops.tests import processes
from watchbook.core.ops.tests.processes import run
from watchbook.core.ops.tests.test_backup import python
from watchbook.core.ops.tests.test_move import databases as databases
from watchbook.core.ops.tests.test_move import fill

# Not in a backup, written by every migration, or by the backup itself.
LEFT_OUT = {
    "django_session", "cache_entries", "django_migrations", "django_content_type", "auth_permission", "audit_events",
}  # fmt: skip
DIGESTS = """
import django, json
django.setup()
from watchbook.core.ops.move.rows import moved_models, summary
print(json.dumps({model._meta.db_table: summary(model, "default", lambda _: None) for model in moved_models()}))
"""
NEXT = """
import django
django.setup()
from watchbook.base import clock
from watchbook.core.jobs.models import JobRun
now = clock.now()
print(JobRun.objects.create(name="x", queue="crawler_queue", key="next", due_at=now, created_at=now).pk)
"""
WAYS = [(one, other) for one in ("sqlite", "postgres", "mariadb") for other in ("sqlite", "postgres", "mariadb")]


def digests(home: Path, url: str) -> dict[str, list]:
    found = json.loads(python(home, DIGESTS, DATABASE_URL=url))
    return {table: found[table] for table in found if table not in LEFT_OUT}


@pytest.fixture
def patient(monkeypatch):
    """All migrations of a server database run."""
    monkeypatch.setattr(processes, "SECONDS", 900.0)


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.nightly
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(("one", "other"), [way for way in WAYS if way[0] != way[1]])
def test_backup_restores_into_another_kind_of_database(tmp_path, databases, one, other):
    if "mariadb" in (one, other) and not servers.has_mariadb():
        pytest.skip("MariaDB does not answer")
    source, target = databases.new(one), databases.new(other)
    if one != "sqlite":
        migrated.copy_to_server(source)
    fill(tmp_path, source)
    file = tmp_path / "backup.tar"
    taken = run(tmp_path, "backup", str(file), DATABASE_URL=source)
    assert taken.returncode == 0, taken.stderr
    home = tmp_path / "elsewhere"
    done = run(home, "restore", str(file), "--force", "--incomplete", DATABASE_URL=target)
    assert done.returncode == 0, done.stderr
    assert digests(home, target) == digests(tmp_path, source)
    assert int(python(home, NEXT, DATABASE_URL=target)) == 4, "a number of a key was given twice"
    assert "ok   schema" in run(home, "doctor", DATABASE_URL=target).stdout


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.nightly
@pytest.mark.usefixtures("patient")
def test_backup_with_values_that_do_not_fit_changes_nothing(tmp_path, databases):
    source, target = databases.new("sqlite"), databases.new("postgres")
    fill(tmp_path, source)
    with closing(sqlite3.connect(source.removeprefix("sqlite:///"), isolation_level=None)) as database:
        database.execute("UPDATE search_documents SET body = 'a' || char(0) WHERE id = 2")
    file = tmp_path / "backup.tar"
    assert run(tmp_path, "backup", str(file), DATABASE_URL=source).returncode == 0
    home = tmp_path / "elsewhere"
    done = run(home, "restore", str(file), "--force", "--incomplete", DATABASE_URL=target)
    assert done.returncode == 1
    assert "search_documents" in done.stderr
    assert "into its own kind of database" in done.stderr


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (b"1\t\\N\tplain", ["1", None, "plain"]),
        (b"a\\tb\\nc\\\\d\t", ["a\tb\nc\\d", ""]),
        (b"\\\\x00ff", ["\\x00ff"]),
        (b"\\\\N", ["\\N"]),
    ],
)
def test_line_of_postgresql_is_read_as_its_values(line, values):
    assert copy_row(line) == values


@pytest.mark.parametrize(
    ("field", "stored", "value"),
    [
        (models.BooleanField(), "f", False),
        (models.BooleanField(), 1, True),
        (models.DateTimeField(), "2026-11-18 15:00:00.5+00", datetime(2026, 11, 18, 15, 0, 0, 500000, UTC)),
        (models.DateTimeField(), datetime(2026, 11, 18, 15), datetime(2026, 11, 18, 15, tzinfo=UTC)),
        (WallTimeField(), "2026-11-18 08:30:00", datetime(2026, 11, 18, 0, 30, tzinfo=UTC)),
        (models.TimeField(), timedelta(hours=3, minutes=1), time(3, 1)),
        (models.BinaryField(), "\\x00ff", b"\x00\xff"),
        (models.JSONField(), '{"a": [1e22, null]}', {"a": [1e22, None]}),
        (models.DecimalField(), "1.50", Decimal("1.50")),
        (models.UUIDField(), "0" * 31 + "1", UUID(int=1)),
    ],
)
def test_stored_value_of_each_kind_becomes_the_value_of_the_model(field, stored, value):
    assert reading(field)(stored) == value
