"""Which database the suite runs on, and fixtures for all rooms.

WATCHBOOK_TEST_DATABASE=sqlite|postgres|mariadb chooses; the servers are the machine's own when they answer, else
PostgreSQL and Redis come from wheels.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

# Before Django reads its settings: an empty data folder, no operator's environment.
_home = Path(tempfile.mkdtemp(prefix="watchbook-test-"))
atexit.register(shutil.rmtree, _home, ignore_errors=True)
os.environ["WATCHBOOK_HOME"] = str(_home)
os.environ["WATCHBOOK_ENV_FILE"] = str(_home / "none.env")
for _name in ("REDIS_URL", "CELERY_BROKER_URL", "DATABASE_URL", "EMAIL_HOST", "WATCHBOOK_PUBLIC_URL"):
    os.environ.pop(_name, None)

from watchbook.base.testing import servers  # noqa: E402 - the environment comes first

_kind = os.environ.get("WATCHBOOK_TEST_DATABASE", "sqlite")
os.environ["DATABASE_URL"] = servers.database_url(_kind, _home)

pytest_plugins = ["watchbook.base.testing.fixtures"]


def pytest_report_header() -> list[str]:
    return [f"watchbook: database {_kind}, {servers.describe(_kind)}"]
