"""Watchbook itself as the thing that is measured: a desk on SQLite with one monitor, checked as a job.

Unlike the reader alone this has everything in it: the guarded fetcher, the child process that reads, the database.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench._sitemap_methods import get, peak_megabytes

# So many that the unfilled pages of a file hardly count.
UNCHANGED_CHECKS = 300


@contextmanager
def desk(url: str) -> Iterator[Callable[[], dict[str, Any]]]:
    """A fresh installation that watches this address; gives a function that runs one check an hour later."""
    with tempfile.TemporaryDirectory(prefix="watchbook-bench-home-") as home:
        os.environ |= {
            "WATCHBOOK_HOME": home,
            "DATABASE_URL": f"sqlite:///{home}/desk.sqlite3",
            "DJANGO_SETTINGS_MODULE": "watchbook.project.settings",
            "WATCHBOOK_TRUSTED_HOSTS": urlsplit(url).netloc,
            "WATCHBOOK_PACE": "off",
        }
        # In a process of its own, as at home: it needs more memory than a check.
        subprocess.run([sys.executable, "-m", "watchbook", "migrate", "--verbosity", "0"], check=True)
        import logging

        import django

        django.setup()
        logging.disable(logging.INFO)
        yield _checker(url)


def _checker(url: str) -> Callable[[], dict[str, Any]]:
    import lxml.etree  # noqa: F401 - imports are not measured
    import zstandard  # noqa: F401

    import watchbook.project.urls  # noqa: F401
    from watchbook.base import clock
    from watchbook.core.accounts.models import User
    from watchbook.core.jobs import runner
    from watchbook.systems.sitemaps.models import MonitorTask, url_digest

    monitor = MonitorTask.objects.create(
        user=User.objects.create_user("bench@example.com", None),
        name="Bench",
        sitemap_url=url,
        host=urlsplit(url).netloc,
        live_url_digest=url_digest(url),
    )
    hours = 0

    def check() -> dict[str, Any]:
        nonlocal hours
        hours += 1
        with clock.set_to(clock.now() + timedelta(hours=hours)):
            run = runner.run_now("sitemaps.check", {"monitor_id": str(monitor.pk)})
        assert run.progress.get("result") in ("changed", "unchanged"), (run.outcome, run.error, run.progress)
        progress: dict[str, Any] = run.progress
        return progress

    return check


def measured_whole(work: Callable[[], int], idle: float) -> dict[str, float]:
    """CPU and memory of this process and of the child that reads for it: it is paid for, too. `idle` is what the
    process needed before its first check."""
    from watchbook.base import sandbox

    children = sandbox._shared
    children.close()
    before, wall = _cpu(), time.perf_counter()
    count = work()
    wall = time.perf_counter() - wall
    peak = peak_megabytes() + sum(peak_megabytes(child.pid) for child in children._all)
    children.close()  # the CPU time of a child is known when it has ended
    return {"count": count, "cpu": _cpu() - before, "wall": wall, "peak": peak, "idle": idle}


def resident() -> float:
    return peak_megabytes(row="VmRSS:")


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def check_as_job(url: str) -> dict[str, float]:
    """A baseline of generation A, then B at the same address: what a monitor does on its first and second check."""
    root = "{0.scheme}://{0.netloc}".format(urlsplit(url))
    get(f"{root}/now/a")
    with desk(url.replace("/a/", "/now/")) as check:

        def work() -> int:
            check()
            get(f"{root}/now/b")
            found = check()
            return int(found["added"] + found["removed"] + found["modified"])

        return measured_whole(work, resident())


def check_unchanged(url: str) -> dict[str, float]:
    """Everything is fetched and nothing is different; the server knows no validators, as many do not."""
    with desk(url) as check:
        idle = resident()
        check()
        check()  # the first one after the baseline finds caches cold
        runs = [measured_whole(lambda: int(check()["urls"]), idle) for _ in range(3)]
    return min(runs, key=lambda run: run["cpu"])


def stored_bytes(url: str) -> dict[str, float]:
    """What one unchanged check leaves behind: `stored` in tables, indexes and files; `queued` for its run, which the
    queue deletes after two weeks."""
    with desk(url) as check:
        from watchbook.core.jobs.models import JobRun  # after Django is set up

        for _ in range(2):
            urls = check()["urls"]
        JobRun.objects.all().delete()
        before = _size()
        for _ in range(UNCHANGED_CHECKS):
            check()
        both = _size() - before
        JobRun.objects.all().delete()
        own = _size() - before
    return {"count": urls, "stored": own / UNCHANGED_CHECKS, "queued": (both - own) / UNCHANGED_CHECKS}


def _size() -> int:
    from django.conf import settings
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM")  # else the free pages of the file count, too
        cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        rows = int(cursor.fetchone()[0])
    blobs = Path(settings.HOME, "blobs")
    return rows + sum(file.stat().st_size for file in blobs.rglob("*") if file.is_file())
