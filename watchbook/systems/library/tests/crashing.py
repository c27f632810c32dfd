"""A worker that is killed at a named place: python -m watchbook.systems.library.tests.crashing PLAN=RUN_ID …

For each plan (place:visit) a forked child claims the run, executes it and dies at that visit; without a run it fills
what old pages lack. Prints how each ended.
"""

from __future__ import annotations

import json
import os
import sys

import django

SMALL = 4


def main() -> None:
    django.setup()
    ends = {}
    for wish in sys.argv[1:]:
        plan, _, run_id = wish.partition("=")
        child = os.fork()
        if child == 0:
            _live_and_die(plan, int(run_id)) if run_id else _fill_and_die(plan)
            os._exit(0)
        ends[plan] = os.waitpid(child, 0)[1]
    sys.stdout.write(json.dumps(ends))


def _live_and_die(plan: str, run_id: int) -> None:
    from watchbook.base import work
    from watchbook.core.jobs import queue, runner
    from watchbook.systems.library.store import migrations, trash

    migrations.BATCH = trash.PIECE = SMALL
    work._plan = plan
    run = queue.claim_by_id(run_id, f"doomed-{run_id}")
    assert run is not None
    runner.execute(run)


def _fill_and_die(plan: str) -> None:
    from watchbook.base import work
    from watchbook.systems.library.store.reconcile import backfill

    work._plan = plan
    backfill()


if __name__ == "__main__":
    main()
