"""Job claims per second: four worker processes on SQLite and on PostgreSQL, every run claimed once.

Bars: 500/s on SQLite, 1,000/s on PostgreSQL.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORKERS = 4
RUNS = 4000
BARS = {"sqlite": 500, "postgres": 1000}


def main() -> int:
    from watchbook.base.testing import servers

    missed = False
    for kind, bar in BARS.items():
        with tempfile.TemporaryDirectory() as home:
            url = servers.database_url(kind, Path(home))
            figures = measure(home, url)
        speed = RUNS / figures["seconds"]
        print(
            f"{kind}: {speed:,.0f} claims/s by {WORKERS} workers (bar {bar:,}): {'met' if speed >= bar else 'MISSED'};"
            f" claimed {figures['claimed']} of {RUNS}, twice {figures['twice']}"
        )
        missed |= speed < bar or figures["claimed"] != RUNS or figures["twice"] > 0
    return 1 if missed else 0


def measure(home: str, url: str) -> dict[str, float]:
    """Claims of all workers together, between their first and their last."""
    env = {
        **os.environ,
        "WATCHBOOK_HOME": home,
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "watchbook.project.settings",
    }
    command = [sys.executable, "-m", "bench.jobs"]
    subprocess.run([*command, "fill"], env=env, check=True)
    try:
        workers = [
            subprocess.Popen([*command, "claim", str(n)], env=env, stdout=subprocess.PIPE) for n in range(WORKERS)
        ]
        answers = [json.loads(worker.communicate(timeout=300)[0]) for worker in workers]
    finally:
        subprocess.run([*command, "drop"], env=env, check=True)
    taken = [run for answer in answers for run in answer["taken"]]
    seconds = max(answer["ended"] for answer in answers) - min(answer["began"] for answer in answers)
    return {"seconds": seconds, "claimed": len(set(taken)), "twice": len(taken) - len(set(taken))}


def part(name: str, number: str = "0") -> None:
    """One of the child processes."""
    import django

    from watchbook.base.testing import servers

    # A database of its own, beside whatever is there.
    if os.environ["DATABASE_URL"].startswith("postgres"):
        os.environ["DATABASE_URL"] = servers.beside(os.environ["DATABASE_URL"], "watchbook_bench")
        if name != "claim":
            _postgres(create=name == "fill")
    if name == "drop":
        return
    django.setup()
    from django.core.management import call_command

    from watchbook.core.jobs import queue

    if name == "fill":
        call_command("migrate", verbosity=0)
        queue.enqueue_many([queue.new_run("jobs.clean", key=f"bench:{n}") for n in range(RUNS)])
        return
    from watchbook.core.registry import QUEUES

    began, taken, idle = time.time(), [], 0
    while idle < 3:
        run = queue.claim_next(QUEUES, f"bench-{number}")
        idle = 0 if run else idle + 1
        taken += [run.pk] if run else []
    print(json.dumps({"began": began, "ended": time.time(), "taken": taken}))


def _postgres(*, create: bool) -> None:
    import psycopg

    from watchbook.base.testing import servers

    base = servers.beside(os.environ["DATABASE_URL"], "postgres")
    with psycopg.connect(base, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS watchbook_bench WITH (FORCE)")
        if create:
            connection.execute("CREATE DATABASE watchbook_bench")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        part(*sys.argv[1:])
    else:
        sys.exit(main())
