"""A worker that is killed at a named place: python -m watchbook.systems.reddit.tests.crashing PLAN=RUN_ID

A forked child claims the run, executes it at the time in CRASH_NOW and dies at that visit. Prints how it ended.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime

import django


def main() -> None:
    django.setup()
    plan, _, run_id = sys.argv[1].partition("=")
    child = os.fork()
    if child == 0:
        _live_and_die(plan, int(run_id))
        os._exit(0)
    sys.stdout.write(json.dumps(os.waitpid(child, 0)[1]))


def _live_and_die(plan: str, run_id: int) -> None:
    from watchbook.base import clock, work
    from watchbook.core.jobs import queue, runner

    work._plan = plan
    with clock.set_to(datetime.fromisoformat(os.environ["CRASH_NOW"])):
        run = queue.claim_by_id(run_id, f"doomed-{run_id}")
        assert run is not None
        runner.execute(run)


if __name__ == "__main__":
    main()
