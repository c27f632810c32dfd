"""A process of its own that takes turns at a host and writes down when.

    python rate_limit_worker.py '{"database": {...}, "site": "...", "turns": 5, "spacing": 0.2, "lease": 60, …}'

With "turns": 0 it takes one turn and holds it until it is killed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import django
from django.conf import settings


def configure(database: dict[str, Any]) -> None:
    if "mysql" in database["ENGINE"]:
        import pymysql

        pymysql.install_as_MySQLdb()
        pymysql.version_info = (2, 2, 4, "final", 0)
    settings.configure(INSTALLED_APPS=["watchbook.base.web"], DATABASES={"default": database}, USE_TZ=True)
    django.setup()


def write(path: str, word: str) -> None:
    with open(path, "a") as log:
        log.write(f"{word} {os.getpid()} {time.monotonic()}\n")


def main(plan: dict[str, Any]) -> None:
    configure(plan["database"])
    if plan.get("migrate"):
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        return
    from watchbook.base.web.rate_limit import RateRequest, acquire

    request_ = RateRequest(plan["site"], spacing_seconds=plan["spacing"], wait_seconds=30, lease_seconds=plan["lease"])
    for _ in range(plan["turns"] or 1):
        with acquire(request_):
            write(plan["log"], "start")
            time.sleep(30 if not plan["turns"] else 0.02)
            write(plan["log"], "end")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
