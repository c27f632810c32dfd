"""Databases of earlier states are upgraded by the real command: rows stay, and the schema is that of the models."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.upgrades import __main__ as kept
from tests.upgrades import dumps
from watchbook.core.ops.tests.processes import Running, environment, get, run

KIND = os.environ.get("WATCHBOOK_TEST_DATABASE", "sqlite")
LOOK = """
import django, json
django.setup()
from watchbook.core.ops import schema, upgrade
print(json.dumps([upgrade.pending_migrations(), schema.differences()]))
"""


@pytest.fixture
def databases(tmp_path):
    with dumps.empty_database(KIND, tmp_path) as url:
        yield url


@pytest.mark.crash
@pytest.mark.sql
@pytest.mark.parametrize("name", dumps.names())
def test_kept_database_is_upgraded_with_all_rows(databases, tmp_path, name):
    dumps.load(KIND, databases, (dumps.HERE / name / f"{KIND}.zst").read_bytes())
    before = json.loads((dumps.HERE / name / "rows.json").read_text())
    pending, _ = ask(tmp_path, databases, LOOK)

    done = run(tmp_path, "migrate", "--verbosity", "0", DATABASE_URL=databases)
    assert done.returncode == 0, done.stderr
    assert ask(tmp_path, databases, LOOK) == [[], []]
    backups = list((tmp_path / "backups").glob("*.tar"))
    assert bool(backups) is (KIND == "sqlite" and bool(pending))
    after = ask(tmp_path, databases, kept.COUNT)
    # A migration may add rows, such as permissions and the audit entry of the backup; none may lose any.
    lost = {table: (count, after.get(table)) for table, count in before.items() if after.get(table, count) < count}
    assert lost == {}


def test_there_is_a_kept_database_of_each_kind():
    assert dumps.names()
    for name in dumps.names():
        assert {path.name for path in (dumps.HERE / name).iterdir()} == {
            "rows.json",
            *(f"{k}.zst" for k in dumps.KINDS),
        }


def ask(home, url, code):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(home, DATABASE_URL=url),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.crash
@pytest.mark.sql
@pytest.mark.skipif(KIND == "sqlite", reason="test_starting has the same for SQLite, in one data folder")
def test_two_first_starts_on_one_server_make_one_installation(databases, tmp_path):
    """Two machines, one database server: the folders are apart, so only the lock in the database helps."""
    env = {"DATABASE_URL": databases, "SECRET_KEY": "made-up-" * 8, "WATCHBOOK_SECRETS_KEYS": "k1:" + "made-up-" * 6}
    homes = [tmp_path / name for name in ("first", "second")]
    for home in homes:
        home.mkdir(mode=0o700)
    both = [Running(home, "-m", "watchbook", "up", **env) for home in homes]
    try:
        addresses = [process.wait_for(r"Watchbook is at (\S+)").group(1) for process in both]
        assert [get(f"{address}/healthz")[0] for address in addresses] == [200, 200]
        said = [line for process in both for line in process.lines if "Database migrated" in line]
        assert len(said) == 1
        assert [process.ask() for process in both] == [0, 0]
        assert not [line for process in both for line in process.lines if "Traceback" in line]
    finally:
        for process in both:
            process.close()
    assert ask(homes[0], databases, LOOK) == [[], []]
