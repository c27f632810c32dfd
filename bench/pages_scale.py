"""Pages of a large website: what list, section, timeline and search pages cost at one size and at ten times that.

    python -m bench.pages_scale                                                  # both databases, 10,000 and 100,000
    python -m bench.pages_scale --database sqlite --sizes 100000,1000000

A tenth of the URLs is read and has five versions. Bars: at most 25 queries, and at the largest size at most twice the
cost at the smallest, by processor time. Each database is made for the run and removed afterwards.
"""

from __future__ import annotations

import argparse
import time

from bench._databases import options_of, run

GROWTH_BAR, MOST_QUERIES = 2.0, 25


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


if __name__ == "__main__":
    raise SystemExit(run("bench.pages_scale", options_of(__doc__, unit="URLs").parse_args(), measure))
