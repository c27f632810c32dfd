"""The package: optional dependencies are named when they are missing, and the docs are inside."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from watchbook.core.notify.channels import BadConfig
from watchbook.core.notify.channels.apprise import check_service
from watchbook.core.ops.tests.processes import Running, environment, get, run
from watchbook.project import manual

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL = ("celery", "kombu", "redis", "psycopg", "pymysql", "apprise", "obstore", "mcp", "granian")
# The program in an environment that has none of the extras.
BARE = f"""
import sys
sys.modules.update(dict.fromkeys({OPTIONAL!r}))
from watchbook.project.cli import main
main()
"""


def bare(home: Path, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", BARE, *arguments],
        env=environment(home, **extra), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.mark.crash
@pytest.mark.parametrize(
    ("extra", "name", "value"),
    [
        ("postgres", "DATABASE_URL", "postgres://u:pw-sentinel@127.0.0.1/x"),
        ("mysql", "DATABASE_URL", "mysql://u:pw-sentinel@127.0.0.1/x"),
        ("celery", "REDIS_URL", "redis://:pw-sentinel@127.0.0.1/0"),
        ("celery", "CELERY_BROKER_URL", "redis://:pw-sentinel@127.0.0.1/0"),
    ],
)
def test_missing_extra_is_named_by_the_setting_that_needs_it(tmp_path, extra, name, value):
    done = bare(tmp_path, "jobs", "list", **{name: value})
    assert done.returncode == 1
    [sentence] = done.stderr.strip().splitlines()
    assert sentence.startswith(f"watchbook: {name} ")
    assert sentence.endswith(f"Install the extra: pip install 'watchbook[{extra}]'.")
    assert "pw-sentinel" not in done.stderr


@pytest.mark.crash
def test_program_works_without_any_extra(tmp_path):
    done = bare(tmp_path, "doctor")
    assert "Traceback" not in done.stderr
    done = bare(tmp_path, "jobs", "list", "--json")
    assert (done.returncode, done.stderr) == (0, "watchbook: creating the database …\n")


# Loaded only where a broker is set.
OF_EXTRAS = {"watchbook.core.jobs.celery"}
LOAD_ALL = f"""
import sys, pkgutil, importlib, json
sys.modules.update(dict.fromkeys({OPTIONAL!r}))
import django
django.setup()
import watchbook
failed = []
for found in pkgutil.walk_packages(watchbook.__path__, "watchbook."):
    parts = found.name.split(".")
    if {{"tests", "testing", "migrations", "__main__", "conftest"}} & set(parts):
        continue
    try:
        importlib.import_module(found.name)
    except ImportError as error:
        failed.append([found.name, str(error)])
print(json.dumps(failed))
"""


@pytest.mark.crash
def test_every_module_loads_without_any_extra(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", LOAD_ALL],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    failed = [entry for entry in json.loads(done.stdout.splitlines()[-1]) if entry[0] not in OF_EXTRAS]
    assert failed == []


@pytest.mark.crash
def test_server_starts_without_any_extra(tmp_path):
    process = Running(tmp_path, "-c", BARE, "up")
    try:
        address = process.wait_for(r"Watchbook is at (\S+)").group(1)
        assert get(f"{address}/accounts/signup/")[0] == 200
        assert process.ask() == 0
    finally:
        process.close()


def test_apprise_address_without_apprise_is_refused_with_the_command(monkeypatch):
    check_service("tgram://123456789:abcdefg_hijklmnop/123/")
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(BadConfig, match=r"pip install 'watchbook\[apprise\]'"):
        check_service("tgram://123456789:abcdefg_hijklmnop/123/")


def test_every_extra_is_part_of_all_and_pins_contain_the_common_ones():
    extras = PROJECT["optional-dependencies"]
    [everything] = extras["all"]
    assert set(re.search(r"\[(.+)\]", everything)[1].split(",")) == set(extras) - {"all"}
    pins, of_image = pinned("base"), pinned("image")
    for extra in set(extras) - {"all"}:
        names = {re.split(r"[\[~<>=]", wanted)[0].lower() for wanted in extras[extra]}
        assert names <= set(of_image), extra
        assert names <= set(pins) or extra in ("s3", "mcp", "granian")
    # What was tested is what the image has.
    tested = pinned("dev")
    assert {name: tested.get(name) for name in pins | of_image} == pins | of_image


def pinned(name: str) -> dict[str, str]:
    """Package -> version of one file of pins."""
    text = (ROOT / f"requirements/{name}.txt").read_text()
    return dict(re.findall(r"^([a-z0-9.-]+)==([^ ;\\]+)", text, re.MULTILINE))


@pytest.mark.crash
def test_docs_command_writes_linked_pages(tmp_path):
    done = run(tmp_path, "docs", "how-to/backup", "--lang", "zh", "--no-browser")
    assert done.returncode == 0
    page = Path(done.stdout.strip().removeprefix("file://"))
    assert page == tmp_path / "manual/docs/how-to/backup.zh.html"
    pages = list((tmp_path / "manual").rglob("*.html"))
    assert len(pages) == len(list(manual.sources()))
    broken = []
    for path in pages:
        links = re.findall(r'(?:href|src)="([^":#]+)(?:#[^"]*)?"', path.read_text())
        broken += [f"{path.name}: {link}" for link in links if not (path.parent / link).exists()]
    assert broken == []
    assert "href" in (tmp_path / "manual/docs/index.html").read_text()

    done = run(tmp_path, "docs", "how-to/nothing")
    assert done.returncode == 1
    assert "There is no page how-to/nothing. Pages: changelog, " in done.stderr
