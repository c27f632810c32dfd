"""A pytest plugin that is loaded before Django's settings: an empty data folder, the database and the markers of a run.

WATCHBOOK_TEST_DATABASE=sqlite|postgres|mariadb chooses the database. The servers are the machine's own when they
answer, else PostgreSQL and Redis come from wheels. (A conftest would be too late: the settings are read before it.)

Two markers are derived here, so that no test lacks them:

- `db`: the test touches a database.
- `sql`: the test may behave differently on another database (see `depends_on_database`).
"""

from __future__ import annotations

import atexit
import gc
import hashlib
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import _pytest.main
import hypothesis
import pytest

from watchbook.base.testing import migrated, own_sql, servers

KIND = os.environ.get("WATCHBOOK_TEST_DATABASE", "sqlite")
NOT_OURS = (
    "REDIS_URL", "CELERY_BROKER_URL", "EMAIL_HOST", "EMAIL_PORT", "SECRET_KEY", "WATCHBOOK_PUBLIC_URL",
    "WATCHBOOK_DEBUG", "WATCHBOOK_PACE", "WATCHBOOK_TRUSTED_HOSTS", "WATCHBOOK_TRUSTED_NETWORKS", "WATCHBOOK_JOBS",
)  # fmt: skip
ROOT = Path(__file__).resolve().parents[3]
# Fixtures of tests that commit, run threads or start processes.
CONCURRENT = {"transactional_db", "live_server", "databases"}
# Words of 8 bytes: a piece of 2 MB, of which half is left.
FRAME_WORDS = 2**17 + 64
LONG = {"browser", "crash", "slow"}
# A file without these has no marked test, unless it has SQL of its own.
MAY_BE_SQL = re.compile(r"mark\.sql\b|transaction=True|" + "|".join(sorted(CONCURRENT)))

_home = Path(tempfile.mkdtemp(prefix="watchbook-test-"))
atexit.register(shutil.rmtree, _home, ignore_errors=True)
os.environ["WATCHBOOK_HOME"] = str(_home)
os.environ["WATCHBOOK_ENV_FILE"] = str(_home / "none.env")
for _name in NOT_OURS:
    os.environ.pop(_name, None)
os.environ["DATABASE_URL"] = servers.database_url(KIND, _home)

# `make test-nightly` sets it; every other run is the short one.
NIGHTLY = os.environ.get("WATCHBOOK_TEST_NIGHTLY") == "on"
DAILY_EXAMPLES, NIGHTLY_EXAMPLES = 8, 100
hypothesis.settings.register_profile("daily", max_examples=DAILY_EXAMPLES, deadline=None)
hypothesis.settings.register_profile("nightly", max_examples=NIGHTLY_EXAMPLES, deadline=None)
hypothesis.settings.load_profile("nightly" if NIGHTLY else "daily")


def _with_room_for_frames(function: Callable[..., Any]) -> Callable[..., Any]:
    """Run a function, and all that it calls, in one piece of memory.

    CPython keeps frames in pieces of 16 KB. Calls that cross the end of a piece take memory from the system and return
    it each time, 1,600 times for one page. A frame that is larger gets a piece of the next power of two, and the frames
    above it use the rest.
    """

    def run(*args: Any, **given: Any) -> Any:
        return function(*args, **given)

    run.__code__ = run.__code__.replace(co_stacksize=FRAME_WORDS)
    return run


_pytest.main._main = _with_room_for_frames(_pytest.main._main)
threading.Thread.run = _with_room_for_frames(threading.Thread.run)  # type: ignore[method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> object:
    # Collection allocates a million objects that all stay: the collector only walks them again and again. Frozen,
    # they are not walked during the tests either.
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import test files of which `-m "sql and …"` selects nothing: half the time of a run is their imports."""
    is_test_file = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    if not is_test_file or not config.option.markexpr.startswith("sql and"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    return None if MAY_BE_SQL.search(text) or reaching_own_sql(collection_path) else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        # Begun last, the long ones would keep the other workers waiting for minutes.
        items.sort(key=begins_after)
    # Finding it takes a while: only where the marker is used.
    is_asked_for_sql = "sql" in config.option.markexpr
    for item in items:
        if touches_database(item):
            item.add_marker("db")
            if is_asked_for_sql and depends_on_database(item):
                item.add_marker("sql")


def begins_after(item: pytest.Item) -> int:
    """Return the place of a test in the run: first the groups that stay in one process, then the long tests."""
    marks = {mark.name for mark in item.iter_markers()}
    if "xdist_group" in marks:
        return 0
    return 2 if LONG.isdisjoint(marks) else 1


def touches_database(item: pytest.Item) -> bool:
    # `databases` gives addresses to processes of their own.
    fixtures = {"db", *CONCURRENT} & set(getattr(item, "fixturenames", ()))
    return bool(fixtures) or item.get_closest_marker("django_db") is not None


def depends_on_database(item: pytest.Item) -> bool:
    """Return whether another database can change the outcome.

    True for tests that commit or run beside others, and for tests that reach SQL of their package which is written by
    hand (see `own_sql`). False for tests marked `portable`: long walks whose queries shorter tests send to every
    database.
    """
    if item.get_closest_marker("portable"):
        return False
    return commits(item) or getattr(item, "originalname", item.name) in reaching_own_sql(item.path)


def commits(item: pytest.Item) -> bool:
    """Return whether a test commits what it writes, or runs beside others that do."""
    marker = item.get_closest_marker("django_db")
    is_transactional = bool(marker and (marker.kwargs.get("transaction") or (marker.args and marker.args[0])))
    return is_transactional or bool(CONCURRENT & set(getattr(item, "fixturenames", ())))


@cache
def reaching_own_sql(test_file: Path) -> frozenset[str]:
    """Return the names of the tests in this file that reach SQL of their package (see `own_sql`)."""
    return _all_reaching_own_sql().get(str(test_file.relative_to(ROOT)), frozenset())


@cache
def _all_reaching_own_sql() -> dict[str, frozenset[str]]:
    digest = hashlib.sha256()
    for top in ("watchbook", "standins", "tests"):
        for path in sorted((ROOT / top).rglob("*.py")):
            facts = path.stat()
            digest.update(f"{path} {facts.st_size} {facts.st_mtime_ns}".encode())
    with migrated.alone():
        return own_sql.in_all_test_files(migrated.KEPT_IN, digest.hexdigest()[:16])


def pytest_report_header() -> list[str]:
    return [f"watchbook: database {KIND}, {servers.describe(KIND)}{', nightly' if NIGHTLY else ''}"]


def by_day(cases: Sequence[object], most: int) -> list[Any]:
    """Return cases for `parametrize`: `most` of them, evenly spread, run every day, the others carry `nightly`."""
    daily = {index * (len(cases) - 1) // (most - 1) for index in range(most)}
    values = [case if isinstance(case, tuple) else (case,) for case in cases]
    return [pytest.param(*given, marks=[] if n in daily else pytest.mark.nightly) for n, given in enumerate(values)]


def examples(stated: int, *, daily: int = DAILY_EXAMPLES) -> int:
    """Return how many hypothesis examples to run: at most `daily`, or in a nightly run `stated` and at least 100."""
    return max(stated, NIGHTLY_EXAMPLES) if NIGHTLY else min(stated, daily)
