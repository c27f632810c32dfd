"""A whole fleet due together: 2,000 monitors on 200 hosts, four `watchbook worker` processes, PostgreSQL and Redis.

    python -m bench.fleet [--monitors N] [--hosts N] [--workers N] [--database postgres|sqlite|mariadb]

Every monitor is checked once, no host is asked by two at a time (by the clock of the hosts), and the delay from due to
started is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parent.parent
LONGEST_SECONDS = 600.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--monitors", type=int, default=2000)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--database", default="postgres", choices=["postgres", "sqlite", "mariadb"])
    parser.add_argument("--site", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.site:
        from bench._fleet_site import serve

        serve(options.hosts)
        return 0
    with tempfile.TemporaryDirectory(prefix="watchbook-fleet-") as home, installation(home, options.database):
        return measure(options, Path(home))


@contextmanager
def installation(home: str, kind: str) -> Iterator[None]:
    """A database, a broker and a data folder of its own, in the environment of this process and its children."""
    os.environ["WATCHBOOK_TEST_RUN"] = f"fleet{os.getpid()}"
    import redis

    from watchbook.base.testing import servers

    broker = _unused(servers.redis_url())
    database = servers.database_url(kind, Path(home))
    os.environ |= {
        "WATCHBOOK_HOME": home, "DATABASE_URL": database, "CELERY_BROKER_URL": broker, "WATCHBOOK_PACE": "off",
        "WATCHBOOK_LOG_LEVEL": "WARNING", "DJANGO_SETTINGS_MODULE": "watchbook.project.settings",
    }  # fmt: skip
    _database(database, create=True)
    try:
        yield
    finally:
        redis.Redis.from_url(broker).flushdb()
        _database(database, create=False)


def _unused(server: str) -> str:
    """A Redis database with nothing in it: other users of the server keep their data."""
    import redis

    from watchbook.base.testing import servers

    for number in range(15, 0, -1):
        url = servers.beside(server, str(number))
        if redis.Redis.from_url(url).dbsize() == 0:
            return url
    raise SystemExit("every Redis database is in use")


def _database(url: str, *, create: bool) -> None:
    """Make or drop the database that the address names."""
    place = urlsplit(url)
    name = place.path.strip("/")
    if place.scheme.startswith("postgres"):
        import psycopg

        with psycopg.connect(place._replace(path="/postgres").geturl(), autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            if create:
                connection.execute(f'CREATE DATABASE "{name}"')
    elif place.scheme == "mysql":
        import MySQLdb

        door = {"host": place.hostname or "", "port": place.port or 3306, "user": place.username or "root"}
        connection = MySQLdb.connect(**door, passwd=place.password or "")
        connection.query(f"DROP DATABASE IF EXISTS `{name}`")
        if create:
            connection.query(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
        connection.close()


@contextmanager
def process(home: Path, *words: str, **how: Any) -> Iterator[subprocess.Popen[str]]:
    """A child that is ended when we are done with it."""
    with (home / f"{'-'.join(words[1:3])}-{time.monotonic_ns()}.log").open("w") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", *words], text=True, cwd=ROOT, **{"stdout": log, "stderr": log} | how
        )
        try:
            yield child
        finally:
            child.terminate()
            try:
                child.wait(40)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def measure(options: argparse.Namespace, home: Path) -> int:
    with ExitStack() as stack:
        words = ("bench.fleet", "--site", "--hosts", str(options.hosts))
        site = stack.enter_context(process(home, *words, stdout=subprocess.PIPE))
        assert site.stdout is not None
        hosts = json.loads(site.stdout.readline())
        os.environ["WATCHBOOK_TRUSTED_HOSTS"] = ",".join(hosts)
        fill(hosts, options.monitors)
        for _ in range(options.workers):
            stack.enter_context(process(home, "watchbook", "worker"))
        stack.enter_context(process(home, "watchbook", "beat"))
        wait_for_workers(options.workers, home)
        due, seconds = run_all(options.monitors)
        with urlopen(f"http://{hosts[0]}/ledger", timeout=10) as answer:
            ledger = json.load(answer)
    return report(options, ledger, due, seconds)


def fill(hosts: list[str], count: int) -> None:
    import django

    django.setup()
    from django.core.management import call_command

    from watchbook.base import clock
    from watchbook.core.accounts.models import User
    from watchbook.systems.sitemaps.models import MonitorTask, url_digest

    call_command("migrate", verbosity=0)
    owner = User.objects.create_user("fleet@example.com", None)
    # Later than the bench takes, and near enough that it is not corrected as a clock that jumped.
    later = clock.now() + timedelta(hours=20)
    urls = [f"http://{hosts[n % len(hosts)]}/{n}/sitemap.xml" for n in range(count)]
    MonitorTask.objects.bulk_create(
        MonitorTask(
            user=owner, name=f"Site {n}", sitemap_url=url, host=urlsplit(url).netloc, live_url_digest=url_digest(url),
            next_check_at=later,
        )
        for n, url in enumerate(urls)
    )  # fmt: skip


def wait_for_workers(count: int, home: Path) -> None:
    """They are there when each of them has taken a job: the tick gives them one every second or so."""
    from watchbook.core.jobs import actions
    from watchbook.core.jobs.models import JobRun

    ends = time.monotonic() + 120
    while time.monotonic() < ends:
        run = actions.run_soon("jobs.clean")
        time.sleep(0.3)
        owners = JobRun.objects.filter(state="done").values_list("owner", flat=True)
        if run is not None and len({owner.split(":")[1] for owner in owners if ":" in owner}) >= count:
            return
    logs = "\n".join(path.read_text()[-600:] for path in home.glob("*.log"))
    raise SystemExit(f"the workers did not come up:\n{logs}")


def run_all(count: int) -> tuple[datetime, float]:
    """Everything becomes due this moment; gives it, and the seconds until the last check has ended."""
    from watchbook.base import clock
    from watchbook.core.jobs import actions
    from watchbook.systems.sitemaps.models import MonitorTask, SitemapCheck

    began, due = time.monotonic(), clock.now()
    MonitorTask.objects.update(next_check_at=due)
    actions.run_soon("sitemaps.due")
    while SitemapCheck.objects.count() < count and time.monotonic() < began + LONGEST_SECONDS:
        time.sleep(0.5)
    return due, time.monotonic() - began


def report(options: argparse.Namespace, ledger: dict[str, int], due: datetime, seconds: float) -> int:
    from watchbook.core.jobs.models import JobRun
    from watchbook.systems.sitemaps.models import MonitorTask, SitemapCheck

    runs = JobRun.objects.filter(name="sitemaps.check").exclude(started_at=None)
    delays = sorted((started - due).total_seconds() for started in runs.values_list("started_at", flat=True))
    checked = MonitorTask.objects.filter(health="ok", error_count=0).count()
    per_monitor = SitemapCheck.objects.count()
    print(f"{options.monitors} monitors on {options.hosts} hosts, {options.workers} workers, {options.database}:")
    print(f"  checked {checked} in {seconds:.1f} s ({checked / seconds:.0f}/s), {per_monitor} checks")
    print("  ledger of the hosts:", ", ".join(f"{name} {count}" for name, count in ledger.items()))
    middle, late = (delays[int(len(delays) * share)] for share in (0.5, 0.95)) if delays else (0, 0)
    print(f"  start delay: median {middle:.1f} s, p95 {late:.1f} s, longest {delays[-1] if delays else 0:.1f} s")
    whole = {checked, per_monitor, ledger["requests"], ledger["sitemaps"]} == {options.monitors}
    good = whole and ledger["asked by two at once"] == 0 and ledger["hosts"] == options.hosts
    print(f"  {'met   ' if good else 'MISSED'}  every monitor checked once, no host asked by two at once")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
