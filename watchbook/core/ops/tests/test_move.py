"""`watchbook move` through the real command, between real databases."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from watchbook.base.testing import servers
from watchbook.core.ops.tests.processes import environment, prepare_tables, run
from watchbook.core.ops.tests.test_backup import FILL as FILL_ONE
from watchbook.core.ops.tests.test_backup import python

pytestmark = pytest.mark.slow

FILL = "watchbook.core.ops.tests.every_table"
DECRYPT = """
import django
django.setup()
from watchbook.base.crypto import decrypt
from watchbook.core.notify.models import NotificationChannel
print(decrypt(NotificationChannel.objects.get().secret, bound_to="c"))
"""


class Databases:
    """Empty databases of each kind, dropped at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: list[str] = []

    def new(self, kind: str) -> str:
        name = f"watchbook_{uuid4().hex[:12]}"
        if kind == "sqlite":
            prepare_tables(self.folder / name)
            return f"sqlite:///{self.folder / name / 'watchbook.sqlite3'}"
        url = servers.beside(servers.postgres_url() if kind == "postgres" else servers.mariadb_url(), name)
        servers.create(url)
        self.made.append(url)
        return url

    def drop(self) -> None:
        for url in self.made:
            servers.drop(url)


@pytest.fixture
def databases(tmp_path):
    made = Databases(tmp_path)
    yield made
    made.drop()


def fill(home: Path, url: str, count: int = 3) -> None:
    done = subprocess.run(
        [sys.executable, "-m", FILL, str(count)],
        env=environment(home, DATABASE_URL=url), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def move(home: Path, source: str, target: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return run(home, "move", "--to", target, "--json", DATABASE_URL=source, **extra)


def moved(home: Path, source: str, target: str) -> dict:
    done = move(home, source, target)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def refusal(home: Path, source: str, target: str) -> str:
    done = move(home, source, target)
    assert done.returncode == 1, done.stdout
    return json.loads(done.stdout)["error"]["message"]


@pytest.mark.nightly
def test_every_table_moves_in_all_six_directions_and_ends_as_it_began(tmp_path, databases):
    """One round through all databases: each move compares both sides, and the last equals the first."""
    if not servers.has_mariadb():
        pytest.skip("MariaDB does not answer")
    round_trip = ["sqlite", "postgres", "mariadb", "sqlite", "mariadb", "postgres", "sqlite"]
    source = databases.new(round_trip[0])
    fill(tmp_path, source)
    digests = []
    for kind in round_trip[1:]:
        target = databases.new(kind)
        digests.append(moved(tmp_path, source, target)["tables"])
        source = target
    assert all(each == digests[0] for each in digests)
    assert {table["rows"] for table in digests[0].values()} == {3}


@pytest.mark.crash
def test_killed_move_continues_and_moves_no_row_twice(tmp_path, databases):
    source, target = databases.new("sqlite"), databases.new("postgres")
    fill(tmp_path, source)
    for point in ("move.batch:1", "move.batch:40", "move.copied:1", "move.indexed:1"):
        assert move(tmp_path, source, target, CRASH_AT=point).returncode == -9, point
    done = moved(tmp_path, source, target)
    assert done["resumed"]
    assert {table["rows"] for table in done["tables"].values()} == {3}
    assert "has rows" in refusal(tmp_path, source, target), "a finished move is not repeated over its result"


@pytest.mark.crash
@pytest.mark.skipif(not servers.has_mariadb(), reason="MariaDB does not answer")
@pytest.mark.parametrize("command", ["migrate", pytest.param("move", marks=pytest.mark.nightly)])
def test_schema_that_a_kill_left_half_made_on_mariadb_is_made_again(tmp_path, databases, command):
    """MariaDB cannot undo half a migration: its table exists, and the migration would create it again."""
    home, target = tmp_path / "home", databases.new("mariadb")
    fill(home, source := databases.new("sqlite"))

    def table_count() -> int:
        [[row]] = servers.execute(
            target, "SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE()"
        )
        return int(row[0])

    command, url = (["migrate"], target) if command == "migrate" else (["move", "--to", target, "--json"], source)
    process = subprocess.Popen(
        [sys.executable, "-m", "watchbook", *command],
        env=environment(home, DATABASE_URL=url), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    while process.poll() is None and table_count() < 20:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    servers.execute(target, "CREATE TABLE host_pace (id int)")  # as if killed right after it
    done = run(home, *command, DATABASE_URL=url)
    assert done.returncode == 0, done.stdout + done.stderr
    assert table_count() > 160


def test_next_number_of_a_key_is_not_one_that_was_used_before(tmp_path, databases):
    source, target = databases.new("sqlite"), databases.new("sqlite")
    fill(tmp_path, source)
    with closing(sqlite3.connect(source.removeprefix("sqlite:///"), isolation_level=None)) as database:
        database.execute("UPDATE sqlite_sequence SET seq = 4711 WHERE name = 'search_documents'")
    moved(tmp_path, source, target)
    with closing(sqlite3.connect(target.removeprefix("sqlite:///"))) as database:
        found = database.execute("SELECT seq FROM sqlite_sequence WHERE name = 'search_documents'").fetchone()
    assert found == (4711,)


def test_source_is_not_written_and_secrets_stay_encrypted(tmp_path, databases):
    source, target = databases.new("sqlite"), databases.new("sqlite")
    python(tmp_path, FILL_ONE, "3", DATABASE_URL=source)
    file = Path(source.removeprefix("sqlite:///"))
    before = _dump(file)
    moved(tmp_path, source, target)
    assert _dump(file) == before
    read = "SELECT secret FROM notification_channels"
    with closing(sqlite3.connect(file)) as old, closing(sqlite3.connect(target.removeprefix("sqlite:///"))) as new:
        assert old.execute(read).fetchone() == new.execute(read).fetchone()
    assert "https://hooks.example.com/x" in python(tmp_path, DECRYPT, DATABASE_URL=target)


def _dump(file: Path) -> dict[str, list]:
    with closing(sqlite3.connect(file)) as database:
        kind = "type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        names = [name for (name,) in database.execute(f"SELECT name FROM sqlite_master WHERE {kind} ORDER BY 1")]
        return {name: database.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}


def test_each_obstacle_is_refused_before_a_row_is_written(tmp_path, databases):
    source, target = databases.new("sqlite"), databases.new("sqlite")
    fill(tmp_path, source)
    file = Path(source.removeprefix("sqlite:///"))
    assert "in use now" in refusal(tmp_path, source, source)
    assert "cannot be read" in refusal(tmp_path, source, "postgres://[")
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("UPDATE search_documents SET url_path = ? WHERE id = 1", ["x" * 1001])
        assert "search_documents.url_path has 1 values that are too long" in refusal(tmp_path, source, target)
        database.execute("UPDATE search_documents SET url_path = '' WHERE id = 1")
        database.execute("DELETE FROM django_migrations WHERE app = 'store' AND name = '0004_server_keys'")
        assert "lacks 1 migrations" in refusal(tmp_path, source, target)


def test_value_with_nul_is_named_for_postgresql(tmp_path, databases):
    source, target = databases.new("sqlite"), databases.new("postgres")
    fill(tmp_path, source)
    with closing(sqlite3.connect(source.removeprefix("sqlite:///"), isolation_level=None)) as database:
        database.execute("UPDATE search_documents SET body = 'a' || char(0) WHERE id = 2")
    assert "search_documents.body has 1 values" in refusal(tmp_path, source, target)


@pytest.mark.nightly
@pytest.mark.crash
def test_move_of_many_rows_killed_20_times_at_random_ends_equal(tmp_path, databases):
    source, target = databases.new("sqlite"), databases.new("postgres")
    fill(tmp_path, source, 20_000)
    chance = random.Random(20)
    kills = sum(
        move(tmp_path, source, target, CRASH_AT=f"move.batch:{chance.randint(1, 90)}").returncode == -9
        for _ in range(20)
    )
    assert kills == 20
    assert {table["rows"] for table in moved(tmp_path, source, target)["tables"].values()} == {20_000}
