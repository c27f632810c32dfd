"""The forum archive: storing floors against raw inserts, and pages that do not grow dearer with the archive.

    python -m bench.nga                                   # both databases, 10,000 and 100,000 topics
    python -m bench.nga --database postgres --sizes 10000,100000,1000000 --part pages

Bars: storing at least 40 % of raw executemany by processor time (`_nga_store` says what is compared), an unchanged page
at most 3 queries; any page of a list or topic at most 1.5 times the first and 12 queries, and at the largest size at
most twice its cost at the smallest, by processor time. Each database is made for the run and removed afterwards.
Compare only within one run.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DATABASES = ("sqlite", "postgres")


def main() -> int:
    options = read_options()
    if len(options.database) > 1:
        # One process each: a process has one database.
        return max(subprocess.call(_again(options, name), cwd=ROOT) for name in options.database)
    with tempfile.TemporaryDirectory(prefix="watchbook-bench-") as home:
        _set_up_django(options, home)
        from django.test.utils import setup_databases, setup_test_environment, teardown_databases

        setup_test_environment()
        databases = setup_databases(verbosity=0, interactive=False, serialized_aliases=[])
        try:
            report = measure(options)
        finally:
            teardown_databases(databases, verbosity=0)
    if options.json:
        print(json.dumps(report, indent=2))
    return 1 if report["missed"] else 0


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", type=lambda text: text.split(","), default=list(DATABASES))
    parser.add_argument("--sizes", default="10000,100000", help="topics, comma-separated, growing; 3 floors each")
    parser.add_argument("--part", choices=["store", "pages", "all"], default="all")
    parser.add_argument("--rounds", type=int, default=15, help="how often each page is asked")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _again(options: argparse.Namespace, database: str) -> list[str]:
    told = ["--database", database, "--sizes", options.sizes, "--part", options.part, "--rounds", str(options.rounds)]
    return [sys.executable, "-m", "bench.nga", *told, *(["--json"] if options.json else [])]


def _set_up_django(options: argparse.Namespace, home: str) -> None:
    os.environ.update(WATCHBOOK_HOME=home, WATCHBOOK_ENV_FILE=f"{home}/none.env", WATCHBOOK_LOG_LEVEL="ERROR")
    from watchbook.base.testing import servers

    os.environ["DATABASE_URL"] = servers.database_url(options.database[0], Path(home))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "watchbook.project.settings")
    import django

    django.setup()
    gc.freeze()  # as the program does


def measure(options: argparse.Namespace) -> dict[str, Any]:
    from bench import _nga_pages, _nga_store

    name = options.database[0]
    report: dict[str, Any] = {"database": name, "missed": []}
    if options.part in ("store", "all"):
        report["store"] = _nga_store.measure()
        print(_nga_store.words_of(name, report["store"]), flush=True)
        report["missed"] += report["store"]["missed"]
    if options.part in ("pages", "all"):
        sizes = sorted(int(size) for size in options.sizes.split(","))
        report["pages"] = _nga_pages.measure(sizes, options.rounds, lambda line: print(f"{name}: {line}", flush=True))
        report["missed"] += report["pages"]["missed"]
    for missed in report["missed"]:
        print(f"{name}: MISSED: {missed}", flush=True)
    return report


if __name__ == "__main__":
    sys.exit(main())
