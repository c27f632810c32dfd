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
import json
import sys
from typing import Any

from bench._databases import options_of, run


def read_options() -> argparse.Namespace:
    parser = options_of(__doc__, unit="topics of 3 floors", rounds=15)
    parser.add_argument("--part", choices=["store", "pages", "all"], default="all")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> int:
    options = read_options()
    also = ["--part", options.part, *(["--json"] if options.json else [])]
    return run("bench.nga", options, measure, *also)


def measure(options: argparse.Namespace) -> list[str]:
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
    if options.json:
        print(json.dumps(report, indent=2))
    return list(report["missed"])


if __name__ == "__main__":
    sys.exit(main())
