"""The library's tree beside django-treebeard and django-tree-queries: the same 100,000 pages in one run.

    python -m bench.library --pages 100000
    python -m bench.library --database postgres

Nine tops, fan-out ten, and one folder with 4,000 children more. Measured: one piece of children, the way to a page, the
move of a subtree of 11,000 pages and of one of 100, and a search. Every peer is asked for the same through its own
interface. Medians of processor time, that of the database included; compare only within one run. Then the same through
our own pages, with their queries. The database is made for the run and removed afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from bench import _library_pages
from bench._library_peers import Rows, settle, swing, tree_queries, treebeard

ROOT = Path(__file__).resolve().parent.parent
FAN, CROWD = 10, 4000
BAR_CHILDREN, BAR_WAY, BAR_MOVE = 2.0, 10.0, 3.0
QUICK_SECONDS, QUICK_CALLS = 0.005, 100


def main() -> int:
    options = read_options()
    with tempfile.TemporaryDirectory(prefix="watchbook-bench-") as home:
        set_up_django(options, home)
        from django.test.utils import setup_databases, setup_test_environment, teardown_databases

        setup_test_environment()
        databases = setup_databases(verbosity=0, interactive=False, serialized_aliases=[])
        try:
            report = measure(options)
        finally:
            teardown_databases(databases, verbosity=0)
    print(json.dumps(report, indent=2) if options.json else words_of(report))
    return 0 if is_met(report) else 1


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--database", choices=["sqlite", "postgres", "mariadb"], default="sqlite")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def set_up_django(options: argparse.Namespace, home: str) -> None:
    os.environ.update(WATCHBOOK_HOME=home, WATCHBOOK_ENV_FILE=f"{home}/none.env", WATCHBOOK_LOG_LEVEL="ERROR")
    sys.path.insert(0, str(ROOT))
    from watchbook.base.testing import servers

    os.environ["DATABASE_URL"] = servers.database_url(options.database, Path(home))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "watchbook.project.settings")
    import django

    django.setup()


def shape(count: int) -> Rows:
    """(place of the parent, depth) for every page, parents first; the crowd stands below the very first one."""
    rows: Rows = [(None, 0)] * 9
    at = 0
    while len(rows) < count - CROWD:
        depth = rows[at][1] + 1
        rows += [(at, depth)] * min(FAN, count - CROWD - len(rows))
        at += 1
    return rows + [(0, 1)] * min(CROWD, count - len(rows))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    rows = shape(options.pages)
    # A deep page, a top with a ninth of the tree below it, and a small subtree.
    deep = max(range(len(rows)), key=lambda n: rows[n][1])
    below = sizes(rows)
    # Neither of them above the deep page: it stays where it is while they travel.
    above = set(way_up(rows, deep))
    big = max((n for n in range(1, 9) if n not in above), key=lambda n: below[n])
    small = next(n for n in range(9, len(rows)) if 50 <= below[n] <= 200 and not {*way_up(rows, n)} & {big, *above})
    places = {"crowd": 0, "deep": deep, "big": big, "small": small}
    report: dict[str, Any] = {
        "database": options.database,
        "pages": len(rows),
        "subtree": below[big],
        "small": below[small],
    }
    user, ids, mine = ours(rows)
    peers = {"watchbook": mine(places)}
    peers |= {name: acts(places) for name, acts in filter(None, (treebeard(rows), tree_queries(rows)))}
    report["peers"] = side_by_side(peers, options.rounds)
    report["pages_over_http"] = _library_pages.measure(
        user, {name: ids[n] for name, n in places.items()}, options.rounds
    )
    return report


def sizes(rows: Rows) -> list[int]:
    below = [1] * len(rows)
    for n in range(len(rows) - 1, -1, -1):
        parent = rows[n][0]
        if parent is not None:
            below[parent] += below[n]
    return below


def way_up(rows: Rows, n: int) -> Iterator[int]:
    here: int | None = n
    while here is not None:
        yield here
        here = rows[here][0]


def side_by_side(peers: dict[str, dict[str, Callable[[], Any]]], rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds of everything each of them can do. They take turns, so that what else the machine does hits all."""
    from bench._nga_store import Clock

    clock = Clock()
    found: dict[str, dict[str, float]] = {name: {} for name in peers}
    for act in peers["watchbook"]:
        calls = {name: acts[act] for name, acts in peers.items() if act in acts}
        taken: dict[str, list[float]] = {name: [] for name in calls}
        for turn in range(rounds):
            for name, call in calls.items():
                # The slowest of them by far would take the rest of the day.
                if name != "tree-queries" or turn < max(3, rounds // 5):
                    taken[name].append(seconds(call, clock))
        for name, some in taken.items():
            found[name][act] = round(statistics.median(some) * 1000, 4)
    return found


def seconds(call: Callable[[], Any], clock: Any) -> float:
    """Processor time of one call; of a quick one, the mean of many."""
    begun = clock.spent()
    call()
    once = clock.spent() - begun
    if once > QUICK_SECONDS:
        return float(once)
    begun = clock.spent()
    for _ in range(QUICK_CALLS):
        call()
    return float(clock.spent() - begun) / QUICK_CALLS


def ours(rows: Rows) -> tuple[Any, list[UUID], Callable[[dict[str, int]], dict[str, Callable[[], Any]]]]:
    """Who may do everything, the pages by their places, and what is measured."""
    from django.contrib.auth import get_user_model
    from django.db import connection

    from watchbook.core.accounts.access import viewer_scopes
    from watchbook.core.search.find import find
    from watchbook.systems.library import actions
    from watchbook.systems.library.models import Page, PageNodeMeta
    from watchbook.systems.library.models.tree import ancestors, many_after
    from watchbook.systems.library.store import publish

    user = get_user_model().objects.create_user("bench@example.com", None, is_verified=True)
    workspace = actions.create_workspace(user, "Bench")
    space = actions.create_space(user, workspace.pk, "Bench")
    keys = many_after(None, len(rows))
    ids = [uuid4() for _ in rows]
    pages = [
        Page(id=ids[n], space=space, parent_page_id=ids[parent] if parent is not None else None, sort_key=keys[n],
             title=f"Page {n} 潮汐{n}", content=f"<p>words of page {n}, 高潮时间 {n % 97}</p>")
        for n, (parent, _depth) in enumerate(rows)
    ]  # fmt: skip
    Page.objects.bulk_create(pages, batch_size=1000)
    PageNodeMeta.objects.bulk_create(
        [PageNodeMeta(page=page, workspace=workspace, space=space, node_type="folder") for page in pages],
        batch_size=1000,
    )
    for start in range(0, len(pages), 5000):
        publish.put(pages[start : start + 5000])
    settle(connection)

    def acts(places: dict[str, int]) -> dict[str, Callable[[], Any]]:
        there = {name: ids[n] for name, n in places.items()}
        scopes = viewer_scopes(user)
        return {
            "children": lambda: list(actions.list_children(user, page_id=there["crowd"], limit=100).items),
            "way to a page": lambda: ancestors(there["deep"]),
            "move big": swing(lambda target: move(there["big"], target), [ids[0], None]),
            "move small": swing(lambda target: move(there["small"], target), [ids[0], None]),
            "search": lambda: find("高潮时间 42", scopes=scopes, limit=30).items,
        }

    def move(page_id: UUID, target: UUID | None) -> None:
        actions.move_page(user, page_id, parent_page_id=target)

    return user, ids, acts


def ratio(report: dict[str, Any], peer: str, act: str) -> float:
    mine = report["peers"]["watchbook"][act]
    return float(report["peers"][peer][act] / mine) if peer in report["peers"] and mine else 0.0


def is_met(report: dict[str, Any]) -> bool:
    mine = report["peers"]["watchbook"]
    is_flat = mine["move big"] <= BAR_MOVE * mine["move small"]
    if "treebeard" not in report["peers"]:
        return is_flat
    is_quick = ratio(report, "treebeard", "children") >= 1 / BAR_CHILDREN
    is_short = report["database"] != "sqlite" or ratio(report, "treebeard", "way to a page") >= BAR_WAY
    return is_flat and is_quick and is_short


def words_of(report: dict[str, Any]) -> str:
    lines = [
        f"{report['pages']:,} pages on {report['database']}; moved: {report['subtree']:,} and {report['small']} pages"
    ]
    for act in report["peers"]["watchbook"]:
        cells = [f"{act:14}"]
        for peer, found in report["peers"].items():
            if act in found:
                times = f" = {ratio(report, peer, act):7.1f}x" if peer != "watchbook" else ""
                cells.append(f"{peer} {found[act]:9.3f} ms{times}")
        lines.append("   ".join(cells))
    mine = report["peers"]["watchbook"]
    flat = mine["move big"] / mine["move small"]
    lines.append(f"a big subtree moves in {flat:.2f} times the time of a small one (bar {BAR_MOVE})")
    lines += _library_pages.words_of(report["pages_over_http"])
    lines.append(f"bars: {'met' if is_met(report) else 'MISSED'}")
    return "\n".join(lines)


if __name__ == "__main__":
    raise SystemExit(main())
