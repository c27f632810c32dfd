"""First start through the real command: on an empty folder, twice at once, with wrong settings."""

from __future__ import annotations

import json
import signal
import stat

import pytest

from standins.server import Site
from watchbook.core.ops.tests.processes import Running, get, prepare_tables, rows, run

pytestmark = pytest.mark.crash


@pytest.fixture
def up(tmp_path):
    started: list[Running] = []

    def go(*arguments: str, **extra: str) -> Running:
        started.append(Running(tmp_path, "-m", "watchbook", *(arguments or ("up",)), **extra))
        return started[-1]

    yield go
    for process in started:
        process.close()


def test_two_processes_on_an_empty_folder_make_one_installation(up, tmp_path):
    both = [up(), up()]
    addresses = [process.wait_for(r"Watchbook is at (\S+)").group(1) for process in both]
    codes = [process.wait_for(r"Setup code, needed from another machine: (\S+)").group(1) for process in both]
    assert codes[0] == codes[1]
    assert [get(f"{address}/healthz") for address in addresses] == [(200, b'{"ok": true}')] * 2
    assert get(f"{addresses[0]}/accounts/login/")[0] == 200

    keys = sorted(path.name for path in (tmp_path / "keys").iterdir())
    assert keys == ["secret_key", "secrets_key", "setup_code"]
    kept = [*(tmp_path / "keys").iterdir(), *tmp_path.glob("watchbook.sqlite3*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    doubled = rows(tmp_path, "SELECT app, name FROM django_migrations GROUP BY app, name HAVING COUNT(*) > 1")
    assert doubled == []
    assert [process.ask() for process in both] == [0, 0]
    assert not rows(tmp_path, "SELECT name FROM job_workers")
    assert not [line for process in both for line in process.lines if "Traceback" in line]


def test_interrupt_ends_it_well_too(up, tmp_path):
    prepare_tables(tmp_path)
    process = up()
    process.wait_for("Watchbook is at")
    assert process.ask(kill=signal.SIGINT) == 0


def test_web_does_not_touch_the_schema_and_runs_no_jobs_when_they_are_off(up, tmp_path):
    refused = run(tmp_path, "web")
    assert refused.returncode == 1
    assert "watchbook migrate" in refused.stderr
    prepare_tables(tmp_path)
    process = up("web", WATCHBOOK_JOBS="off")
    address = process.wait_for(r"Watchbook is at (\S+)").group(1)
    process.wait_for("This process runs no jobs")
    assert get(f"{address}/readyz") == (503, b'{"ok": false}')
    assert rows(tmp_path, "SELECT COUNT(*) FROM job_workers") == [(0,)]


def test_taken_port_is_one_sentence(up, tmp_path):
    prepare_tables(tmp_path)
    address = up().wait_for(r"Watchbook is at http://(\S+)").group(1)
    second = run(tmp_path, "up", WATCHBOOK_BIND=address)
    assert second.returncode == 1
    assert second.stderr.strip().endswith(f"Cannot listen on {address}: Address already in use.")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("WATCHBOOK_BIND", "somewhere"),
        ("WATCHBOOK_WEB_THREADS", "many"),
        ("WATCHBOOK_PUBLIC_URL", "ftp://example.com"),
        ("DATABASE_URL", "oracle://x/y"),
    ],
)
def test_wrong_setting_is_one_clear_line(tmp_path, name, value):
    done = run(tmp_path, "up", **{name: value})
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert name in done.stderr


@pytest.mark.parametrize("command", ["worker", "beat", "jobs list --json", "nga crawl --json", "migrate"])
def test_every_command_reads_all_settings_before_it_does_anything(tmp_path, command):
    done = run(tmp_path, *command.split(), REDDIT_RATE_LIMIT="many")
    assert done.returncode == 1
    assert done.stderr == "watchbook: REDDIT_RATE_LIMIT is 'many': expected a whole number\n"
    if "--json" in command:
        error = json.loads(done.stdout)["error"]
        assert error == {"code": "wrong_setting", "message": done.stderr.strip().removeprefix("watchbook: ")}
    assert run(tmp_path, *command.split(), "--help", REDDIT_RATE_LIMIT="many").returncode == 0


def test_command_that_breaks_down_shows_where_only_with_debug(tmp_path):
    prepare_tables(tmp_path)
    import sqlite3

    with sqlite3.connect(tmp_path / "watchbook.sqlite3") as database:
        database.execute("DROP TABLE crawl_runs")
    for words, is_shown in ((["jobs"], False), (["--debug", "jobs"], True)):
        done = run(tmp_path, *words, "run", "nga.crawl", "--json", NGA_FORUMS="7")
        assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (1, "unexpected")
        assert ("Traceback" in done.stderr) is is_shown


@pytest.mark.parametrize(
    ("command", "extra", "code", "sentence"),
    [
        ("jobs list", {"DATABASE_URL": "sqlite:////nowhere/x"}, "database", "The database cannot be used: unable to"),
        ("sitemaps check http://127.0.0.1:9/ --against {home}", {}, None, "Error: Invalid value for '--against'"),
        ("reddit crawl --now 9999-12-31T23:59:59Z", {}, None, "Error: Invalid value for '--now'"),
    ],
)
def test_expected_errors_are_sentences(tmp_path, command, extra, code, sentence):
    prepare_tables(tmp_path)
    done = run(tmp_path, *command.format(home=tmp_path).split(), "--json", **extra)
    assert done.returncode == (1 if code else 2)
    assert done.stderr.strip().splitlines()[-1].removeprefix("watchbook: ").startswith(sentence)
    if code:
        assert json.loads(done.stdout)["error"]["code"] == code


def test_debug_is_refused_where_others_can_reach_it(tmp_path):
    done = run(tmp_path, "up", WATCHBOOK_DEBUG="on", WATCHBOOK_BIND="0.0.0.0:0")
    assert done.returncode == 1
    assert "WATCHBOOK_DEBUG" in done.stderr


def test_database_of_a_newer_version_is_not_changed(tmp_path):
    prepare_tables(tmp_path)
    import sqlite3

    with sqlite3.connect(tmp_path / "watchbook.sqlite3") as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('jobs', '9999_future', '2030-01-01')"
        )
    done = run(tmp_path, "up")
    assert done.returncode == 1
    assert "newer version" in done.stderr


def test_doctor_finds_what_is_wrong(tmp_path):
    done = run(tmp_path, "doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert done.returncode == 1
    assert [name for name, check in checks.items() if not check["ok"]] == ["migrations"]
    prepare_tables(tmp_path)
    assert run(tmp_path, "doctor").returncode == 0

    with Site() as site:
        done = run(tmp_path, "doctor", NGA_BASE_URL=site.url, WATCHBOOK_TRUSTED_HOSTS=site.netloc)
        assert (done.returncode, site.log.count()) == (0, 1)

    tmp_path.chmod(0o755)
    done = run(
        tmp_path, "doctor", "--json",
        CELERY_BROKER_URL="redis://:pw-sentinel@127.0.0.1:1/0", EMAIL_HOST="127.0.0.1", EMAIL_PORT="1",
        WATCHBOOK_BINDD="x", NGA_BASE_URL="http://127.0.0.1:9",
    )  # fmt: skip
    bad = {check["name"]: check["message"] for check in json.loads(done.stdout)["checks"] if not check["ok"]}
    assert set(bad) == {"settings", "data_folder", "broker", "mail", "reachability"}
    assert bad["reachability"].startswith("NGA_BASE_URL: ")
    assert "WATCHBOOK_BINDD" in bad["settings"]
    assert "chmod 700" in bad["data_folder"]
    assert "pw-sentinel" not in done.stdout + done.stderr
