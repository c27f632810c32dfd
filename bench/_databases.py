"""Measurements that are made once on each database: a process for each, with a database of its own that is removed."""

from __future__ import annotations

import argparse
import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATABASES = ("sqlite", "postgres")


def options_of(description: str | None, *, unit: str, rounds: int = 5) -> argparse.ArgumentParser:
    """Databases, sizes and rounds, as every such measurement takes them."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", type=lambda text: text.split(","), default=list(DATABASES))
    parser.add_argument("--sizes", default="10000,100000", help=f"{unit}, comma-separated, growing")
    parser.add_argument("--rounds", type=int, default=rounds, help="how often each page is asked")
    return parser


def run(
    module: str, options: argparse.Namespace, measure: Callable[[argparse.Namespace], list[str]], *also: str
) -> int:
    """Measure on each database and print every missed bar; `also` are further arguments of the module."""
    if len(options.database) > 1:  # a process has one database
        command = [sys.executable, "-m", module, "--sizes", options.sizes, "--rounds", str(options.rounds), *also]
        return max([subprocess.call([*command, "--database", name], cwd=ROOT) for name in options.database])
    with tempfile.TemporaryDirectory(prefix="watchbook-bench-") as home:
        _set_up_django(options.database[0], home)
        from django.test.utils import setup_databases, setup_test_environment, teardown_databases

        setup_test_environment()
        databases = setup_databases(verbosity=0, interactive=False, serialized_aliases=[])
        try:
            missed = measure(options)
        finally:
            teardown_databases(databases, verbosity=0)
    for each in missed:
        print(f"{options.database[0]}: MISSED: {each}", flush=True)
    return 1 if missed else 0


def _set_up_django(database: str, home: str) -> None:
    os.environ.update(WATCHBOOK_HOME=home, WATCHBOOK_ENV_FILE=f"{home}/none.env", WATCHBOOK_LOG_LEVEL="ERROR")
    from watchbook.base.testing import servers

    os.environ["DATABASE_URL"] = servers.database_url(database, Path(home))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "watchbook.project.settings")
    import django

    django.setup()
    gc.freeze()  # as the program does
