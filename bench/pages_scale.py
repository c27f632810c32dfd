"""Pages of a large website: what list, section, timeline and search pages cost at one size and at ten times that.

    python -m bench.pages_scale                                                  # both databases, 10,000 and 100,000
    python -m bench.pages_scale --database sqlite --sizes 100000,1000000

A tenth of the URLs is read and has five versions. Bars: at most 25 queries, and at the largest size at most twice the
cost at the smallest, by processor time. Each database is made for the run and removed afterwards.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time

from bench.nga import DATABASES, ROOT, _set_up_django

GROWTH_BAR, MOST_QUERIES = 2.0, 25


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", type=lambda text: text.split(","), default=list(DATABASES))
    parser.add_argument("--sizes", default="10000,100000", help="URLs, comma-separated, growing")
    parser.add_argument("--rounds", type=int, default=5, help="how often each page is asked")
    return parser.parse_args()


def measure(options: argparse.Namespace) -> list[str]:
    from django.test import Client

    from bench._nga_pages import _costs
    from bench._pages_archive import Archive

    archive, client, figures = Archive(), Client(), []
    client.force_login(archive.user)
    for size in sorted(int(size) for size in options.sizes.split(",")):
        began = time.monotonic()
        archive.grow(size)
        print(f"{options.database[0]}: {size:,} URLs after {time.monotonic() - began:.0f} s", flush=True)
        figures.append(_costs(client, archive.addresses(), options.rounds))
        for name, cost in figures[-1].items():
            print(f"  {name:20} {cost['ms']:8.1f} ms  {cost['queries']:2} queries", flush=True)
    whole, part = archive.bytes_per_version()
    print(f"  text of a version: {whole:,.0f} bytes whole, {part:,.0f} as difference")
    return _judge(figures[0], figures[-1])


def _judge(first: dict[str, dict[str, float]], last: dict[str, dict[str, float]]) -> list[str]:
    missed = [
        f"{name} needs {cost['queries']} queries" for name, cost in last.items() if cost["queries"] > MOST_QUERIES
    ]
    growth = {name: cost["ms"] / first[name]["ms"] for name, cost in last.items()}
    return missed + [f"{name} costs {times:.1f} times as much" for name, times in growth.items() if times > GROWTH_BAR]


def main() -> int:
    options = read_options()
    if len(options.database) > 1:  # one process each: a process has one database
        told = ["--sizes", options.sizes, "--rounds", str(options.rounds)]
        command = [sys.executable, "-m", "bench.pages_scale", *told, "--database"]
        return max([subprocess.call([*command, name], cwd=ROOT) for name in options.database])
    with tempfile.TemporaryDirectory(prefix="watchbook-bench-") as home:
        _set_up_django(options, home)
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


if __name__ == "__main__":
    raise SystemExit(main())
