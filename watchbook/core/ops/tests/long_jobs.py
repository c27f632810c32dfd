"""Jobs that take their time, and a web process or a worker that has only them. Run as a script by tests of ending."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any


def patient(ctx: Any) -> None:
    """Shows progress all the time, so it notices that the process ends."""
    for number in range(2000):
        ctx.report(number=number)
        ctx.beat()
        time.sleep(0.02)


def deaf(ctx: Any) -> None:
    """Hangs without a sign of progress."""
    time.sleep(600)


def slow_page(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    Path(os.environ["WATCHBOOK_HOME"], "asked").touch()
    time.sleep(1.5)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"whole answer"]


def main(names: list[str]) -> int:
    import django

    django.setup()
    from watchbook.core import registry
    from watchbook.core.jobs import queue
    from watchbook.core.jobs.models import JobRun
    from watchbook.core.ops import upgrade
    from watchbook.core.ops.server import WebProcess, bind

    jobs = {name: registry.Job(name, f"{__package__ or 'watchbook.core.ops.tests'}.long_jobs:{name}") for name in names}
    registry.jobs = lambda: jobs  # type: ignore[assignment]
    upgrade.migrate_if_needed()
    for name in names:
        if not JobRun.objects.live().filter(name=name).exists():
            queue.enqueue(name, exclusive=f"job:{name}")
    if os.environ.get("CELERY_BROKER_URL"):
        from watchbook.core.jobs.celery import work_until_stopped

        return work_until_stopped(["crawler_queue"], 2, grace_seconds=3)
    process = WebProcess(bind(), application=slow_page)
    return process.run(ready=lambda: print(f"ready at {process.address}", flush=True))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
