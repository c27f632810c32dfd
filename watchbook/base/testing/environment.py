"""A pytest plugin that is loaded before Django's settings: an empty data folder, and the database of this run.

WATCHBOOK_TEST_DATABASE=sqlite|postgres|mariadb chooses. The servers are the machine's own when they answer, else
PostgreSQL and Redis come from wheels. (A conftest would be too late: the settings are read before it.)
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from watchbook.base.testing import servers

KIND = os.environ.get("WATCHBOOK_TEST_DATABASE", "sqlite")
NOT_OURS = (
    "REDIS_URL", "CELERY_BROKER_URL", "EMAIL_HOST", "EMAIL_PORT", "SECRET_KEY", "WATCHBOOK_PUBLIC_URL",
    "WATCHBOOK_DEBUG", "WATCHBOOK_PACE", "WATCHBOOK_TRUSTED_HOSTS", "WATCHBOOK_TRUSTED_NETWORKS", "WATCHBOOK_JOBS",
)  # fmt: skip

_home = Path(tempfile.mkdtemp(prefix="watchbook-test-"))
atexit.register(shutil.rmtree, _home, ignore_errors=True)
os.environ["WATCHBOOK_HOME"] = str(_home)
os.environ["WATCHBOOK_ENV_FILE"] = str(_home / "none.env")
for _name in NOT_OURS:
    os.environ.pop(_name, None)
os.environ["DATABASE_URL"] = servers.database_url(KIND, _home)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On a second database only what touches a database is run again; the rest cannot come out otherwise."""
    if os.environ.get("WATCHBOOK_TEST_ONLY_DATABASE") != "on":
        return
    touching = [item for item in items if touches_database(item)]
    config.hook.pytest_deselected(items=[item for item in items if not touches_database(item)])
    items[:] = touching


def touches_database(item: pytest.Item) -> bool:
    # `databases` gives addresses to processes of their own.
    fixtures = {"db", "transactional_db", "live_server", "databases"} & set(getattr(item, "fixturenames", ()))
    return bool(fixtures) or item.get_closest_marker("django_db") is not None


def pytest_report_header() -> list[str]:
    return [f"watchbook: database {KIND}, {servers.describe(KIND)}"]
