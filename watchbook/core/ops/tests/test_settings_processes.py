"""Stored settings reach every process: three of them on the database of the test, and the environment wins in one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from watchbook.base import env
from watchbook.base.testing import servers
from watchbook.core.ops import stored

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.sql]

WITHIN_SECONDS = 5
# What every process of Watchbook does when it starts: read, then follow.
FOLLOWER = """
import time
import django
django.setup()
from watchbook.core.ops import options, stored
stored.load()
print(options.BACKUP_KEEP.value, flush=True)
stored.follow()
ends = time.monotonic() + 60
while not options.BACKUP_DAILY.value and time.monotonic() < ends:
    time.sleep(0.02)
print(options.BACKUP_KEEP.value, time.time(), flush=True)
"""


def started(**more: str) -> subprocess.Popen[str]:
    given = {**os.environ, "DATABASE_URL": servers.same_database(), "WATCHBOOK_HOME": str(settings.HOME), **more}
    given["DJANGO_SETTINGS_MODULE"] = "watchbook.project.settings"
    return subprocess.Popen([sys.executable, "-c", FOLLOWER], env=given, stdout=subprocess.PIPE, text=True)


def line(process: Any) -> str:
    return str(process.stdout.readline()).strip()


def test_web_and_two_workers_follow_and_the_environment_wins() -> None:
    with ExitStack() as stack:
        three = [stack.enter_context(started(**more)) for more in ({}, {}, {"WATCHBOOK_BACKUP_KEEP": "9"})]
        for one in three:
            stack.callback(one.kill)
        before = [line(one) for one in three]
        saved_at = time.time()
        try:
            stored.save({"WATCHBOOK_BACKUP_KEEP": "5", "WATCHBOOK_BACKUP_DAILY": "on"})
        finally:
            env.use_stored({})
        seen = [line(one).split() for one in three]
    after = [value for value, _moment in seen]
    delays = ", ".join(f"{float(moment) - saved_at:.1f}" for _value, moment in seen)
    print(f"{connection.vendor}: a change was seen by three processes after {delays} s")
    assert before[0] == before[1] != "5"
    assert (before[2], after) == ("9", ["5", "5", "9"])
    # Each reads the table again after this time: a change is there within five seconds.
    assert stored.SECONDS * 2 < WITHIN_SECONDS
